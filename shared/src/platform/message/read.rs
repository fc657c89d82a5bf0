//! Reading bodies, in two steps: the envelope says which command it is, then the members of that
//! command are read one by one, so that an error can name the member. Members that the command does
//! not ask for are ignored.

use std::ops::RangeInclusive;

use serde_json::value::RawValue;

use super::object::{MemberNames, Object};
use super::{CommandError, MemberError};
use crate::platform::values::{Kind, Payload, Timestamp};

/// How far in the future an instant may lie, in milliseconds: clocks of producers differ.
pub const MAX_FUTURE_MILLIS: i64 = 5 * 60 * 1000;
/// How far in the future what is planned may lie, in milliseconds: a year of 366 days.
pub const MAX_PLANNED_MILLIS: i64 = 366 * 86_400_000;
/// 2015-01-01T00:00:00Z: nothing was published before.
pub const EARLIEST: Timestamp = Timestamp::from_unix_millis(1_420_070_400_000);
/// 2000-01-01T00:00:00Z: no event was before, wherever somebody has set the clock.
pub const EARLIEST_BY_HAND: Timestamp = Timestamp::from_unix_millis(946_684_800_000);
/// The member that says which command it is.
pub const TYPE: &str = "type";

/// The members of a body that any command asks for, unread.
#[derive(Debug)]
pub struct Members<'a> {
    object: Object<'a>,
    now: Timestamp,
}

impl<'a> Members<'a> {
    /// Reads a body at the instant `now`.
    ///
    /// # Errors
    /// [`CommandError::NotAnObject`]
    pub fn read(body: &'a str, names: MemberNames, now: Timestamp) -> Result<Self, CommandError> {
        Ok(Self { object: Object::read(body, names)?, now })
    }

    /// The instant at which the body is read.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// A member as sent, if it is there.
    ///
    /// # Errors
    /// [`CommandError`] if it is given twice.
    pub fn raw(&self, member: &'static str) -> Result<Option<&'a str>, CommandError> {
        Ok(self.object.raw(member)?.map(RawValue::get))
    }

    /// A member as sent.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or given twice.
    pub fn required(&self, member: &'static str) -> Result<&'a str, CommandError> {
        self.object.required(member).map(RawValue::get)
    }

    /// A string.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing, given twice, or no string.
    pub fn string(&self, member: &'static str) -> Result<String, CommandError> {
        serde_json::from_str(self.required(member)?)
            .map_err(|_| CommandError::Malformed { member, problem: MemberError::NotAString })
    }

    /// A string, parsed.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing, no string, or does not parse.
    pub fn parsed<T, E: Into<MemberError>>(
        &self,
        member: &'static str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, CommandError> {
        parse(self.string(member)?)
            .map_err(|e| CommandError::Malformed { member, problem: e.into() })
    }

    /// An instant from 2015 to five minutes after now.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or not such an instant.
    pub fn instant(&self, member: &'static str) -> Result<Timestamp, CommandError> {
        self.instant_until(member, MAX_FUTURE_MILLIS, |found, now| MemberError::TooLate {
            found,
            now,
        })
    }

    /// An instant from 2000 to five minutes after now: whoever knows whether the clock was set by hand
    /// looks at the years before 2015.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or not such an instant.
    pub fn instant_by_hand(&self, member: &'static str) -> Result<Timestamp, CommandError> {
        let too_late = |found, now| MemberError::TooLate { found, now };
        self.instant_between(member, EARLIEST_BY_HAND, MAX_FUTURE_MILLIS, too_late)
    }

    /// An instant that is planned: from 2015 to a year after now.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or not such an instant.
    pub fn planned(&self, member: &'static str) -> Result<Timestamp, CommandError> {
        let too_late = |found, now| MemberError::TooFarAhead { found, now };
        self.instant_until(member, MAX_PLANNED_MILLIS, too_late)
    }

    fn instant_until(
        &self,
        member: &'static str,
        ahead: i64,
        too_late: impl FnOnce(Timestamp, Timestamp) -> MemberError,
    ) -> Result<Timestamp, CommandError> {
        self.instant_between(member, EARLIEST, ahead, too_late)
    }

    fn instant_between(
        &self,
        member: &'static str,
        earliest: Timestamp,
        ahead: i64,
        too_late: impl FnOnce(Timestamp, Timestamp) -> MemberError,
    ) -> Result<Timestamp, CommandError> {
        let now = self.now;
        self.parsed(member, |text| {
            let found = Timestamp::parse(&text)?;
            if found < earliest {
                Err(MemberError::TooEarly { found, earliest })
            } else if found > now.plus_millis(ahead) {
                Err(too_late(found, now))
            } else {
                Ok(found)
            }
        })
    }

    /// A whole number within bounds.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or none; it says what was `expected`.
    pub fn number(
        &self,
        member: &'static str,
        bounds: RangeInclusive<u64>,
        expected: &'static str,
    ) -> Result<u64, CommandError> {
        let number = self.required(member)?.parse().ok().filter(|number| bounds.contains(number));
        let problem = MemberError::Expected(expected);
        number.ok_or(CommandError::Malformed { member, problem })
    }

    /// True or false, where it is given.
    ///
    /// # Errors
    /// [`CommandError`] if it is anything else, `null` included.
    pub fn truth(&self, member: &'static str) -> Result<Option<bool>, CommandError> {
        let Some(json) = self.raw(member)? else { return Ok(None) };
        let problem = MemberError::Expected("true or false");
        json.parse().map(Some).map_err(|_| CommandError::Malformed { member, problem })
    }

    /// `kind`, where it is given; `null` stands for not given.
    ///
    /// # Errors
    /// [`CommandError`] if it is no kind.
    pub fn kind(&self) -> Result<Option<Kind>, CommandError> {
        match self.raw("kind")? {
            None | Some("null") => Ok(None),
            Some(_) => self.parsed("kind", Kind::new).map(Some),
        }
    }

    /// `payload`, where it is given.
    ///
    /// # Errors
    /// [`CommandError`] if it is no payload.
    pub fn payload(&self) -> Result<Option<Payload>, CommandError> {
        self.json("payload")
    }

    /// A member that holds any JSON value, as a payload does, where it is given.
    ///
    /// # Errors
    /// [`CommandError`] if it cannot be a payload.
    pub fn json(&self, member: &'static str) -> Result<Option<Payload>, CommandError> {
        let payload = self.object.raw(member)?.map(Payload::from_raw);
        payload.transpose().map_err(|e| CommandError::Malformed { member, problem: e.into() })
    }
}

//! Reading bodies, in two steps: the envelope says which command it is, then the members of that command
//! are read one by one, so that an error can name the member. Members nobody asked for are ignored.

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde_json::value::RawValue;

use super::{CommandError, MemberError};
use crate::values::{Kind, Payload, Timestamp};

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
    values: HashMap<&'static str, &'a RawValue>,
    now: Timestamp,
}

/// The names of members that are looked for; all others are ignored.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Those of commands, by command. None of them may be given twice.
    pub known: &'static [&'static [&'static str]],
    pub besides: &'static [&'static str],
}

impl<'a> Members<'a> {
    /// Reads a body at the instant `now`.
    ///
    /// # Errors
    /// [`CommandError`]: it is not a JSON object, or names a known member twice.
    pub fn read(body: &'a str, names: Names, now: Timestamp) -> Result<Self, CommandError> {
        let mut values = HashMap::with_capacity(16);
        let mut repeated = None;
        let visitor = ObjectVisitor { names, values: &mut values, repeated: &mut repeated };
        let mut json = serde_json::Deserializer::from_str(body);
        serde::Deserializer::deserialize_map(&mut json, visitor)
            .and_then(|()| json.end())
            .map_err(|e| CommandError::NotAnObject(position(&e)))?;
        match repeated {
            Some(member) => Err(CommandError::Malformed { member, problem: MemberError::Repeated }),
            None => Ok(Self { values, now }),
        }
    }

    /// The instant at which the body is read.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// A member as it stands there, if it does.
    #[must_use]
    pub fn raw(&self, member: &str) -> Option<&'a str> {
        self.values.get(member).map(|value| value.get())
    }

    /// A string.
    ///
    /// # Errors
    /// [`CommandError`] if it is missing or no string.
    pub fn string(&self, member: &'static str) -> Result<String, CommandError> {
        let value = self.values.get(member).ok_or(CommandError::Missing(member))?;
        serde_json::from_str(value.get())
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
        let json = self.raw(member).ok_or(CommandError::Missing(member))?;
        let number = json.parse().ok().filter(|number| bounds.contains(number));
        let problem = MemberError::Expected(expected);
        number.ok_or(CommandError::Malformed { member, problem })
    }

    /// True or false, where it is given.
    ///
    /// # Errors
    /// [`CommandError`] if it is anything else, `null` included.
    pub fn truth(&self, member: &'static str) -> Result<Option<bool>, CommandError> {
        let Some(json) = self.raw(member) else { return Ok(None) };
        let problem = MemberError::Expected("true or false");
        json.parse().map(Some).map_err(|_| CommandError::Malformed { member, problem })
    }

    /// `kind`, where it is given; `null` stands for not given.
    ///
    /// # Errors
    /// [`CommandError`] if it is no kind.
    pub fn kind(&self) -> Result<Option<Kind>, CommandError> {
        match self.values.get("kind") {
            Some(value) if value.get() != "null" => self.parsed("kind", Kind::new).map(Some),
            _ => Ok(None),
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
        let payload = self.values.get(member).map(|value| Payload::from_raw(value));
        payload.transpose().map_err(|e| CommandError::Malformed { member, problem: e.into() })
    }
}

/// Collects the known members of one object without reading their values.
struct ObjectVisitor<'m, 'a> {
    names: Names,
    values: &'m mut HashMap<&'static str, &'a RawValue>,
    repeated: &'m mut Option<&'static str>,
}

impl<'a> serde::de::Visitor<'a> for ObjectVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let Names { known, besides } = self.names;
        while let Some(name) = map.next_key::<String>()? {
            let mut names = known.iter().flat_map(|names| names.iter()).chain(&[TYPE]).copied();
            if let Some(member) = names.find(|known| *known == name) {
                if self.values.insert(member, map.next_value()?).is_some() {
                    *self.repeated = Some(member);
                }
            } else if let Some(member) = besides.iter().copied().find(|known| *known == name) {
                self.values.insert(member, map.next_value()?);
            } else {
                map.next_value::<serde::de::IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Where the parser stopped, without its words: those would quote the body, which stays out of logs.
fn position(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "it is JSON of another type".to_owned(),
        serde_json::error::Category::Eof => "it ends too early".to_owned(),
        _ => format!("it breaks at line {}, column {}", error.line(), error.column()),
    }
}

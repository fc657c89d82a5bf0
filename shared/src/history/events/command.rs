//! The commands of events: one event, or up to a hundred of one tenant.
//!
//! The events of `events.recorded` are independent. An event that cannot be read keeps its error and its text, so that it becomes a dead
//! letter alone, as an `event.recorded` with exactly the members that were sent.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::event::{at, properties};
use super::{Customer, Event, EventKey};
use crate::platform::message::{
    Body, CommandError, CommandPayload, LogIds, Member, MemberError, MemberNames, Members, TYPE,
    command, each_member, text_of,
};
#[cfg(test)]
use crate::platform::message::{MemberSchema, TypeSchema, ValueSchema};
use crate::platform::values::{CustomerId, EventName, TenantId, Timestamp};

/// The most events of one message.
pub const MOST_EVENTS: usize = 100;

const EVENTS: &str = "events";
const EXPECTED: &str = "an array of 1 to 100 events";
const NAMES: MemberNames = &[&[TYPE], EventRecorded::MEMBERS];
/// The members of an event whose tenant is known. Its own tenant is ignored.
const OF_TENANT: MemberNames = &[&[TYPE, "customer_id", "event_id", "name", "at", "properties"]];

command! {
    /// A customer of a tenant did something. An event is its `tenant_id`, `customer_id`, `at` and
    /// `event_id`: the first that is processed remains, the same again changes nothing, and another
    /// name or other properties are a dead letter, event-conflict. An `at` in a period that takes
    /// no more events is a dead letter too, event-too-late, even if the event was recorded before.
    EventRecorded by event.key.customer.tenant_id creates event_id {
        event: Event,
    }
    "event.recorded": r#"{ "tenant_id": "acme", "customer_id": "c-9", "event_id": "e1", "name": "login", "at": "2026-11-20T12:00:00.000Z", "properties": { "plan": "pro" } }"#
}

/// Several events of one tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsRecorded {
    /// The tenant; `None` if it can be read in no event.
    pub tenant_id: Option<TenantId>,
    /// The events as sent: 1 to [`MOST_EVENTS`].
    pub events: Vec<SentEvent>,
}

/// One of several events, as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentEvent {
    /// Its text.
    pub json: String,
    /// The event, or why it cannot be read.
    pub event: Result<Event, CommandError>,
}

impl CommandPayload for EventsRecorded {
    const TYPES: &'static [&'static str] = &["events.recorded"];
    const MEMBERS: &'static [&'static str] = &[EVENTS];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let expected =
            |what| CommandError::Malformed { member: EVENTS, problem: MemberError::Expected(what) };
        let json = members.required(EVENTS)?;
        let sent: Vec<&RawValue> = serde_json::from_str(json).map_err(|_| expected(EXPECTED))?;
        if !(1..=MOST_EVENTS).contains(&sent.len()) {
            return Err(expected(EXPECTED));
        }
        let (mut tenant_id, mut events) = (None, Vec::with_capacity(sent.len()));
        for sent in sent {
            let (event, tenant) = SentEvent::read(sent.get(), members.now());
            if let Some(tenant) = tenant
                && *tenant_id.get_or_insert_with(|| tenant.clone()) != tenant
            {
                return Err(expected("events of one tenant"));
            }
            events.push(event);
        }
        Ok(Self { tenant_id, events })
    }

    fn write(&self, body: Body) -> Body {
        let events: Vec<_> = self.events.iter().map(|event| event.json.as_str()).collect();
        body.json(EVENTS, &format!("[{}]", events.join(",")))
    }

    fn subject(&self) -> LogIds {
        let tenant_id = self.tenant_id.as_ref().map(ToString::to_string);
        LogIds { tenant_id, ..LogIds::default() }
    }

    fn group(&self) -> &str {
        self.tenant_id.as_ref().map_or(EVENTS, TenantId::as_str)
    }

    #[cfg(test)]
    fn types() -> Vec<TypeSchema> {
        let kind = r#""const": "event.recorded""#;
        let kind =
            MemberSchema::new(TYPE, "It may be left out.", ValueSchema::new(kind).optional());
        let members = [vec![kind], Event::members("", "")].into_iter().flatten().collect();
        let event = ValueSchema::object(members)
            .described("An event, of several. Other members are ignored.")
            .named("event");
        let doc = "The events, all with the same tenant_id, which a schema cannot say.";
        let events = MemberSchema::new(EVENTS, doc, ValueSchema::list(event, 1..=MOST_EVENTS));
        vec![TypeSchema {
            name: Self::TYPES[0],
            doc: "Several events of one tenant, up to a hundred. Each is independent: an event that this schema refuses is a dead letter of its own, as an event.recorded with the members that were sent, and the others are recorded. An empty list, more than a hundred, or two tenants: the whole is one dead letter.",
            members: vec![events],
            example: r#"{ "events": [{ "tenant_id": "acme", "customer_id": "c-9", "event_id": "e2", "name": "login", "at": "2026-11-20T12:00:00.000Z" }] }"#,
            creates: "",
        }]
    }
}

/// Its type, where it has one, has to be that of an event.
fn is_event(members: &Members<'_>) -> Result<(), CommandError> {
    let expected = EventRecorded::TYPES[0];
    if members.raw(TYPE)?.is_none() || members.string(TYPE)? == expected {
        return Ok(());
    }
    Err(CommandError::Malformed { member: TYPE, problem: MemberError::Expected(expected) })
}

impl EventsRecorded {
    /// Several events of one tenant: at most [`MOST_EVENTS`], and not none.
    pub fn new(tenant_id: TenantId, events: Vec<SentEvent>) -> Self {
        Self { tenant_id: Some(tenant_id), events }
    }
}

impl From<Event> for SentEvent {
    fn from(event: Event) -> Self {
        let body = Body::new(EventRecorded::TYPES[0]);
        Self { json: event.write("", body).end(), event: Ok(event) }
    }
}

impl Event {
    /// The ids that it is about.
    pub fn subject(&self) -> LogIds {
        let mut ids = LogIds::default();
        self.note("", &mut ids);
        ids
    }

    /// Reads an event that a tenant sends at the instant `now`. It need not have the tenant. Events from `earliest` on are accepted.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected.
    pub fn parse(
        json: &str,
        tenant_id: &TenantId,
        earliest: Timestamp,
        now: Timestamp,
    ) -> Result<Self, CommandError> {
        let members = Members::read(json, OF_TENANT, now)?;
        is_event(&members)?;
        let customer_id = CustomerId::read(&members, "customer_id")?;
        let customer = Customer { tenant_id: tenant_id.clone(), customer_id };
        let key =
            EventKey { customer, at: at(&members)?, event_id: Member::read(&members, "event_id")? };
        let name = EventName::read(&members, "name")?;
        let event = Self { key, name, properties: properties(&members)? };
        let found = event.key.at;
        if found < earliest {
            let problem = MemberError::TooEarly { found, earliest };
            return Err(CommandError::Malformed { member: "at", problem });
        }
        Ok(event)
    }
}

impl SentEvent {
    /// Reads an event of `events`, or of a line of a file, at the instant `now`.
    pub fn parse(json: &str, now: Timestamp) -> Self {
        Self::read(json, now).0
    }

    /// The same, with its tenant, if that can be read.
    fn read(json: &str, now: Timestamp) -> (Self, Option<TenantId>) {
        let read = Members::read(json, NAMES, now);
        let tenant = read.as_ref().ok().and_then(|it| it.parsed("tenant_id", TenantId::new).ok());
        let event = read.and_then(|members| {
            is_event(&members)?;
            Member::read(&members, "")
        });
        (Self { json: json.to_owned(), event }, tenant)
    }

    /// The body of a message with only this event: `event.recorded` with its members as sent. A text that is not an object, or has another
    /// type, is the body itself.
    pub fn body(&self) -> String {
        let expected = EventRecorded::TYPES[0];
        let mut body = format!("{{\"{TYPE}\":\"{expected}\"");
        let mut is_event = true;
        let read = each_member(&self.json, |name, value| {
            if text_of(name).is_some_and(|name| name == TYPE) {
                is_event &= text_of(value).is_some_and(|value| value == expected);
            } else {
                // Writing to a string never fails.
                let _ = write!(body, ",{name}:{value}");
            }
        });
        if read.is_err() || !is_event {
            return self.json.clone();
        }
        body.push('}');
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;
    use crate::platform::values::Timestamp;

    fn now() -> Timestamp {
        "2026-11-20T12:00:00Z".parse().expect("an instant")
    }

    fn several(events: &str) -> Result<EventsRecorded, CommandError> {
        let body = format!(r#"{{"type":"events.recorded","events":{events}}}"#);
        match Command::parse(&body, now())? {
            Command::RecordEvents(events) => Ok(events),
            other => panic!("{other:?}"),
        }
    }

    fn event(tenant: &str, id: &str) -> String {
        format!(
            r#"{{"tenant_id":"{tenant}","customer_id":"c-9","event_id":"{id}","name":"login","at":"2026-11-20T12:00:00Z","properties":{{"n":1.0}}}}"#
        )
    }

    #[test]
    fn each_event_stands_for_itself() {
        let bad = r#"{"at" : "now","tenant_id":"acme","x\n":[ 1 ]}"#;
        let sent = several(&format!("[{},{bad},7]", event("acme", "e1"))).expect("events");
        assert_eq!(sent.group(), "acme");
        let [good, bad, none] = &sent.events[..] else { panic!("{sent:?}") };
        assert_eq!(good.event.as_ref().map(|it| it.properties.as_json()), Ok(r#"{"n":1.0}"#));
        assert_eq!(bad.event.as_ref().map_err(CommandError::reason), Err("malformed"));
        let body = r#"{"type":"event.recorded","at":"now","tenant_id":"acme","x\n":[ 1 ]}"#;
        assert_eq!(bad.body(), body);
        assert_eq!(none.event.as_ref().map_err(CommandError::reason), Err("not-json"));
        assert_eq!(none.body(), "7");
        // Handed on, it says the same.
        let again = Command::RecordEvents(sent.clone()).to_body();
        assert_eq!(Command::parse(&again, now()), Ok(Command::RecordEvents(sent)));
    }

    #[test]
    fn an_event_that_says_it_is_something_else_is_none() {
        let other = r#"{"type":"follow.created","follower_id":"a"}"#;
        let typed = event("acme", "e").replacen('{', r#"{"type":"event.recorded","#, 1);
        let sent = several(&format!("[{other},{typed}]")).expect("events");
        assert_eq!(sent.events[0].event.as_ref().map_err(CommandError::reason), Err("malformed"));
        assert_eq!(sent.events[0].body(), other);
        assert!(sent.events[1].event.is_ok());
        assert_eq!(sent.events[1].body(), typed);
    }

    #[test]
    fn none_too_many_or_two_tenants_are_refused_as_a_whole() {
        let of = |count: usize| vec![event("acme", "e"); count].join(",");
        assert!(several(&format!("[{}]", of(100))).is_ok());
        for events in [
            "[]".to_owned(),
            "{}".to_owned(),
            "null".to_owned(),
            format!("[{}]", of(101)),
            format!("[{},{}]", event("acme", "e"), event("other", "e")),
        ] {
            assert_eq!(several(&events).map_err(|e| e.reason()), Err("malformed"), "{events}");
        }
    }

    #[test]
    fn events_may_lie_before_2015_where_somebody_has_set_the_clock() {
        let at = |at: &str| {
            several(&format!("[{}]", event("a", "e").replace("2026-11-20T12:00:00Z", at)))
        };
        let is_read = |text: &str| at(text).expect("events").events[0].event.is_ok();
        assert!(is_read("2000-01-01T00:00:00Z") && !is_read("1999-12-31T23:59:59.999Z"));
        assert!(is_read("2026-11-20T12:05:00Z") && !is_read("2026-11-20T12:05:00.001Z"));
    }
}

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
    let at =
        |at: &str| several(&format!("[{}]", event("a", "e").replace("2026-11-20T12:00:00Z", at)));
    let is_read = |text: &str| at(text).expect("events").events[0].event.is_ok();
    assert!(is_read("2000-01-01T00:00:00Z") && !is_read("1999-12-31T23:59:59.999Z"));
    assert!(is_read("2026-11-20T12:05:00Z") && !is_read("2026-11-20T12:05:00.001Z"));
}

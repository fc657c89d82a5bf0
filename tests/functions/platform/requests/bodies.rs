//! The commands that are measured, in two sizes.

use std::cell::Cell;

use serde_json::{Value, json};
use shared::history::tenants::MOST_READ;
use tests::publish;

use super::MANY;
use crate::platform::answers::PAYLOAD;

/// Lengths of ids, bytes of payloads, and choices of a poll.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) id: usize,
    pub(super) person: usize,
    pub(super) payload: usize,
    pub(super) choices: usize,
}

pub(super) const ORDINARY: Sizes = Sizes { id: 24, person: 12, payload: PAYLOAD, choices: 4 };
pub(super) const LARGEST: Sizes = Sizes { id: 128, person: 128, payload: 4_096, choices: 32 };

thread_local! {
    pub(super) static SIZES: Cell<Sizes> = const { Cell::new(ORDINARY) };
}

/// An id that begins with a name.
pub(super) fn id(name: &str) -> String {
    format!("{name:x<width$}", width = SIZES.get().id)
}

/// The id of a viewer or an actor.
pub(super) fn person(name: &str) -> String {
    format!("{name:x<width$}", width = SIZES.get().person)
}

/// A name of an event or a choice, which has at most 64 characters.
pub(super) fn label(name: &str) -> String {
    format!("{name:n<width$}", width = SIZES.get().id.min(64))
}

pub(super) fn payload() -> Value {
    payload_of(SIZES.get().payload)
}

/// A payload of this many bytes.
pub(super) fn payload_of(bytes: usize) -> Value {
    json!("p".repeat(bytes - 2))
}

/// The instant `n` seconds after half past eleven.
pub(super) fn at(n: usize) -> String {
    format!("2026-11-20T11:{:02}:{:02}.000Z", 30 + n / 60, n % 60)
}

pub(super) fn published(n: usize) -> Value {
    let mut command = publish(&person("anna"), &id(&format!("post-{n:02}")), &at(n));
    command["payload"] = payload();
    command
}

pub(super) fn edited(kind: &str) -> Value {
    json!({"type": "activity.updated", "actor_id": person("anna"), "activity_id": id("post-00"), "kind": kind,
        "at": at(60), "payload": payload()})
}

pub(super) fn profile(viewer: &str) -> Value {
    json!({"type": "profile.updated", "viewer_id": person(viewer), "at": at(0), "payload": payload()})
}

pub(super) fn like(kind: &str, viewer: &str, n: usize, second: usize) -> Value {
    json!({"type": kind, "viewer_id": person(viewer), "activity_id": id(&format!("post-{n:02}")), "at": at(second)})
}

pub(super) fn tag(kind: &str, n: usize, tagged: &str, second: usize) -> Value {
    json!({"type": kind, "activity_id": id(&format!("post-{n:02}")), "tagged_id": person(tagged), "at": at(second)})
}

pub(super) fn opened() -> Value {
    let choices: Vec<_> =
        (0..SIZES.get().choices).map(|n| label(&format!("choice-{n:02}"))).collect();
    json!({"type": "poll.opened", "poll_id": id("mvp"), "actor_id": person("anna"), "choices": choices,
        "opens_at": at(0), "closes_at": "2026-11-21T11:00:00Z", "payload": payload()})
}

pub(super) fn closed() -> Value {
    json!({"type": "poll.closed", "poll_id": id("mvp"), "actor_id": person("anna"), "at": at(90)})
}

pub(super) fn vote(choice: Option<usize>, second: usize) -> Value {
    let mut vote = json!({"type": "vote.withdrawn", "poll_id": id("mvp"), "viewer_id": person("bob"), "at": at(second)});
    if let Some(choice) = choice {
        vote["type"] = json!("vote.cast");
        vote["choice"] = json!(label(&format!("choice-{choice:02}")));
    }
    vote
}

pub(super) fn battle() -> Value {
    json!({"type": "battle.opened", "battle_id": id("dragon"), "actor_id": person("anna"), "hp": 1_000, "at": at(0),
        "payload": payload()})
}

pub(super) fn hit(n: usize) -> Value {
    json!({"type": "battle.hit", "battle_id": id("dragon"), "hit_id": id(&format!("hit-{n:02}")),
        "viewer_id": person("bob"), "damage": 10, "at": at(n)})
}

pub(super) fn said(n: usize) -> Value {
    json!({"type": "message.posted", "room_id": id("live"), "message_id": id(&format!("m-{n:02}")),
        "author_id": person("bob"), "at": at(n), "payload": payload()})
}

pub(super) fn unsaid(n: usize) -> Value {
    json!({"type": "message.deleted", "room_id": id("live"), "message_id": id(&format!("m-{n:02}")),
        "author_id": person("bob")})
}

pub(super) fn membership(kind: &str, second: usize) -> Value {
    json!({"type": kind, "room_id": id("live"), "viewer_id": person("bob"), "at": at(second)})
}

pub(super) fn read(body: Value) -> Value {
    let mut read = json!({"type": "notifications.read", "viewer_id": person("anna")});
    read.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    read
}

pub(super) fn event(n: usize) -> Value {
    json!({"type": "event.recorded", "tenant_id": id("acme"), "customer_id": id("c"), "at": at(n),
        "event_id": id(&format!("e-{n:02}")), "name": label("n"), "properties": payload()})
}

pub(super) fn events() -> Value {
    json!({"type": "events.recorded", "events": (0..MANY).map(event).collect::<Vec<_>>()})
}

/// A command of a tenant, at the end of a second.
pub(super) fn of_tenant(kind: &str, members: Value, second: usize) -> Value {
    let mut command = json!({"type": kind, "tenant_id": id("acme"), "at": at(second)});
    command.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    command
}

pub(super) fn updated(customer: &str) -> Value {
    of_tenant("customer.updated", json!({"customer_id": id(customer), "payload": payload()}), 1)
}

pub(super) fn rule() -> Value {
    let when = json!({"event": label("n"), "count": 1, "within": "month"});
    of_tenant("rule.defined", json!({"rule_id": id("rule"), "when": when}), 1)
}

pub(super) fn score() -> Value {
    let measure = json!({"event": label("n"), "days": 90, "points": 3, "most": 60});
    let members = json!({"score_id": id("score"), "base": 40, "measures": [measure]});
    of_tenant("score.defined", members, 1)
}

pub(super) fn alerts_read() -> Value {
    let read: Vec<_> = (0..MOST_READ).map(|n| json!({"alert_id": format!("{n:032x}")})).collect();
    json!({"type": "alerts.read", "tenant_id": id("acme"), "read": read})
}

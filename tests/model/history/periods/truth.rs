//! What was taken, by what the tables were made to hold, and whether all of it is where it has to be.

use std::collections::{BTreeMap, BTreeSet};

use aws_lambda_events::event::sqs::SqsMessage;
use serde_json::{Value, json};
use shared::history::events::{EventSettings, Period, archive, keys};
use shared::platform::dead_letters::REASON;
use shared::platform::values::Timestamp;
use tests::{EVENTS_TABLE_PREFIX, World};

use super::edge::Done;
use super::messages::command;
use crate::platform::instants::MINUTE;

/// No clock differs from the world's by more.
pub(super) const APART: i64 = 10 * MINUTE;

/// The identity of an event: tenant, customer, instant and id.
pub(super) type Id = [String; 4];

/// What is true of events.
pub(super) struct Truth {
    settings: EventSettings,
    pub(super) taken: BTreeMap<Id, String>,
    /// What became a dead letter permanently.
    pub(super) refused: BTreeSet<(Id, String)>,
    pub(super) made: BTreeSet<Period>,
    pub(super) dropped: BTreeSet<Period>,
    /// The periods of whose objects the bucket has changed one.
    pub(super) mangled: BTreeSet<Period>,
}

/// The identity and the content of an event, as it is sent and archived.
pub(super) fn said(event: &Value) -> (Id, String) {
    let id = ["tenant_id", "customer_id", "at", "event_id"];
    (id.map(|name| event[name].as_str().unwrap().to_owned()), event["properties"].to_string())
}

/// The same of its item.
pub(super) fn stored(item: &Value) -> (Id, String) {
    let text = |name: &str| item[name]["S"].as_str().unwrap();
    let ids: Vec<_> = text("pk").split('#').collect();
    let (at, event_id) = text("sk").split_once('#').unwrap();
    ([ids[0], ids[1], at, event_id].map(str::to_owned), text("properties").to_owned())
}

fn period_of_table(table: &str) -> Period {
    table.strip_prefix(EVENTS_TABLE_PREFIX).unwrap().parse().unwrap()
}

pub(super) fn period_of_object(key: &str) -> Period {
    key.split('/').nth(1).unwrap().parse().unwrap()
}

impl Truth {
    pub(super) fn new(settings: EventSettings) -> Self {
        Self {
            settings,
            taken: BTreeMap::new(),
            refused: BTreeSet::new(),
            made: BTreeSet::new(),
            dropped: BTreeSet::new(),
            mangled: BTreeSet::new(),
        }
    }

    pub(super) fn period(&self, id: &Id) -> Period {
        self.settings.period_of(id[2].parse().unwrap())
    }

    /// The events of a period that were taken.
    pub(super) fn of_period(&self, period: Period) -> BTreeMap<&Id, &String> {
        self.taken.iter().filter(|(id, _)| self.period(id) == period).collect()
    }

    /// Notes what a call has done, and whether it may.
    pub(super) fn note(&mut self, world: &World, done: Done) -> Result<(), String> {
        match done {
            Done::Made(table) => {
                let period = period_of_table(&table);
                // Where nobody kept periods for days, one that nothing was put into is made and dropped while another keeper is about to make it.
                match self.made.insert(period) || self.of_period(period).is_empty() {
                    true => Ok(()),
                    false => Err(format!("{table} is made again")),
                }
            }
            Done::Put(item) => {
                let (id, content) = stored(&item);
                match self.taken.insert(id.clone(), content) {
                    None => Ok(()),
                    Some(_) => Err(format!("{id:?} is put twice")),
                }
            }
            Done::Deleted(table) => {
                let period = period_of_table(&table);
                self.dropped.insert(period);
                let row = row(world, period);
                let state = row["state"]["S"].as_str().unwrap_or_default();
                if !matches!(state, "verified" | "dropped") || row["dropping"]["BOOL"] != true {
                    return Err(format!("{table} is deleted, and its row says {row}"));
                }
                self.is_whole(world, period)
            }
            Done::Written(key) | Done::Erased(key) => self.is_whole(world, period_of_object(&key)),
        }
    }

    /// Each event of a period is in its table, or in its archive, once.
    pub(super) fn is_whole(&self, world: &World, period: Period) -> Result<(), String> {
        let there = match self.dropped.contains(&period) {
            false => in_table(world, period),
            true if self.may_be_expired(world, period) => return Ok(()),
            true => in_archive(world, period)?,
        };
        let taken: BTreeMap<_, _> =
            self.of_period(period).into_iter().map(|(id, it)| (id.clone(), it.clone())).collect();
        if let Some(lost) = taken.keys().find(|id| !there.contains_key(*id)) {
            let row = row(world, period);
            return Err(format!("{lost:?} is lost at {}: {row}", world.clock.now()));
        }
        let differs = there.iter().find(|(id, content)| taken.get(*id) != Some(content));
        differs.map_or(Ok(()), |(id, content)| Err(format!("{id:?} is there with {content}")))
    }

    pub(super) fn may_be_expired(&self, world: &World, period: Period) -> bool {
        let latest = world.clock.now().plus_millis(APART);
        self.settings.archived_until(period).is_some_and(|until| until <= latest)
    }

    /// Notes what became a dead letter. True if somebody may send it again: it was refused for something that passes.
    pub(super) fn refuse(&mut self, world: &World, letter: &SqsMessage) -> Result<bool, String> {
        let attribute = letter.message_attributes.get(REASON);
        let reason = attribute.and_then(|it| it.string_value.as_deref()).unwrap_or_default();
        let body = letter.body.as_deref().unwrap_or_default();
        if !matches!(reason, "event-conflict" | "event-too-late") {
            return match reason {
                "access-denied" | "table-missing" => Ok(true),
                _ => Err(format!("a dead letter for {reason}: {body}")),
            };
        }
        let (id, content) = said(&command(body));
        let taken = self.taken.get(&id);
        let closes = self.settings.closes_at(self.period(&id));
        match reason {
            "event-conflict" if taken.is_none_or(|it| *it == content) => {
                return Err(format!("{id:?} is in conflict with {taken:?}"));
            }
            "event-too-late" if closes > world.clock.now().plus_millis(APART) => {
                return Err(format!("{id:?} was in time until {closes}"));
            }
            _ => {}
        }
        self.refused.insert((id, content));
        Ok(false)
    }

    /// An event is on record as it was sent, or was refused.
    pub(super) fn is_decided(&self, id: &Id, content: &str) -> bool {
        self.taken.get(id).is_some_and(|taken| taken == content)
            || self.refused.contains(&(id.clone(), content.to_owned()))
    }
}

/// What the table of a period holds.
fn in_table(world: &World, period: Period) -> BTreeMap<Id, String> {
    let scan = json!({"TableName": format!("{EVENTS_TABLE_PREFIX}{period}")});
    let (status, answer) = world.engine.call("Scan", scan.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    match status {
        200 => answer["Items"].as_array().unwrap().iter().map(stored).collect(),
        _ => BTreeMap::new(),
    }
}

/// What the objects of a period hold.
pub(super) fn in_archive(world: &World, period: Period) -> Result<BTreeMap<Id, String>, String> {
    let mut there = BTreeMap::new();
    for (key, object) in world.bucket.objects() {
        if !key.ends_with(".jsonl.gz") || period_of_object(&key) != period {
            continue;
        }
        let mut twice = None;
        let read = archive::read(&object, |line| {
            let (id, content) = said(&serde_json::from_str(line).unwrap());
            if there.insert(id.clone(), content).is_some() {
                twice = Some(id);
            }
        });
        read.map_err(|damage| format!("{key}: {damage}"))?;
        if let Some(id) = twice {
            return Err(format!("{id:?} is archived twice"));
        }
    }
    Ok(there)
}

/// The row of a period, read past the functions and past whatever goes wrong at their edge.
pub(super) fn row(world: &World, period: Period) -> Value {
    let key = keys::period(&period);
    let key = json!({"pk": {"S": key.pk}, "sk": {"S": key.sk}});
    let get = json!({"TableName": world.tables.ledger.table().name(), "Key": key});
    let (_, answer) = world.engine.call("GetItem", get.to_string().as_bytes());
    serde_json::from_str::<Value>(&answer).unwrap()["Item"].take()
}

/// An instant in the world.
pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis)
}

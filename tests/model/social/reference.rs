//! What a history means. This shares nothing with the implementation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::social::commands::{RETENTION, Sent, What};

/// An activity as a reader is shown it, ordered like timelines: by time, then by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shown {
    pub(crate) at: i64,
    pub(crate) id: String,
    pub(crate) actor: String,
    pub(crate) kind: String,
    pub(crate) payload: String,
}

impl Shown {
    pub(crate) fn position(&self) -> (i64, &str) {
        (self.at, &self.id)
    }
}

/// The publishes of one id: by actor and time, the kind and the payload.
pub(crate) type Variants = BTreeMap<(String, i64), (String, String)>;

/// Some commands, as a set: what they mean does not depend on their order.
#[derive(Debug, Default, Clone)]
pub(crate) struct Reference {
    /// By id: who published it, and when. More than one: only one of them got through.
    pub(crate) publishes: BTreeMap<String, Variants>,
    pub(crate) deletes: BTreeSet<(String, String)>,
    updates: BTreeMap<(String, String), BTreeSet<(i64, String)>>,
    kinds: BTreeMap<(String, String), BTreeSet<(i64, String)>>,
    /// By viewer and actor: when, and whether they unfollowed then. The greatest is in force.
    pub(crate) follows: BTreeMap<(String, String), BTreeSet<(i64, bool)>>,
    pub(crate) features: Vec<Value>,
    /// Commands of a person who was erased. What they opened is not there any more, and what they
    /// closed stays closed.
    pub(crate) erased: Vec<Value>,
    /// The ids of activities of such a person: others were refused, or this one was.
    pub(crate) has_erased: BTreeSet<String>,
    /// Events that were refused, each as a command of its own.
    pub(crate) refused_events: Vec<Value>,
}

impl Reference {
    pub(crate) fn of(history: &[Sent]) -> Self {
        let mut reference = Self::default();
        history.iter().for_each(|sent| reference.take(&sent.what));
        reference
    }

    pub(crate) fn take(&mut self, what: &What) {
        match what.clone() {
            What::Publish { id, actor, at, kind, payload } => {
                let variants = self.publishes.entry(id).or_default();
                variants.insert((actor, at), (kind, payload.to_string()));
            }
            What::Update { id, actor, at, kind, payload } => {
                let key = (id, actor);
                if let Some(kind) = kind {
                    self.kinds.entry(key.clone()).or_default().insert((at, kind));
                }
                self.updates.entry(key).or_default().insert((at, payload.to_string()));
            }
            What::Delete { id, actor } => {
                self.deletes.insert((id, actor));
            }
            What::Follow { viewer, actor, at, following } => {
                self.follows.entry((viewer, actor)).or_default().insert((at, !following));
            }
            What::Feature(body) => self.features.push(body),
        }
    }

    /// Takes a command of other features whose person was erased since. A hit stays, and is nobody's.
    pub(crate) fn erase(&mut self, body: &Value) {
        if body["type"] == "battle.hit" {
            let mut hit = body.clone();
            hit["viewer_id"] = Value::Null;
            self.features.push(hit);
        }
        self.erased.push(body.clone());
    }

    /// Removes a publish that was refused because its id belongs to another.
    pub(crate) fn refuse(&mut self, id: &str, actor: &str, at: i64) {
        if let Some(variants) = self.publishes.get_mut(id) {
            variants.remove(&(actor.to_owned(), at));
        }
    }

    pub(crate) fn follows(&self, viewer: &str, actor: &str) -> bool {
        let edge = self.follows.get(&(viewer.to_owned(), actor.to_owned()));
        edge.and_then(|changes| changes.last()).is_some_and(|(_, unfollowed)| !unfollowed)
    }

    /// The query of the contract, oldest first.
    pub(crate) fn timeline(&self, viewer: &str, now: i64) -> BTreeSet<Shown> {
        let mut timeline = BTreeSet::new();
        for (id, variants) in &self.publishes {
            for ((actor, at), (kind, payload)) in variants {
                let key = (id.clone(), actor.clone());
                if *at < now - RETENTION
                    || self.deletes.contains(&key)
                    || !self.follows(viewer, actor)
                {
                    continue;
                }
                timeline.insert(self.edited(key, *at, kind, payload));
            }
        }
        timeline
    }

    /// The edits of an activity's kind in its actor's words, in the order in which one wins over another.
    pub(crate) fn kind_edits(&self, id: &str, actor: &str) -> BTreeSet<(i64, String)> {
        self.kinds.get(&(id.to_owned(), actor.to_owned())).cloned().unwrap_or_default()
    }

    /// An activity with its latest edits.
    fn edited(&self, key: (String, String), at: i64, kind: &String, payload: &String) -> Shown {
        let latest = |edits: &BTreeMap<_, BTreeSet<(i64, String)>>, first: &String| {
            let edits: Option<&BTreeSet<_>> = edits.get(&key);
            edits.and_then(BTreeSet::last).map_or(first, |(_, value)| value).clone()
        };
        let (kind, payload) = (latest(&self.kinds, kind), latest(&self.updates, payload));
        let (id, actor) = key;
        Shown { at, id, actor, kind, payload }
    }

    /// An activity that one publish owns, unless it is deleted.
    pub(crate) fn activity(&self, id: &str) -> Option<Shown> {
        let ((actor, at), (kind, payload)) = self.publishes.get(id)?.first_key_value()?;
        let key = (id.to_owned(), actor.clone());
        (!self.deletes.contains(&key)).then(|| self.edited(key, *at, kind, payload))
    }

    /// True if an activity can have this content at all.
    pub(crate) fn may_say(&self, shown: &Shown) -> bool {
        let key = (shown.id.clone(), shown.actor.clone());
        let variants = self.publishes.get(&shown.id);
        let Some((_, payload)) = variants.and_then(|v| v.get(&(shown.actor.clone(), shown.at)))
        else {
            return false;
        };
        let edited = self.updates.get(&key).into_iter().flatten();
        *payload == shown.payload || edited.into_iter().any(|(_, text)| *text == shown.payload)
    }
}

/// Reads an item of an answer.
pub(crate) fn shown(item: &Value) -> Shown {
    let text = |name: &str| item[name].as_str().unwrap().to_owned();
    Shown {
        at: millis(&text("published_at")),
        id: text("activity_id"),
        actor: text("actor_id"),
        kind: text("kind"),
        payload: item["payload"].to_string(),
    }
}

/// An instant as it is printed, in unix milliseconds.
pub(crate) fn millis(text: &str) -> i64 {
    text.parse::<shared::platform::values::Timestamp>().unwrap().unix_millis()
}

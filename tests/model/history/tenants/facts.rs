//! What the model observes of a run from outside: which events were taken and folded, which commands are in effect, when keepers ticked,
//! which alerts readers were shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::announced::Announced;
use super::effects::Effects;
use super::erasing::{Erasing, Victim};
use super::taken::AllTaken;

/// A tick of a keeper.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick {
    pub(super) begun: i64,
    /// When it ended, or when the keeper died.
    pub(super) ended: i64,
    /// True if it has done all that was due.
    pub(super) is_whole: bool,
}

/// What the model observes of a run.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) taken: AllTaken,
    pub(super) effects: Effects,
    pub(super) ticks: Vec<Tick>,
    pub(super) shown: Shown,
    pub(super) erasing: Erasing,
    pub(super) announced: Announced,
}

/// The alerts that readers were shown, and which of them commands have marked as read.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// By tenant and id, without their states.
    alerts: BTreeMap<(String, String), Value>,
    /// Marked by a command that was delivered, and may be in effect.
    may_be_read: BTreeSet<(String, String)>,
    /// Marked by a command that was acknowledged at this instant.
    is_read: BTreeMap<(String, String), i64>,
    /// Erased. An alert with the same id may be given again, and marks of before may come then.
    erased: BTreeSet<(String, String)>,
}

impl Shown {
    /// The alerts of a tenant that were ever shown.
    pub(super) fn ids(&self, tenant: &str) -> Vec<String> {
        self.alerts.keys().filter(|(of, _)| of == tenant).map(|(_, id)| id.clone()).collect()
    }

    /// Notes that a reader was shown an alert. Its content must be the same each time, except for its state.
    pub(super) fn show(&mut self, tenant: &str, alert: &Value) -> Result<(), String> {
        let mut alert = alert.clone();
        alert.as_object_mut().unwrap().remove("state");
        let key = (tenant.to_owned(), alert["alert_id"].as_str().unwrap().to_owned());
        match self.alerts.insert(key, alert.clone()) {
            Some(before) if before != alert => Err(format!("{before} has become {alert}")),
            _ => Ok(()),
        }
    }

    /// The alerts that were decided by day and shown to a reader. Such alerts are never withdrawn.
    pub(super) fn daily(&self, tenant: &str) -> Vec<String> {
        let of_days =
            self.alerts.iter().filter(|((of, _), it)| of == tenant && it.get("day").is_some());
        of_days.map(|((_, id), _)| id.clone()).collect()
    }

    /// Forgets the alerts of a victim.
    pub(super) fn forget(&mut self, victim: &Victim) {
        let Self { alerts, is_read, erased, .. } = self;
        alerts.retain(|key, alert| {
            let is_theirs = victim.is(&key.0, alert["customer_id"].as_str().unwrap());
            if is_theirs {
                is_read.remove(key);
                erased.insert(key.clone());
            }
            !is_theirs
        });
    }

    pub(super) fn may_be_read(&mut self, tenant: &str, ids: &[String]) {
        self.may_be_read.extend(ids.iter().map(|id| (tenant.to_owned(), id.clone())));
    }

    pub(super) fn read(&mut self, tenant: &str, ids: &[String], now: i64) {
        for id in ids {
            self.is_read.entry((tenant.to_owned(), id.clone())).or_insert(now);
        }
    }

    /// The states that an alert may have in an answer to a reader who has asked at `begin`.
    pub(super) fn states(&self, tenant: &str, id: &str, begin: i64) -> Vec<&'static str> {
        let key = (tenant.to_owned(), id.to_owned());
        let is_read = self.is_read.get(&key).is_some_and(|at| *at <= begin);
        let is_read = is_read && !self.erased.contains(&key);
        match (is_read, self.may_be_read.contains(&key)) {
            (true, _) => vec!["read"],
            (false, true) => vec!["read", "unread"],
            (false, false) => vec!["unread"],
        }
    }
}

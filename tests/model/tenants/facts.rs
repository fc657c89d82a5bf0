//! What is known of a run from outside: what was taken and folded, which commands are in effect, when keepers ticked, which alerts were shown.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::effects::Effects;
use super::taken::AllTaken;

/// A tick of a keeper.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick {
    pub(super) begun: i64,
    /// When it ended, or died.
    pub(super) ended: i64,
    /// Whether it has done all that was due.
    pub(super) is_whole: bool,
}

/// What is known of a run.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) taken: AllTaken,
    pub(super) effects: Effects,
    pub(super) ticks: Vec<Tick>,
    pub(super) shown: Shown,
}

/// What somebody was shown of alerts, and what was said to be read.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// By tenant and id, without their states.
    alerts: BTreeMap<(String, String), Value>,
    may_be_read: BTreeSet<(String, String)>,
    is_read: BTreeMap<(String, String), i64>,
}

impl Shown {
    /// The alerts of a tenant that were ever shown.
    pub(super) fn ids(&self, tenant: &str) -> Vec<String> {
        self.alerts.keys().filter(|(of, _)| of == tenant).map(|(_, id)| id.clone()).collect()
    }

    /// An alert is shown. It says what it has always said.
    pub(super) fn show(&mut self, tenant: &str, alert: &Value) -> Result<(), String> {
        let mut alert = alert.clone();
        alert.as_object_mut().unwrap().remove("state");
        let key = (tenant.to_owned(), alert["alert_id"].as_str().unwrap().to_owned());
        match self.alerts.insert(key, alert.clone()) {
            Some(before) if before != alert => Err(format!("{before} has become {alert}")),
            _ => Ok(()),
        }
    }

    /// The alerts of days that were shown: they are never withdrawn.
    pub(super) fn daily(&self, tenant: &str) -> Vec<String> {
        let of_days =
            self.alerts.iter().filter(|((of, _), it)| of == tenant && it.get("day").is_some());
        of_days.map(|((_, id), _)| id.clone()).collect()
    }

    pub(super) fn may_be_read(&mut self, tenant: &str, ids: &[String]) {
        self.may_be_read.extend(ids.iter().map(|id| (tenant.to_owned(), id.clone())));
    }

    pub(super) fn read(&mut self, tenant: &str, ids: &[String], now: i64) {
        for id in ids {
            self.is_read.entry((tenant.to_owned(), id.clone())).or_insert(now);
        }
    }

    /// What the state of an alert may be that is read between two instants.
    pub(super) fn states(&self, tenant: &str, id: &str, begin: i64) -> Vec<&'static str> {
        let key = (tenant.to_owned(), id.to_owned());
        let is_read = self.is_read.get(&key).is_some_and(|at| *at <= begin);
        match (is_read, self.may_be_read.contains(&key)) {
            (true, _) => vec!["read"],
            (false, true) => vec!["read", "unread"],
            (false, false) => vec!["unread"],
        }
    }
}

//! The events that were taken, and when each was folded: not before it was first delivered to the projector, and at the latest when a batch with it was
//! worked off.

use std::collections::BTreeMap;

use serde_json::Value;

use super::calendar::millis;
use super::erasing::Victim;

/// Tenant, customer, instant and id.
type Id = [String; 4];

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) tenant: String,
    pub(super) customer: String,
    pub(super) name: String,
    pub(super) at: i64,
}

/// An event that was taken, and from when on it may have been, and has to be folded.
#[derive(Debug)]
struct Taken {
    event: Event,
    may_be_folded: i64,
    is_folded: i64,
}

/// The events that were taken.
#[derive(Debug, Default)]
pub(super) struct AllTaken {
    taken: BTreeMap<Id, Taken>,
    /// A victim whose events were erased, and the number of the last change by then.
    erased: Option<(Victim, i64)>,
}

/// The identity of an item of a table of events, by its keys.
fn stored(item: &Value) -> Id {
    let text = |name: &str| item[name]["S"].as_str().unwrap();
    let ids: Vec<_> = text("pk").split('#').collect();
    let (at, event_id) = text("sk").split_once('#').unwrap();
    [ids[0], ids[1], at, event_id].map(str::to_owned)
}

/// The identity of an event, as it is sent.
pub(super) fn identity(event: &Value) -> Id {
    ["tenant_id", "customer_id", "at", "event_id"].map(|it| event[it].as_str().unwrap().to_owned())
}

impl AllTaken {
    /// An item was put.
    pub(super) fn put(&mut self, item: &Value) {
        let id = stored(item);
        let [tenant, customer, at, _] = id.clone();
        let name = item["name"]["S"].as_str().unwrap().to_owned();
        let event = Event { tenant, customer, name, at: millis(&at) };
        self.taken.insert(id, Taken { event, may_be_folded: i64::MAX, is_folded: i64::MAX });
    }

    /// The events of a victim were erased, and nothing of them counts up to this change.
    pub(super) fn forget(&mut self, victim: Victim, last: i64) {
        self.taken.retain(|_, taken| !victim.is(&taken.event.tenant, &taken.event.customer));
        self.erased = Some((victim, last));
    }

    /// The event that a change is about, unless it was erased.
    fn changed(&mut self, (number, keys): &(i64, Value)) -> Option<&mut Taken> {
        let id = stored(keys);
        match self.erased {
            Some((victim, last)) if victim.is(&id[0], &id[1]) && *number <= last => None,
            _ => Some(self.taken.get_mut(&id).unwrap()),
        }
    }

    /// A change was delivered to the projector.
    pub(super) fn delivered(&mut self, change: &(i64, Value), now: i64) {
        let Some(taken) = self.changed(change) else { return };
        taken.may_be_folded = taken.may_be_folded.min(now);
    }

    /// A change was worked off.
    pub(super) fn worked_off(&mut self, change: &(i64, Value), now: i64) {
        let Some(taken) = self.changed(change) else { return };
        taken.is_folded = taken.is_folded.min(now);
    }

    /// The name under which an event was taken.
    pub(super) fn name(&self, id: &Id) -> Option<&str> {
        self.taken.get(id).map(|taken| taken.event.name.as_str())
    }

    /// All of a tenant.
    pub(super) fn of_tenant(&self, tenant: &str) -> Vec<&Event> {
        let events = self.taken.values().map(|taken| &taken.event);
        events.filter(|event| event.tenant == tenant).collect()
    }

    /// Those of a customer that were folded by an instant, and those that may have been by another and are not among these.
    pub(super) fn folded(
        &self,
        [tenant, customer]: [&str; 2],
        by: i64,
        maybe_by: i64,
    ) -> (Vec<&Event>, Vec<&Event>) {
        let (mut sure, mut maybe) = (Vec::new(), Vec::new());
        let of = |it: &&Taken| it.event.tenant == tenant && it.event.customer == customer;
        for taken in self.taken.values().filter(of) {
            if taken.is_folded <= by {
                sure.push(&taken.event);
            } else if taken.may_be_folded <= maybe_by {
                maybe.push(&taken.event);
            }
        }
        (sure, maybe)
    }
}

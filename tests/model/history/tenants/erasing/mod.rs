//! A customer or a whole tenant is erased while everything goes on: in the end nothing names them but tombstones, no alert about them is listed or
//! announced, and all answers about others equal the recount.
//!
//! ```text
//! attempts   erasures at work: some begin early, die or fail
//! left       what is left of the victim
//! ```
//!
//! The commands of the victim up to an instant come before the erasure. Attempts begin at any time. The last one begins when none of these
//! commands is on its way, as docs/OPERATIONS.md asks for; folds, decisions, ticks and changes that are delivered again may be. Pages
//! about the victim are not judged from the beginning of the first attempt to the end of the last.
//!
//! In half of the seeds the victim comes back: the commands after the instant are sent once the erasure is done, and some of those before it
//! are sent again, with the same ids. Answers then equal the recount of these alone. In the other half those commands are left out.
//!
//! ```sh
//! NAGARE_MODEL_SEED=17 cargo test -p tests --test model erased_customers      # one seed
//! ```

mod attempts;
mod left;

use std::borrow::Cow;

use fastrand::Rng;
use nagare_operator::event_scope::EventScope;
use serde_json::Value;
use shared::platform::dynamo::Limits;

use super::commands::{CUSTOMERS, Sent, TENANTS, What, history};
use super::plan::Plan;
use super::run;
use crate::platform::instants::START;
use crate::platform::seeds::Model;
pub(super) use attempts::Leaver;

/// Numbers of commands that are sent after the erasure begin here.
const LATER: usize = 1_000;

/// A transaction takes at least so many items, of which the code uses half.
const LEAST_ITEMS: usize = 16;

/// The customer or the tenant that a seed erases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Victim {
    tenant: &'static str,
    /// `None` for a whole tenant.
    customer: Option<&'static str>,
    /// Commands that are sent from this instant on come after the erasure.
    since: i64,
    pub(super) comes_back: bool,
    /// True if alerts are sent to a bus.
    pub(super) is_telling: bool,
}

impl Victim {
    pub(super) fn of(seed: u64) -> Self {
        let (plan, random) = (Plan::of(seed), &mut Rng::with_seed(seed ^ 0x1EA5_7E4A));
        let customer = random.choice(CUSTOMERS).unwrap();
        Self {
            tenant: random.choice(TENANTS).unwrap(),
            customer: (random.u8(0..3) > 0).then_some(customer),
            since: START + random.i64(plan.span / 6..plan.span),
            comes_back: random.bool(),
            is_telling: random.bool(),
        }
    }

    /// What tables take. An erasure deletes an event together with all that counts it: five items and the blocks beside them.
    pub(super) fn limits(&self, plan: &Plan) -> Limits {
        let transaction_items = plan.limits.transaction_items.max(LEAST_ITEMS);
        Limits { transaction_items, ..plan.limits }
    }

    fn scope(&self) -> EventScope {
        let customer_id = self.customer.map(|id| id.parse().unwrap());
        EventScope { tenant_id: self.tenant.parse().unwrap(), customer_id }
    }

    /// True for the customer, and for all customers of a tenant.
    pub(super) fn is(&self, tenant: &str, customer: &str) -> bool {
        tenant == self.tenant && self.customer.is_none_or(|id| id == customer)
    }

    /// True if an object names the victim in its members.
    pub(super) fn is_named(&self, said: &Value) -> bool {
        let text = |name: &str| said[name].as_str().unwrap_or_default();
        self.is(text("tenant_id"), text("customer_id"))
    }

    /// True if a command is about the victim, or one of its events is.
    pub(super) fn is_in(&self, command: &Value) -> bool {
        let mut events = command["events"].as_array().into_iter().flatten();
        self.is_named(command) || events.any(|event| self.is_named(event))
    }

    /// A command without the victim, and what it says of the victim.
    fn split(&self, what: &What) -> (Option<What>, Option<What>) {
        let is_theirs = match what {
            What::Events(events) => {
                let (theirs, others): (Vec<_>, Vec<_>) =
                    events.iter().cloned().partition(|event| self.is_named(event));
                let some = |events: Vec<_>| (!events.is_empty()).then_some(What::Events(events));
                return (some(others), some(theirs));
            }
            What::Customer(tenant, customer, ..) => self.is(tenant, customer),
            What::Define(definition) => self.is(definition.tenant, ""),
            What::Read(tenant, _) => self.is(tenant, ""),
        };
        match is_theirs {
            true => (None, Some(what.clone())),
            false => (Some(what.clone()), None),
        }
    }

    /// True if a command says something of the victim.
    pub(super) fn names(&self, what: &What) -> bool {
        self.split(what).1.is_some()
    }
}

/// True if a command is sent once the erasure is done.
pub(super) fn is_later(sent: &Sent) -> bool {
    sent.number >= LATER
}

/// How far the erasure has come, as readers may know.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Erasing {
    pub(super) victim: Option<Victim>,
    /// When the first attempt began.
    pub(super) from: Option<i64>,
    /// When the last one was done.
    pub(super) gone_at: Option<i64>,
}

impl Erasing {
    /// True if a customer is being erased, or was while a reader was at work who began at this instant.
    pub(super) fn hides(&self, tenant: &str, customer: &str, begin: i64) -> bool {
        self.victim.is_some_and(|victim| victim.is(tenant, customer))
            && self.from.is_some()
            && self.gone_at.is_none_or(|gone_at| begin <= gone_at)
    }

    /// True if alerts are sent to a bus.
    pub(super) fn is_telling(&self) -> bool {
        self.victim.is_some_and(|victim| victim.is_telling)
    }

    /// The commands without those that an erasure takes back.
    pub(super) fn living<'a>(&self, history: &'a [Sent]) -> Cow<'a, [Sent]> {
        let Some(victim) = self.victim.filter(|_| self.from.is_some()) else {
            return Cow::Borrowed(history);
        };
        let lives = |sent: &&Sent| is_later(sent) || !victim.names(&sent.what);
        Cow::Owned(history.iter().filter(lives).cloned().collect())
    }
}

/// The commands of a seed. Those of the victim after the erasure are apart from those of others.
fn history_around_an_erasure(seed: u64) -> Vec<Sent> {
    let (victim, mut random) = (Victim::of(seed), Rng::with_seed(seed ^ 0x1EA5_7E4B));
    let (mut all, mut later) = (Vec::new(), Vec::new());
    for sent in history(seed) {
        let (others, theirs) = victim.split(&sent.what);
        let is_before = sent.copies.iter().all(|at| *at < victim.since);
        // What was sent before is sent again in one of two cases.
        if !is_before || random.bool() {
            let number = LATER + sent.number;
            later.extend(theirs.map(|what| Sent { number, what, ..sent.clone() }));
        }
        match is_before {
            true => all.push(sent),
            false => all.extend(others.map(|what| Sent { what, ..sent })),
        }
    }
    all.extend(later.into_iter().filter(|_| victim.comes_back));
    all
}

#[test]
fn nothing_is_left_of_erased_customers_and_all_else_equals_a_recount() {
    let run = |seed, history: &[Sent]| run::with(seed, history, Some(Victim::of(seed)));
    Model { seeds: 0..20, history: history_around_an_erasure, run }.check();
}

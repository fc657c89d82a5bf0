//! Tenants: payloads of their customers, rules, scores and alerts.
//!
//! ```text
//! command      customer.updated, rule.defined, rule.deleted, score.defined, score.deleted, alerts.read
//! rule         when an alert is given
//! score        a number from 0 to 100, computed when it is read
//! definitions  the rules and scores of a tenant; last write wins
//! customers    payloads of customers
//! keys         keys in the ledger
//! alerts       claims and lists of alerts, and their read marks
//! deciding     the alerts that follow from the counts of a customer
//!   given      the alerts of a definition about a customer, as a set of days
//! alert_writer puts alerts and sends them to the bus
//! daily/       rules and scores that are decided once for each UTC day
//! ```
//!
//! # Each alert once
//!
//! The id of an alert is a digest of the tenant, the rule with its whole definition, the customer and the period. Its *claim* is put under
//! that id if there is none, and fixes the instant of the decision. The row in the tenant's list is put at the instant of the claim, if
//! there is none. So a repeated decision, after a crash or concurrently, puts the same row or none, and a read mark stays.
//!
//! # None follows from what was erased
//!
//! Decisions, alerts and claims have the *life* of the customer's view that they follow from, which
//! ends when an erasure empties the view ([`Rules`]). Counting decisions are refused once it has
//! ended. Daily decisions are made by the period keeper, whose lease the erasure waits for after it
//! has emptied the views. Then it deletes what is of an ended life. So it ends after one scan, and
//! deletes nothing that follows from events that were sent meanwhile.
//!
//! # None is missed
//!
//! Counts are decided on two sides, and each writes before it reads:
//!
//! 1. the history projector writes the view of a customer, then reads the tenant's rules, strongly consistent, and decides;
//! 2. the writer writes a rule, then reads the views of the tenant's customers, strongly consistent, and decides for each.
//!
//! A rule that has decided on all customers says so in its row, so a command that is repeated costs two reads, however many customers there are.
//!
//! Either the view or the rule is written last, and its writer sees the other. A failed decision
//! causes a retry of its change or its command. Earlier decisions are stored for each customer and
//! rule as a set of periods ([`deciding`](Rules)), which is written with the alerts.
//!
//! # What is listed depends on the commands alone
//!
//! Counts only grow, so a count that was reached in a period stays reached. An alert has the count of its rule, not the number of events at
//! the time of the decision. A definition is its instant and its text. Of two with the same instant the text that is greater byte by byte
//! wins, so every order of arrival has the same result. The list shows the alerts of definitions in force. Alerts that are decided by
//! day state what was true when they were decided: they stay listed after a change of their definitions.
//!
//! # What bounds it
//!
//! A tenant has at most [`MOST_RULES`] rules and [`MOST_SCORES`] scores that are not deleted, and [`MOST_IDS`] ids of each sort that were ever used:
//! deleted ones stay on record, because an older definition may arrive at any time. Writers read before they write, so concurrent
//! definitions may exceed these limits by their number. A stored set of periods takes a bit for each.

mod alert_writer;
mod alerts;
mod awarded;
mod command;
mod customers;
mod daily;
mod deciding;
mod definitions;
pub mod keys;
mod rule;
mod score;

pub use alert_writer::DecideError;
pub use alerts::{Alert, AlertSource, AlertWhen, Alerts};
pub use awarded::sending_until;
pub use command::{AlertsRead, CustomerUpdated, MOST_READ, RuleChange, ScoreChange};
pub use customers::{CustomerPayload, Customers};
pub use daily::{
    Daily, DailyDefinition, DailyProgress, Decisions, DueDay, MOST_DAYS, due, last_due,
};
pub use deciding::{Decided, Rules};
pub use definitions::{
    DefinitionChange, Definitions, InForce, MOST_IDS, MOST_RULES, MOST_SCORES, RuleDefinition,
    ScoreDefinition, TooManyDefinitions,
};
pub use keys::TenantItem;
pub use rule::{CountRule, When, Within};
pub use score::{Measure, Score};

/// The attribute of alerts, claims and decisions with the life of the customer's view that they
/// follow from.
pub const LIFE: &str = "life";

//! What tenants say of their customers and want to be told: payloads, rules, scores, alerts.
//!
//! ```text
//! command      customer.updated, rule.defined, rule.deleted, score.defined, score.deleted, alerts.read
//! rule         when an alert is given
//! score        a number from 0 to 100, computed when it is read
//! definitions  the rules and scores of a tenant; the latest wins
//! customers    payloads of customers
//! keys         where all of this is in the ledger
//! alerts       claims and lists of alerts; which of them were read
//! deciding     which alerts the counts of a customer give
//!   given      what a definition has given about one, as a set of days
//! raising      given, and told to the bus
//! daily/       what is decided once for each UTC day
//! ```
//!
//! # Each alert once
//!
//! An alert has an id that is a digest of what it is about: the tenant, the rule with all of its definition, the customer and the period. Its *claim* is
//! put under that id where nothing is, and fixes when it was decided. The row in the tenant's list is put at the instant of the claim, where
//! nothing is. So whoever decides the same again, after a death or beside another, puts the same row or none, and what was
//! marked as read stays so.
//!
//! # None is missed
//!
//! Two sides decide on counts, and each writes before it looks:
//!
//! 1. the projector writes the view of a customer, then reads the tenant's rules, strongly consistent, and decides;
//! 2. the writer writes a rule, then reads the views of the tenant's customers, strongly consistent, and decides for each.
//!
//! A rule that has decided on all customers says so in its row, so a command that is repeated costs two reads, however many customers there are.
//!
//! Of a view and a rule one is written last, and whoever writes that one sees the other. A decision that fails makes its change or its command
//! come again. What was decided before is remembered for each customer and rule as a set of periods ([`deciding`](Rules)),
//! which is written after the rows; where that is lost, the claims are put again and change nothing.
//!
//! # What is listed depends on the commands alone
//!
//! Counts only grow, so a period whose count was reached stays so, and the alert says the count of its rule and not how many events there were when
//! somebody looked. A definition is its instant and its text; of two with one instant the text that is greater byte by byte
//! wins, so every order of arrival ends with one. The list shows the alerts of definitions in force. Alerts that are decided by day are facts of
//! their own, which say what was so when it was looked at: they stay listed whatever becomes of their definitions.
//!
//! # What bounds it
//!
//! A tenant has at most [`MOST_RULES`] rules and [`MOST_SCORES`] scores that are not deleted, and [`MOST_IDS`] ids of each sort that were ever used:
//! deleted ones stay on record, because an older definition may arrive at any time. Writers look before they write, so as many definitions
//! as are applied at the same moment may go beyond. A remembered set of periods takes a bit for each.

mod alerts;
mod command;
mod customers;
mod daily;
mod deciding;
mod definitions;
mod given;
pub mod keys;
mod raising;
mod rule;
mod score;

pub use alerts::{Alert, AlertSource, AlertWhen, Alerts};
pub use command::{AlertsRead, CustomerUpdated, MOST_READ, RuleChange, ScoreChange};
pub use customers::{CustomerPayload, Customers};
pub use daily::{
    Daily, DailyDefinition, DailyProgress, Decisions, DueDay, MOST_DAYS, due, last_due,
};
pub use deciding::Rules;
pub use definitions::{
    Change, Definitions, InForce, MOST_IDS, MOST_RULES, MOST_SCORES, RuleDefinition,
    ScoreDefinition, TooManyDefinitions,
};
pub use keys::TenantItem;
pub use raising::DecideError;
pub use rule::{CountRule, When, Within};
pub use score::{Measure, Score};

//! What the functions of Nagare have in common: two products on one platform.
//!
//! ```text
//! platform       the base of both
//! social         timelines, likes, notifications, polls, battles, tags, rooms, profiles
//! history        events, summaries, rules, scores, alerts
//!
//! command        the commands there are                the lists of what the features declare
//! ledger_item    the items there are in the ledger
//! stored         all kinds of stored items, as their features declare them
//! ```
//!
//! `social` and `history` do not see each other, and `platform` sees neither. The lists see all three, and no wing sees a list.
//!
//! This crate knows DynamoDB, and of SQS how to send. It does not know how messages arrive, HTTP or the
//! Lambda runtime: those belong to the functions, which never import each other.

pub mod command;
pub mod history;
pub mod ledger_item;
pub mod platform;
pub mod social;
pub mod stored;

/// For [`log_subject`], wherever it is used.
#[doc(hidden)]
pub use tracing;

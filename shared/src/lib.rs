//! What the functions of Nagare have in common.
//!
//! ```text
//! values         what cannot be invalid: ids, instants, payloads, sort keys, retention
//! crypto         seals and digests
//! runtime        clock, retries, environment, logs, metrics
//! dynamo         how DynamoDB is called, and how fast: it knows no domain
//! signed         signed calls of services that have no SDK here
//! objects        how S3 is called
//! queue          sending to a queue, and answering for a batch of messages
//! outbound       what other systems are told of, by a bus
//! ledger         the table of what must not be lost, and its keys
//! register       something that is so or is not: of its commands the latest wins
//! message        how the body of a command is read and written
//! facts          the table of what views are folded from
//! projection     views: folded exactly once, however often a change comes
//! paging         lists in the order of time: cursors, and what clients have seen
//!
//! activities     what actors publish                   each with its commands, its rules, its keys and
//! follows        who follows whom                      its part of the ledger
//! timelines      entries, written and read
//! fanout         why every race ends right; how far long work has come
//! receipts       which commands of a producer are done
//! dead_letters   commands that gave up
//! profiles       what people say of themselves
//! likes          who likes what, and how many do
//! notifications  what actors are told of likes
//! polls          what viewers vote on, and the sums
//! battles        what viewers hit together, and who hit last
//! tags           who is in what an actor published
//! rooms          what people say to each other, and who may read it
//! events         what the customers of tenants do: tables by period, archives
//! summaries      how often they did it, by customer, name and day
//! tenants        payloads of customers; rules, scores, alerts
//! refusals       what cannot be applied, counted by day
//!
//! command        the commands there are                the lists of what the features declare
//! ledger_item    the items there are in the ledger
//! bounds         all kinds of stored items, and how large they become
//! ```
//!
//! A feature sees what is above it. Only `timelines`, `fanout`, `notifications`, `summaries`, `tenants` and `refusals` see other features, and no two see
//! each other in a circle.
//!
//! This crate knows DynamoDB, and of SQS how to send. It does not know how messages arrive, HTTP or the
//! Lambda runtime: those belong to the functions, which never import each other.

pub mod activities;
pub mod battles;
pub mod bounds;
pub mod command;
pub mod crypto;
pub mod dead_letters;
pub mod dynamo;
pub mod events;
pub mod facts;
pub mod fanout;
pub mod follows;
pub mod ledger;
pub mod ledger_item;
pub mod likes;
pub mod message;
pub mod notifications;
pub mod objects;
pub mod outbound;
pub mod paging;
pub mod polls;
pub mod profiles;
pub mod projection;
pub mod queue;
pub mod receipts;
pub mod refusals;
pub mod register;
pub mod rooms;
pub mod runtime;
pub mod signed;
pub mod summaries;
pub mod tags;
pub mod tenants;
pub mod timelines;
pub mod values;

/// For [`log_subject`], wherever it is used.
#[doc(hidden)]
pub use tracing;

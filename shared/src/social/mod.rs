//! The social backend: what people publish, follow, like, vote on, hit, tag and say.
//!
//! ```text
//! activities     what actors publish                   each with its commands, its rules, its keys and
//! follows        who follows whom                      its part of the ledger
//! timelines      entries, written and read
//! fanout         why every race ends right; how far long work has come
//! profiles       what people say of themselves
//! likes          who likes what, and how many do
//! notifications  what actors are told of likes
//! polls          what viewers vote on, and the sums
//! battles        what viewers hit together, and who hit last
//! tags           who is in what an actor published
//! rooms          what people say to each other, and who may read it
//! ```
//!
//! Only `timelines`, `fanout` and `notifications` see other features, and no two see each other in a circle.

pub mod activities;
pub mod battles;
pub mod fanout;
pub mod follows;
pub mod likes;
pub mod notifications;
pub mod polls;
pub mod profiles;
pub mod rooms;
pub mod tags;
pub mod timelines;

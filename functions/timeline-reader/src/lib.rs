//! The timeline reader: the social routes of the HTTP API (docs/openapi.yaml).
//!
//! ```text
//! reader        the state that every invocation borrows
//! router        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   page/       pages of activities
//!   timeline    a page of one viewer's timeline
//!   idle_viewer completes the timeline of an idle viewer who returns
//!   activity    one activity
//!   actor       a page of what an actor published
//!   likes/      what a viewer likes; how many like an activity
//!   follows/    whom a viewer follows; who follows an actor
//!   poll        a poll
//!   battle/     a battle; a hit
//!   profile     a profile
//!   tags        who is tagged in an activity
//!   tagged      what somebody is tagged in
//!   room/       the messages of a room
//!   log         the log lines of requests
//! ```
//!
//! The library `function-http` has the part that it shares with the reader of history, from callers to pages.
//!
//! The cost of a page does not grow with the number of follows: an ordinary page is one Query for the entries, a parallel
//! BatchGetItem for who is hidden and what has changed, and at most one for the activities that are not cached.

mod activity;
mod actor;
mod battle;
pub mod env;
mod follows;
mod idle_viewer;
mod likes;
mod log;
mod notifications;
mod page;
mod poll;
mod profile;
mod reader;
mod room;
mod router;
mod tagged;
mod tags;
mod timeline;

pub use function_http::reader::PATIENCE;
pub use reader::Reader;
pub use router::ROUTES;

//! The functions, each called with the events that AWS would send, over the embedded tables and
//! queues.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod alerter;
mod alerter_dies;
mod answers;
mod arena_units;
mod audit_battles;
mod audit_likes;
mod audit_polls;
mod battles;
mod cost;
mod event_source;
mod forgetting;
mod forgetting_views;
mod hidden;
mod leaving;
mod likes;
mod metrics;
mod newer;
mod notifications;
mod pages;
mod patience;
mod payloads;
mod polls;
mod profiles;
mod projecting;
mod queue_calls;
mod reader;
mod redaction;
mod redrive;
mod request_logs;
mod split;
mod stream_source;
mod unfoldable;
mod units;
mod writer;

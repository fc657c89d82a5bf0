//! Events, archives, summaries, rules, alerts and refusals.

pub(crate) mod daily;
pub(crate) mod events;
pub(crate) mod intake;
pub(crate) mod keeper;
pub(crate) mod refusals;
pub(crate) mod rules;
pub(crate) mod summaries;
pub(crate) mod switch;

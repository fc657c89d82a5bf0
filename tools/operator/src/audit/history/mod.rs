//! Audits of the event history.

mod events;
mod recount;
pub(crate) mod summaries;

pub use events::{EventDifference, EventFault, EventsAuditor};
pub use summaries::{SummariesAuditor, SummaryDifference, SummaryFault};

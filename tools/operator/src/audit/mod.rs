//! Audits: comparing derived items with their sources, and repairing them.
//!
//! ```text
//! social    timelines, pages and lists with the ledger; views with the facts that they are folded from
//! history   events with what counts them; summaries of tenants with their events
//! ```

pub(crate) mod history;
pub(crate) mod social;

pub use history::{
    EventDifference, EventFault, EventsAuditor, SummariesAuditor, SummaryDifference, SummaryFault,
};
pub use social::{
    AuditError, Auditor, BattleDifference, Difference, Folded, FollowingDifference,
    InboxDifference, Kind, LikedAuditor, LikedDifference, LikesDifference, PageDifference,
    PagesAuditor, PollDifference, RoomDifference, RoomsAuditor, Sample, TagDifference, TagsAuditor,
    ViewsAuditor,
};

/// The result of an audit.
#[derive(Debug)]
pub struct Found<D, I> {
    pub differences: Vec<D>,
    /// How many of these are repaired.
    pub mended: usize,
    /// Items that kept changing, so that they could not be compared.
    pub busy: Vec<I>,
}

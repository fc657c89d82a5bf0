//! The keeper of periods: makes their tables, seals, archives and drops them.
//!
//! ```text
//! keeper        the state that every tick borrows
//! tick          every quarter of an hour: everything that is due and fits the deadline
//!   steps/
//!     table     makes, seals and drops it
//!     archive   puts its events into objects, with a manifest
//!     verify    reads the objects back
//!     expire    deletes the objects
//!     stream    maps its stream to the history projector, compares, and unmaps it
//!     outcome   the result of a step
//!     capacity  provisions the table of the current period
//!   ticked      the result of a tick
//!   error       the reasons for which a step is not done
//!   mappings    the calls of Lambda
//!   cloud_watch the call of CloudWatch
//!   service     errors of both
//!   daily       daily decisions of tenants
//!   metrics     the metrics of a tick
//! ```
//!
//! [`shared::history::events::schedule`] decides what is due. Each step may die anywhere, be repeated, and run in two keepers at once: it does
//! idempotent work, and then updates the row of the period, or of its progress, under the version that it has read.
//!
//! # Why no event is lost
//!
//! An event that was accepted is at every moment in its table, or in an archive that was read back:
//!
//! 1. *A table that takes events is ours.* It is made before the row says so, and the row has its ARN and its instant. An existing
//!    table is only used if it is what would have been made.
//! 2. *The archive has every put.* Writers refuse late events by their clocks, an hour before the table is sealed; then its policy
//!    denies puts. Only after that it is scanned, consistently.
//! 3. *All keepers make the same chunk.* Its end is noted before its first object is put, and only over the version that was read. So
//!    two keepers, or a crashed keeper and its successor, put the same bytes under the same key, and the progress after a chunk is
//!    written after all its objects and their rows. It adds to the tally what was scanned, once.
//! 4. *An archive is what was scanned.* Every object with a row is read back from the bucket. The digests of the objects, and the number
//!    and the sum of the digests of their lines, have to be those of the scan. Any difference is a dispute.
//! 5. *A table is only dropped if three witnesses agree.* Before the row says `verified`, no call deletes a table. Then the table has to
//!    have the ARN and instant in the row, and as many items as the archive has events; and its stream has to have brought the history projector
//!    as many, with the same sum of digests. The drop is noted before it begins. A table that is gone without such a note is a dispute,
//!    not a drop.
//!
//! A dispute stops everything for that period, and its table stays protected against deletion. One kind heals: if only the stream
//! differs, each tick compares again. Missing events may come as a dead letter that is sent again, or by a replay.
//!
//! # Why the stream brings everything
//!
//! The stream of a table is mapped to the history projector before the row says `made`, and nothing is put before that. Lambda begins with the
//! oldest change, so it may begin later, within the day that a stream keeps changes. It is unmapped once it has brought everything in
//! the archive, which is then final. A mapping need not be noted before it is made: Lambda allows at most one of a stream to a function,
//! and lists it (`mappings`). A keeper that was frozen may make a mapping that another has just deleted: it brings nothing that was not
//! folded, and is deleted before the table is dropped.
//!
//! The table is dropped a day after its last change at the earliest: by then the stream is empty, and the number of items is final.
//!
//! # Erasures
//!
//! The erasure of a tenant or a customer marks the row of a period, and waits for keepers that may not have seen the mark
//! ([`Keepers`](shared::history::events::Keepers)).
//! Keepers leave a marked period alone.
//!
//! # Bounds
//!
//! It has four chunks of a table, or one object, in memory: 64 MiB each, and their compressed form. Before that, days are decided on
//! pages of a hundred customers, of four tenants at once, in half of the time. Rows of periods are read as a whole: a hundred bytes each,
//! except for periods with customers that are spread.

mod cloud_watch;
mod daily;
pub mod env;
mod error;
mod keeper;
mod mappings;
mod metrics;
mod service;
mod steps;
mod tick;
mod ticked;

pub use cloud_watch::CloudWatch;
pub use error::KeeperError;
pub use keeper::{Keeper, KeeperLimits};
pub use mappings::{MappingRequest, MappingRequestError, Mappings};
pub use metrics::metric_names;
pub use service::ServiceError;
pub use ticked::Ticked;

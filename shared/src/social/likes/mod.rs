//! Likes: who likes which activity, and how many do.
//!
//! ```text
//! commands   like.created, like.deleted
//! facts      one row for a viewer and an activity: the latest command wins
//! ledger     a list of what each viewer likes, in the order of time
//! view       one item for an activity: how many like it
//! ```
//!
//! # Partitions
//!
//! The partition key of a row is the viewer. So the likes of one activity, however many come in a second, are spread over all
//! partitions of the table from the first one on, and no popular activity needs special treatment. A viewer's likes are also listed
//! in order ([`list`]). The price: finding who likes an activity takes a scan of all rows, which only operators do.
//!
//! A like or an undo costs two write units, for its row and its entry in the list. Folding costs one more for each batch of changes,
//! whether it has one like of the activity or thousands. It costs four if the actor is notified, because the actor's inbox is then
//! written together with the count (see [`crate::social::notifications`]).
//!
//! # What counts
//!
//! The view counts every row that says *liked*, whether the activity is published, deleted or unknown. Counts are only shown with an
//! activity that exists. So likes may come before their publish, and need no cleanup after a delete.

mod command;
mod count;
mod count_cache;
pub mod keys;
pub mod list;
mod state;
mod store;

pub use command::LikeChange;
pub use count::{LikeCount, LikeCounts};
pub use count_cache::{KEPT_FOR, LikeCountCache};
pub use list::LikeList;
pub use state::{LikeSummary, RecordedLike};
pub use store::{Like, Likes, ROWS_AT_ONCE};

//! Likes: who likes which activity, and how many do.
//!
//! ```text
//! commands   like.created, like.deleted
//! facts      one row for a viewer and an activity: the latest command wins
//! ledger     a list of what each viewer likes, in the order of time
//! view       one item for an activity: how many like it
//! ```
//!
//! # Where rows are
//!
//! Under the viewer. So the likes of one activity, however many come in a second, are spread over as many
//! partitions as the table has, from the first one on. What a viewer likes is listed beside ([`list`]). Nobody has to be
//! told how popular an activity is. The price: who likes an activity is known by looking at all rows, which
//! operators do and no request.
//!
//! A like is two write units, its row and its entry in the list, and an undo as many. Folding costs one more for each batch of changes, whether it
//! holds one like of the activity or thousands. It costs four where the actor is notified: then the actor's inbox is
//! written together with the count (see [`crate::notifications`]).
//!
//! # What counts
//!
//! The view counts every row that says *liked*, whether the activity is published, deleted or unknown: those who
//! show a count show it beside an activity that is there. So likes may come before their publish, and go with
//! their activity, and nothing has to be done about either.

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
pub use state::{LikeState, LikeSummary, Recorded};
pub use store::{Like, Likes, ROWS_AT_ONCE};

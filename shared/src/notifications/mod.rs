//! Notifications: what an actor is told of the likes of their activities.
//!
//! ```text
//! command   notifications.read
//! facts     how far a viewer has read the notifications of an activity                mark
//! views     one for an activity: how many like it, which likes are unread             likes
//!           one for a viewer: how many likes are unread, what changed last            inbox
//!           items of that viewer for what was read, and for what the inbox has no room for
//! page      what a viewer reads
//! marking   what a mark means
//! ```
//!
//! # What is folded
//!
//! Three kinds of facts are about one activity, and are folded into its one view: that a viewer likes it or no
//! longer does ([`crate::likes`]), that it was published or deleted ([`crate::activities::owner`]), and that its actor
//! has read so far ([`Mark`]). Everything else follows from how that view changes ([`ActivityLikes`]): the inbox gets
//! the difference, in the same transaction, so it needs no memory of its own of what it has seen.
//!
//! The likes that an actor is notified of are numbered in the order in which the view takes them in. What is read is
//! a number, then: the likes up to it are read, those behind it are not, and the mark that says so may come any
//! number of times, late, or beside others. The greatest counts.
//!
//! The first like of a viewer is known by its row: `first_liked_at` is set once and moves only to what is
//! earlier, whatever is undone and done again.
//!
//! # Who is the actor?
//!
//! An activity that nobody likes has no view, so publishing it writes the fact alone. The first like
//! looks up who the actor is. If the activity is not published, likes are counted and wait; so what is folded
//! last must see the other. The one who folds a like looks for the fact *after* the view is written, and the one who
//! folds the fact looks for the view *after* the fact is written: at least one of them finds the other's.
//!
//! Likes that waited may include the actor's own, which is no news. Whether it was counted is known if it is there by
//! name, or if nobody is there without a name. Else one like is taken out for it, and put back if the actor's own
//! comes and shows that it had not been counted: meanwhile the actor is told of one like less than there are.
//!
//! # Units
//!
//! A like that somebody is notified of: one unit for its row, two each for the view and the inbox, in a transaction.
//! Thousands of likes in one batch: one unit each, and the same four. A like that nobody is notified of, and an undo:
//! one for the row, one for the view. Where a viewer has more unread notifications than the inbox has room for (some
//! twenty), one of them moves to an item of its own for two units more.

mod command;
mod group;
mod id;
mod inbox;
pub mod keys;
mod likes;
mod mark;
mod marking;
mod page;
mod read;
mod store;

pub use command::{MarkRead, Marked, ReadThrough};
pub use group::{LikeGroup, Liker, NAMED, Unread};
pub use id::NotificationId;
pub use inbox::{Inbox, Listed, Listing};
pub use likes::{ActivityLikes, Numbers};
pub use mark::{Mark, Marks};
pub use page::{After, Notification, NotificationPage, NotificationsQuery};
pub use read::ReadNotification;
pub use store::Notifications;

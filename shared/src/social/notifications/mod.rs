//! Notifications: an actor is notified of the likes of their activities.
//!
//! ```text
//! command   notifications.read
//! facts     how far a viewer has read the notifications of an activity                mark
//! views     one for an activity: how many like it, which likes are unread             likes
//!           one for a viewer: how many likes are unread, what changed last            inbox
//!           items of that viewer for read notifications, and for those beyond the inbox
//! page      pages of notifications
//! marking   resolves marks
//! ```
//!
//! # What is folded
//!
//! Three kinds of facts are about one activity, and are folded into its one view: that a viewer likes it or no
//! longer does ([`crate::social::likes`]), that it was published or deleted ([`crate::social::activities::owner`]), and that its actor
//! has read so far ([`Mark`]). The change of that view determines everything else ([`ActivityLikes`]): the inbox gets
//! the difference in the same transaction, so it needs no marks of its own.
//!
//! The likes that an actor is notified of are numbered in the order in which the view counts them. So a mark is a number: the likes
//! up to it are read. Marks are idempotent and order-independent, because the greatest counts.
//!
//! The row of a viewer tells the first like: `first_liked_at` is set once and only moves to an earlier instant, whatever is undone
//! and done again.
//!
//! # Who is the actor?
//!
//! An activity that nobody likes has no view, so publishing it only writes the fact. The first like looks up the actor. If the
//! activity is not published, likes are counted and wait, so whichever is folded last must see the other. The fold of a like reads
//! the fact *after* the view is written, and the fold of the fact reads the view *after* the fact is written, so at least one of
//! them finds the other.
//!
//! Likes that waited may include the actor's own, which is not notified. Whether it was counted is known if it is listed by name, or
//! if all likes are. Otherwise one like is subtracted for it, and added back if the actor's own like comes later and so had not been
//! counted. Until then the actor is notified of one like too few.
//!
//! # Units
//!
//! A like with a notification costs one unit for its row, and two each for the view and the inbox, in a transaction. Thousands of
//! likes in one batch cost one unit each, and the same four. A like without notification, and an undo, cost one for the row and one
//! for the view. If a viewer has more unread notifications than the inbox has room for (about twenty), one of them moves to an item
//! of its own for two more units.

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
pub use inbox::{Inbox, LikesListing, UnreadNotification};
pub use likes::{ActivityLikes, Numbers};
pub use mark::{Mark, Marks};
pub use page::{After, Carried, Notification, NotificationPage, NotificationsQuery};
pub use read::ReadNotification;
pub use store::Notifications;

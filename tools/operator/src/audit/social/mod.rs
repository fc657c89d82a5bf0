//! Audits of the social backend.

mod battles;
mod inboxes;
mod liked;
mod likes;
mod pages;
mod polls;
mod reads;
mod rooms;
mod sample;
mod tags;
mod timelines;
mod views;

pub use battles::BattleDifference;
pub use inboxes::InboxDifference;
pub use liked::{LikedAuditor, LikedDifference};
pub use likes::LikesDifference;
pub use pages::{PageDifference, PagesAuditor};
pub use polls::PollDifference;
pub(crate) use reads::{delete_unaccounted, followees, stored_entries};
pub use rooms::{RoomDifference, RoomsAuditor};
pub use sample::Sample;
pub use tags::{TagDifference, TagsAuditor};
pub use timelines::{Auditor, Difference, FollowingDifference, Kind};
pub(crate) use views::projected;
pub use views::{AuditError, Folded, ViewsAuditor};

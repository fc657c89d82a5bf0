//! Tags: people who are tagged in activities.
//!
//! ```text
//! command    tag.created, tag.deleted
//! keys       the keys of tags in the ledger
//! store      who is tagged in an activity
//! listing    what somebody is tagged in, in the order of a timeline
//! repair     repairs listings for audits
//! progress   the progress of a publish with earlier tags
//! ```
//!
//! # Two rows
//!
//! A *tag* is a row in the partition of the activity. It is the truth: its state is that of the command that won. A tag only names an
//! activity, so it may come before the publish, when the actor and the instant are still unknown. A *listing* is a row in the partition
//! of the person, with the sort key that the activity has in every timeline. With listings, what somebody is tagged in is one query, in
//! order, from any position, whoever published it. A listing is derived from the tag and from the claim on the activity's id, and has
//! the state of the tag and the actor of the claim.
//!
//! # Why every race ends right
//!
//! A command that tags, or claims an activity, first writes that and then reads the other, strongly consistent:
//!
//! * a *tag* or untag writes the tag, then reads the claim. If there is one, it writes the listing with the current state of the tag;
//! * a *publish* writes the claim, then reads all tags of the activity, and writes the listing of each.
//!
//! 1. *Tag against publish.* The second writer sees what the first has written, so the listing is written after both are on record. If
//!    both write it, they write the same.
//! 2. *Tag against untag.* Tags and listings are written under one condition: only over what is earlier, and on a tie
//!    the untag wins. Every state of a tag is written to the listing by its own command, or by a later publish. So the listing ends with
//!    the latest of them, which is the state of the tag. A state that was read a while ago and is written late loses.
//! 3. *An untag leaves a listing* with its state, even if there was none. Otherwise a publish that has read the tag before would write
//!    its listing afterwards. Writes are based on reads of the same invocation, which takes minutes, so this listing expires after three
//!    days. The row of the tag stays, because a tag that was sent before the untag may arrive at any time.
//! 4. *A repeated publish* claims the same instant for the same actor, or nothing. So an activity has one sort key, and a person has one
//!    listing of it.
//! 5. *A delete or an edit* of the activity changes neither row. Readers read the record of every activity that they show, so a deleted
//!    one disappears from `tagged` and from its own tags at once, and the record determines what is shown.
//! 6. *A delivery that crashed* between two writes is repeated. A publish with very many tags notes its [progress](Tags::note_listed), and
//!    hands on the rest. A tag that comes meanwhile, wherever it is in the order, finds the claim and writes the listing.
//! 7. *An erased person* is untagged everywhere, by the same two writes in the same order, and so is everybody in
//!    what they published. Before that the claims are marked, and nothing is listed by a claim that is read as
//!    marked after the tag.
//!
//! A tag of an activity that is never published costs one row.

mod command;
pub mod keys;
mod listing;
mod progress;
mod repair;
mod store;

pub use command::TagChange;
pub use keys::TagItem;
pub use listing::{Listing, read_listing};
pub use store::{Tag, TagPage, read_tag};

use crate::platform::ledger::Ledger;
use crate::platform::register::RegisterAttributes;

/// The attributes of the state of a tag and of a listing. The listing of an untag, or an erased one, only has the instant.
const STATE: RegisterAttributes = RegisterAttributes { on: "tagged", at: "at" };

/// The tags of a ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tags {
    ledger: Ledger,
}

impl Tags {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }
}

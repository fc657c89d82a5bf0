//! Tags: who is in what an actor published.
//!
//! ```text
//! command    tag.created, tag.deleted
//! state      which of them wins, whatever order they arrive in
//! keys       where tags are in the ledger
//! store      who is tagged in an activity
//! listing    what somebody is tagged in, in the order of a timeline
//! repair     listings as an audit looks at them
//! progress   how far a publish has come with the tags that were there before it
//! ```
//!
//! # Two rows
//!
//! A *tag* is a row under the activity. It is the truth: its state is that of the command that won. A tag names an
//! activity and nothing else, so it may come before its publish, when nobody knows yet whose activity that is or of
//! when. A *listing* is a row under the person, at the sort key that the activity has in every timeline. It is there
//! so that what somebody is tagged in is one query, in order, from any position, whoever published it. It follows
//! from the tag and from the claim on the activity's id, and holds the state of the tag and the actor of the claim.
//!
//! # Why every race ends right
//!
//! Whoever states a tag, or claims an activity, first writes that and then reads the other, strongly consistent:
//!
//! * a *tag* or untag writes the tag, then reads the claim. If there is one, it writes the listing with the state
//!   that the tag has by then;
//! * a *publish* writes the claim, then reads all tags of the activity, and writes the listing of each.
//!
//! 1. *Tag against publish.* Whichever writes second sees what the other has written, so somebody writes the listing
//!    after both are on record. If both do, they write the same.
//! 2. *Tag against untag.* Tags and listings are written under one condition: only over what is earlier, and on a tie
//!    the untag wins. Every state that a tag was given is offered to the listing by its own command, or by a publish
//!    that comes later. So the listing ends with the latest of them, which is the state of the tag. One that was read
//!    from the tag a while ago, and is written late, loses against what is there.
//! 3. *An untag leaves a listing* that says so, even if there was none. Without it a publish that has read the tag
//!    before would write its listing after. Nothing is written from what was read longer ago than an invocation
//!    takes, which is minutes, so this listing expires after three days. The row of the tag
//!    stays: a tag that was sent before the untag may arrive at any time.
//! 4. *A publish sent again* claims the same instant for the same actor, or nothing. So an activity has one sort key, and
//!    a person one listing of it.
//! 5. *A delete or an edit* of the activity changes neither row. Readers ask for the record of every activity they
//!    show, so a deleted one is gone from `tagged` and from its own tags at once, and what is shown is what the record
//!    says.
//! 6. *A delivery that died* between two writes is delivered again and does the same again. A publish with very many
//!    tags notes up to whom it has come ([progress](Tags::note_listed)), and hands on the rest. Who is tagged
//!    meanwhile, wherever that is in the order, finds the claim and writes the listing.
//! 7. *An erased person* is untagged everywhere, by the same two writes in the same order, and so is everybody in
//!    what they published.
//!
//! A tag of an activity that never comes costs one row.

mod command;
pub mod keys;
mod listing;
mod progress;
mod repair;
mod state;
mod store;

pub use command::TagChange;
pub use keys::TagItem;
pub use listing::{Listing, read_listing};
pub use state::TagState;
pub use store::{Tag, TagPage, read_tag};

use crate::ledger::Ledger;

/// Who is tagged in what. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tags {
    ledger: Ledger,
}

impl Tags {
    /// The tags in this ledger.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }
}

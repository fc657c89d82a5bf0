//! What likes need of the tables, the queue and the functions.

use super::sizes::{self, Activity};
use super::work::{DAYS, Work, write_units};

/// Daily numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LikeRates {
    pub likes: f64,
    /// Likes that are undone.
    pub undos: f64,
    /// Changes of one activity that the projector folds at once: one where likes come now and then, hundreds in
    /// a storm.
    pub together: f64,
}

/// A month of likes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LikeMonth {
    /// New likes and undos.
    pub changes: f64,
    pub writing: Work,
    pub folding: Work,
    /// How often it is invoked for them, where nothing else shares its batch.
    pub folds: f64,
}

impl LikeRates {
    /// A month of such days.
    pub(super) fn month(&self, viewer: f64, activity: &Activity) -> LikeMonth {
        let (likes, undos) = (self.likes * DAYS, self.undos * DAYS);
        LikeMonth {
            changes: likes + undos,
            writing: like(viewer, activity) * likes + undo(viewer, activity) * undos,
            folding: fold_likes() * (likes / self.together)
                + fold_undos() * (undos / self.together)
                + counted_part() * (likes + undos),
            folds: (likes + undos) / self.together,
        }
    }
}

/// A new like, as the writer records it: its row, and its entry in the viewer's list.
pub fn like(viewer: f64, activity: &Activity) -> Work {
    let stored = sizes::like(viewer, activity) + sizes::liked(viewer, activity);
    Work { rounds: 1.0, ledger_bytes: stored + 2.0 * sizes::STORED, ..undo(viewer, activity) }
}

/// An undo: the same row is written again, and the entry is deleted.
pub fn undo(viewer: f64, activity: &Activity) -> Work {
    let entry = write_units(sizes::liked(viewer, activity));
    Work {
        writes: write_units(sizes::like(viewer, activity)) + entry,
        messages: 1.0,
        sends: 1.0,
        rounds: 2.0,
        ..Work::default()
    }
}

/// Likes of one activity that are folded at once, however many: its view and the inbox of its actor are read, and
/// written in a transaction, which takes twice the units.
pub fn fold_likes() -> Work {
    Work { writes: 4.0, reads: 2.0, rounds: 3.0, ..Work::default() }
}

/// The same for the first likes of an activity: who published it is looked up, and whether they like it themselves.
pub fn fold_first_likes() -> Work {
    fold_likes() + Work { reads: 2.0, rounds: 2.0, ..Work::default() }
}

/// A publish, or the delete of what nobody likes: the projector looks whether anybody does.
pub fn fold_publish() -> Work {
    Work { reads: 1.0, rounds: 1.0, ..Work::default() }
}

/// What the view counts of one person beyond those that it lists: noted once for each change, if an activity has more than 12 likes.
pub fn counted_part() -> Work {
    Work { writes: 1.0, ..Work::default() }
}

/// The same for undos, of which nobody is notified.
pub fn fold_undos() -> Work {
    Work { writes: 1.0, reads: 1.0, rounds: 2.0, ..Work::default() }
}

//! What votes and hits need of the tables, the queue and the functions. Lambda does not charge for reading the stream.

use super::sizes::{self, Hit, ID};
use super::work::{DAYS, Work, write_units};

/// Voters at once from whom on the view of a poll is written again.
const LISTED: f64 = 52.0;
const CHOICE: f64 = 8.0;
/// Bytes of a vote in the view of its poll (`shared::social::polls`).
const VOTE: f64 = 5.0;
/// Bytes of votes that a view holds before they become a block of their own.
const VOTES_IN_VIEW: f64 = 600.0;
/// Bytes of a viewer's share of a battle.
const SHARE: f64 = 120.0;
/// Bytes of the item that says as which one a hit has landed, without its ids.
const NUMBER: f64 = 40.0;
/// Bytes of the keys of a block, and of the names of its attributes.
const BLOCK: f64 = 80.0;

/// Daily numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArenaRates {
    pub votes: f64,
    /// Votes of one poll that the projector counts at once.
    pub votes_together: f64,
    pub hits: f64,
    /// Hits of one battle that land at once.
    pub hits_together: f64,
    /// Viewers in one battle.
    pub players: f64,
}

/// A month of votes and hits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ArenaMonth {
    pub votes: f64,
    pub hits: f64,
    pub writing: Work,
    pub folding: Work,
    /// How often it is invoked, where nothing else shares its batch.
    pub folds: f64,
}

impl ArenaRates {
    /// A month of such days.
    pub(super) fn month(&self, viewer: f64) -> ArenaMonth {
        let Self { votes_together, hits_together, players, .. } = *self;
        let (votes, hits) = (self.votes * DAYS, self.hits * DAYS);
        let each = Hit { battle: ID, id: ID, viewer };
        let (of_votes, of_hits) = (votes / votes_together, hits / hits_together);
        ArenaMonth {
            votes,
            hits,
            writing: vote(viewer, ID, CHOICE) * votes + hit(&each) * hits,
            folding: fold_votes(votes_together) * of_votes
                + fold_hits(hits_together, players, &each) * of_hits,
            folds: of_votes + of_hits,
        }
    }
}

/// A vote, as the writer records it: a row of its viewer, which has every vote of theirs in this poll.
pub fn vote(viewer: f64, poll: f64, choice: f64) -> Work {
    recorded(sizes::vote(viewer, poll, choice))
}

/// A hit, as the writer records it: a row of its own.
pub fn hit(hit: &Hit) -> Work {
    recorded(sizes::hit(hit))
}

fn recorded(row: f64) -> Work {
    Work {
        writes: write_units(row),
        messages: 1.0,
        sends: 1.0,
        rounds: 1.0,
        ledger_bytes: row + sizes::STORED,
        ..Work::default()
    }
}

/// N votes of one poll that are counted at once: its view is read and written, and what it counts of each voter beyond those that it
/// lists; if there are very many, it is written once more without them. Where the view is full its votes
/// become a block, and both are written in a transaction, which takes twice the units.
pub fn fold_votes(together: f64) -> Work {
    let before_full = (VOTES_IN_VIEW / (VOTE * together)).floor();
    // The share of folds that fill a block.
    let share = 1.0 / (before_full + 1.0);
    let block = BLOCK + (before_full + 1.0) * together * VOTE;
    let with_block = 2.0 * (1.0 + write_units(block));
    let again = f64::from(u8::from(together > LISTED));
    Work {
        writes: with_block * share + (1.0 - share) + together + again,
        reads: 1.0 + again,
        rounds: 2.0,
        ledger_bytes: together * VOTE,
        ..Work::default()
    }
}

/// N hits of one battle by some viewers that land at once: its view is read, and written with a block of the log in a
/// transaction. Then the last share of each viewer is read and the next one written, and an item for each hit; and the
/// view is read and written once more: all of it is told.
pub fn fold_hits(together: f64, players: f64, each: &Hit) -> Work {
    let viewers = together.min(players);
    let bytes = sizes::landed(each) * together;
    let number = NUMBER + each.battle + each.id + sizes::STORED;
    Work {
        writes: 2.0 * (1.0 + write_units(BLOCK + bytes)) + viewers + together + 1.0,
        reads: 2.0 + viewers,
        rounds: 5.0,
        ledger_bytes: bytes + viewers * (SHARE + sizes::STORED) + together * number,
        ..Work::default()
    }
}

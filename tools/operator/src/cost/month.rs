//! The requests of a month: counts, each with its row of `units.csv`.

use shared::history::events::PeriodLength;

use super::consumed::Consumed;
use super::counts::Counts;

/// Seconds of a round of calls to tables in the same region.
const ROUND: f64 = 0.005;
/// Bytes of a payload in the rows of the table.
pub const PAYLOAD: usize = 200;
/// Events of a message.
pub const EVENTS: f64 = 100.0;
pub(super) const KB: f64 = 1_024.0;

/// The settings of a bill.
#[derive(Debug, Clone, Copy)]
pub struct Assumed {
    pub payload_bytes: f64,
    /// Days that an activity stays in timelines.
    pub retention_days: f64,
    /// Months whose commands are stored.
    pub months: f64,
    pub event_bytes: f64,
    pub event_period: PeriodLength,
}

/// The requests of a month, each kind with its number and its row of the table.
#[derive(Default)]
pub(super) struct Requests(Vec<(f64, Consumed)>);

impl Requests {
    pub(super) fn of<const N: usize>(rows: [(f64, &str); N]) -> Self {
        Self(rows.map(|(number, request)| (number, Consumed::by(request))).into())
    }

    pub(super) fn sum(&self, column: impl Fn(&Consumed) -> f64) -> f64 {
        self.0.iter().map(|(number, each)| number * column(each)).sum()
    }

    pub(super) fn seconds(&self) -> f64 {
        self.sum(|each| each.rounds * ROUND + each.held_ms / 1_000.0)
    }
}

/// A month, as the functions see it.
pub(super) struct Month<'a> {
    pub(super) counts: &'a Counts,
    pub(super) assumed: &'a Assumed,
    /// The writer's work, except for entries and events.
    pub(super) commands: Requests,
    pub(super) entries: Requests,
    pub(super) events: Requests,
    pub(super) imported: Requests,
    pub(super) folds: Requests,
    pub(super) pages: Requests,
}

impl<'a> Month<'a> {
    pub(super) fn of(counts: &'a Counts, assumed: &'a Assumed) -> Self {
        let Counts { publishes, likes, votes, hits, messages, pages, .. } = *counts;
        let batches = counts.events / EVENTS;
        let more = (assumed.payload_bytes - PAYLOAD as f64) / KB;
        Self {
            counts,
            assumed,
            commands: Requests::of([
                (publishes, "activity.published"),
                (publishes * more, "a KB more in activity.published"),
                (counts.follows, "follow.created without entries"),
                (likes, "like.created of a liked activity"),
                (counts.tags, "tag.created"),
                (votes, "vote.cast by a new voter"),
                (hits, "battle.hit"),
                (messages, "message.posted"),
                (messages * more, "a KB more in message.posted"),
            ]),
            entries: Requests::of([
                (counts.entries, "an entry of activity.published"),
                (counts.backfilled, "an entry of follow.created"),
            ]),
            events: Requests::of([(batches, "a hundred events")]),
            imported: Requests::of([(counts.imported, "follow.created without activities")]),
            folds: Requests::of([
                (publishes, "activity.published folded"),
                (likes, "like.created of a liked activity folded"),
                (votes, "vote.cast by a new voter folded"),
                (hits, "battle.hit folded"),
                (batches, "a hundred events folded"),
            ]),
            pages: Requests::of([
                (pages, "a page with three new records"),
                (pages * more, "a KB more in a page"),
                (counts.pages_with_likes, "the likes of a page"),
                (counts.polls, "a poll"),
            ]),
        }
    }

    /// Messages of the command queue.
    pub(super) fn messages(&self) -> f64 {
        let Counts { publishes, follows, likes, tags, votes, hits, messages, events, .. } =
            self.counts;
        publishes + follows + likes + tags + votes + hits + messages + events / EVENTS
    }

    /// Invocations of the projector, if no change shares its batch.
    pub(super) fn invocations(&self) -> f64 {
        let Counts { publishes, likes, votes, hits, events, .. } = self.counts;
        publishes + likes + votes + hits + events / EVENTS
    }

    pub(super) fn requests(&self) -> f64 {
        self.counts.pages + self.counts.polls
    }

    /// A sum over all commands and folds whose rows remain.
    pub(super) fn kept(&self, bytes: fn(&Consumed) -> f64) -> f64 {
        let a_month = self.commands.sum(bytes) + self.folds.sum(bytes);
        a_month * self.assumed.months + self.imported.sum(bytes)
    }

    /// Write units of the tables of events.
    pub(super) fn event_writes(&self) -> f64 {
        self.events.sum(|each| each.writes) * (self.assumed.event_bytes / KB).ceil()
    }
}

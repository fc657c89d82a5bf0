//! A month of work: scaled from a graph and what its actors published, or from daily numbers.

use std::collections::{HashMap, HashSet};

use shared::social::likes::ROWS_AT_ONCE;

use super::answers::{self, Gzip};
use super::events::{EventMonth, EventRates};
use super::likes::{self, LikeMonth, LikeRates};
use super::polls_battles::{ArenaMonth, ArenaRates};
use super::rooms;
use super::sizes::{Activity, Edge, Message};
use super::work::{self, Audience, DAYS, Work};

/// The lengths of ids and kinds where no file gives them.
const TYPICAL: Activity = Activity { id: 24.0, actor: 12.0, kind: 5.0, payload: 0.0 };

/// Notes a month that a viewer counts as reading, with `IdleDays` of 30: one in a quarter of them.
const NOTES: f64 = 4.0;

/// What no file gives.
#[derive(Debug, Clone, Copy)]
pub struct Assumed {
    /// Pages that viewers ask for in a day.
    pub pages_per_day: f64,
    /// Polls in a day that find nothing new.
    pub polls_per_day: f64,
    /// Public pages in a day that reach the reader, because no cache answers them.
    pub shared_per_day: f64,
    /// The share of the pages that say how many like what is on them.
    pub share_with_likes: f64,
    /// Counts on such a page that its reader has not kept.
    pub counts_per_page: f64,
    /// Activities on a page. Without any, all pages are polls that find nothing new.
    pub activities_per_page: f64,
    /// Records of a full page that its reader has not kept (`nagare bench kept` measures them).
    pub records_per_page: f64,
    pub gzip: Gzip,
    /// Where viewers are parked: the share of followers who are.
    pub parked: Option<f64>,
    /// Bytes of a payload.
    pub payload: f64,
    /// Days that an activity stays in timelines.
    pub retention_days: f64,
    /// Months of activities, tags, likes, votes, hits and messages that are stored; none are dropped.
    pub ledger_months: f64,
    /// Tags of somebody in an activity in a day.
    pub tags_per_day: f64,
    pub likes: LikeRates,
    pub arena: ArenaRates,
    /// Messages in rooms, in a day.
    pub messages: f64,
    pub events: EventRates,
}

/// A month of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Month {
    /// Activities that are published.
    pub publishes: f64,
    /// Follows that are new.
    pub follows: f64,
    /// Pages that are read, and polls.
    pub pages: f64,
    /// Those of them that find nothing new.
    pub polls: f64,
    pub tags: f64,
    /// What the writer does for all of these, but for the tables of events.
    pub writing: Work,
    /// What the projector does for the publishes, the likes, the votes, the hits and the events.
    pub folding: Work,
    /// How often it is invoked, where nothing else shares its batch.
    pub folds: f64,
    /// Likes, and what of all this is done for them.
    pub likes: LikeMonth,
    /// Votes and hits, and what the projector does for them.
    pub arena: ArenaMonth,
    pub messages: f64,
    /// Events of tenants, and their tables and archives.
    pub events: EventMonth,
    /// What the reader does for the pages.
    pub reading: Work,
    /// Bytes that the reader compresses.
    pub compressed_bytes: f64,
    /// What importing the graph took, once.
    pub import: Work,
    /// Bytes of answers to viewers.
    pub answered_bytes: f64,
    /// The length of a viewer's id.
    pub subject: f64,
    /// Bytes that the timelines hold.
    pub timeline_bytes: f64,
    /// Bytes that the ledger, without its index, the facts, and the views of battles hold.
    pub ledger_bytes: f64,
    /// Bytes that its index holds.
    pub index_bytes: f64,
}

/// Daily numbers.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Entries that reach timelines.
    pub deliveries: f64,
    /// Followers that a publish reaches.
    pub followers: f64,
    /// New follows.
    pub follows: f64,
    /// Activities that a new follow brings in.
    pub backfill: f64,
}

/// Who follows whom, and what was published; read row by row.
#[derive(Debug, Default)]
pub struct Graph {
    audiences: HashMap<String, Audience>,
    viewers: HashSet<String>,
    /// Where viewers are parked: the share of followers who are.
    parked: Option<f64>,
    /// The work of recording the follows.
    pub import: Work,
    /// The work of all publishes so far, not scaled.
    pub published: Work,
    publishes: f64,
    lengths: Option<(Activity, f64)>,
    span: Option<(i64, i64)>,
}

impl Graph {
    #[must_use]
    pub fn parking(parked: Option<f64>) -> Self {
        Self { parked, ..Self::default() }
    }

    pub fn follow(&mut self, follower: &str, followee: &str) {
        let edge = Edge { follower: follower.len() as f64, followee: followee.len() as f64 };
        self.audiences.entry(followee.to_owned()).or_default().add(edge.follower);
        self.import += work::follow(&edge, 0.0, &TYPICAL);
        if self.parked.is_some() {
            self.viewers.insert(follower.to_owned());
        }
    }

    /// Adds a publish at a second. All follows have to be added before.
    pub fn publish(&mut self, actor: &str, second: i64, activity: Activity) {
        let audience = self.audiences.get(actor).copied().unwrap_or_default();
        let audience = Audience { parked: self.parked, ..audience };
        self.published += work::publish(&activity, &audience);
        self.publishes += 1.0;
        self.lengths.get_or_insert((activity, audience.mean()));
        let (first, last) = self.span.unwrap_or((second, second));
        self.span = Some((first.min(second), last.max(second)));
    }

    /// Days between the first publish and the last. None if they are in the same second.
    pub fn days(&self) -> Option<f64> {
        let (first, last) = self.span?;
        (last > first).then(|| (last - first) as f64 / 86_400.0)
    }

    /// A month of days that are as busy as those between the first publish and the last.
    pub fn month(&self, assumed: &Assumed) -> Option<Month> {
        let scale = DAYS / self.days()?;
        let (activity, viewer) = self.lengths?;
        let (work, publishes) = (self.published * scale, self.publishes * scale);
        let readers = self.viewers.len() as f64 * (1.0 - self.parked.unwrap_or(0.0));
        let made = (publishes, readers);
        Some(Month::of(work, self.import, &activity, viewer, made, assumed))
    }
}

impl Rates {
    /// A month of such days.
    pub fn month(&self, assumed: &Assumed) -> Month {
        let activity = Activity { payload: assumed.payload, ..TYPICAL };
        let viewer = activity.actor;
        let ids = self.followers * viewer;
        let audience = Audience { followers: self.followers, ids, parked: assumed.parked };
        let publishes = self.deliveries / self.followers * DAYS;
        let follows = self.follows * DAYS;
        let edge = Edge { follower: viewer, followee: activity.actor };
        let writing = work::publish(&activity, &audience) * publishes
            + work::follow(&edge, self.backfill, &activity) * follows;
        // As if each page of a day were of another viewer.
        let made = (publishes, assumed.pages_per_day);
        let month = Month::of(writing, Work::default(), &activity, viewer, made, assumed);
        Month { follows, ..month }
    }
}

impl Month {
    fn of(
        writing: Work,
        import: Work,
        activity: &Activity,
        viewer: f64,
        (publishes, readers): (f64, f64),
        assumed: &Assumed,
    ) -> Self {
        let shown = assumed.activities_per_page;
        let pages = (assumed.pages_per_day + assumed.shared_per_day + assumed.polls_per_day) * DAYS;
        let polls = if shown > 0.0 { assumed.polls_per_day * DAYS } else { pages };
        let full = pages - polls;
        // There is one more beyond the page.
        let entries = shown + 1.0;
        let records = assumed.records_per_page.min(entries);
        let packed = answers::compressed(shown, activity) * assumed.gzip.share;
        let own_pages = if shown > 0.0 { assumed.pages_per_day * DAYS } else { 0.0 };
        let with_likes = assumed.share_with_likes * own_pages;
        // As many as one query takes: the most expensive case.
        let own_likes = f64::from(ROWS_AT_ONCE);
        let counts = assumed.counts_per_page.min(entries);
        let reading = work::page(entries, records, viewer, activity) * full
            + work::poll(assumed.parked.is_some()) * polls
            + work::likes_of_page(counts, own_likes, viewer, activity) * with_likes;
        let likes = assumed.likes.month(viewer, activity);
        let arena = assumed.arena.month(viewer);
        let tags = assumed.tags_per_day * DAYS;
        let tagging = work::tag(viewer, activity) * tags;
        let messages = assumed.messages * DAYS;
        let said = rooms::message(&Message::ordinary(viewer, assumed.payload)) * messages;
        let events = assumed.events.month();
        let writing = writing + tagging + likes.writing + arena.writing + said + events.writing;
        let noted = if assumed.parked.is_some() { readers * NOTES } else { 0.0 };
        let reading = reading + work::note_presence() * noted;
        let stored = writing.ledger_bytes + arena.folding.ledger_bytes;
        let ledger = stored * assumed.ledger_months + import.ledger_bytes;
        let index = writing.index_bytes * assumed.ledger_months + import.index_bytes;
        Self {
            publishes,
            follows: 0.0,
            pages,
            polls,
            tags,
            writing,
            folding: likes.folding
                + arena.folding
                + events.folding
                + likes::fold_publish() * publishes,
            folds: likes.folds + arena.folds + events.folds + publishes,
            likes,
            arena,
            messages,
            events,
            reading,
            subject: viewer,
            compressed_bytes: full * packed,
            import,
            answered_bytes: full * answers::answer(shown, activity, assumed.gzip)
                + polls * answers::answer(0.0, activity, assumed.gzip),
            timeline_bytes: writing.timeline_bytes * assumed.retention_days / DAYS,
            ledger_bytes: ledger - index,
            index_bytes: index,
        }
    }
}

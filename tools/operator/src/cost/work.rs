//! What commands and pages need of the tables, the queue and the functions.
//!
//! Every read that decides something is consistent, so a read unit is 4 KB; a write unit is 1 KB. A call
//! that finds nothing costs one unit anyway.

use std::ops::{Add, AddAssign, Mul};

use fanout_writer::FanOutLimits;
use shared::platform::dynamo::{BATCH_WRITE, IN_FLIGHT};

use super::sizes::{self, Activity, Edge};

pub const DAYS: f64 = 30.0;
/// Entries one BatchWriteItem call writes.
const BATCH: f64 = BATCH_WRITE as f64;
/// Outbox rows one query reads.
const OUTBOX_PAGE: f64 = shared::social::activities::OUTBOX_PAGE as f64;
/// What an edge says more with which a timeline agrees, in bytes.
const COMPLETE: f64 = 41.0;
/// Messages one SendMessageBatch call takes.
const MESSAGES: f64 = shared::platform::queue::BATCH as f64;

/// An amount of work. Numbers are averages where they cannot be exact.
#[must_use]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    pub writes: f64,
    pub reads: f64,
    /// Entries that are put into timelines.
    pub entries: f64,
    /// Messages that the command queue delivers: commands, and segments of large fan-outs.
    pub messages: f64,
    /// Calls to the queue that send them.
    pub sends: f64,
    /// Calls that wait for one another.
    pub rounds: f64,
    /// Bytes that the ledger and its index keep.
    pub ledger_bytes: f64,
    /// Of these, the bytes of the index.
    pub index_bytes: f64,
    /// Bytes that the timelines keep until retention ends.
    pub timeline_bytes: f64,
}

/// An actor's followers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Audience {
    pub followers: f64,
    /// The lengths of their ids together.
    pub ids: f64,
    /// The share of them who are parked; `None` where nobody ever is.
    pub parked: Option<f64>,
}

impl Audience {
    pub fn add(&mut self, follower: f64) {
        self.followers += 1.0;
        self.ids += follower;
    }

    /// The mean length of their ids.
    pub(super) fn mean(&self) -> f64 {
        if self.followers > 0.0 { self.ids / self.followers } else { 0.0 }
    }

    /// Those of N of them who are written to.
    fn reached(&self, followers: f64) -> f64 {
        followers * (1.0 - self.parked.unwrap_or(0.0))
    }

    /// The reads that tell who of N of them is parked, as if no process remembered anybody.
    fn asked(&self, followers: f64) -> f64 {
        if self.parked.is_some() { followers } else { 0.0 }
    }

    /// The bytes of N of their edges.
    fn edges(&self, followers: f64, followee: f64) -> f64 {
        followers * sizes::edge(&Edge { follower: self.mean(), followee })
    }
}

/// A command that writes items of these sizes to the ledger, reads a small one, and makes so many calls one after the other.
pub(super) fn command(stored: &[f64], rounds: f64) -> Work {
    Work {
        writes: stored.iter().map(|bytes| write_units(*bytes)).sum(),
        reads: 1.0,
        messages: 1.0,
        sends: 1.0,
        rounds,
        ledger_bytes: stored.iter().map(|bytes| bytes + sizes::STORED).sum(),
        ..Work::default()
    }
}

/// A publish: its id is claimed, its record, its outbox row, the row of its kind and the fact of it are written, the tags
/// that came before it and its followers are read, and each follower gets an entry; then record and edges are read once
/// more.
pub fn publish(activity: &Activity, audience: &Audience) -> Work {
    publish_in(FanOutLimits::default(), activity, audience)
}

/// The same for a writer that cuts fan-outs into other sizes.
pub fn publish_in(sizes: FanOutLimits, activity: &Activity, audience: &Audience) -> Work {
    let (record, row) = (sizes::record(activity), sizes::outbox_row(activity));
    let kind = sizes::kind_row(activity);
    let stored = [sizes::claim(activity), kind, record, row, sizes::owner(activity)];
    let recorded = command(&stored, 6.0);
    let followers = audience.reached(audience.followers);
    let entry = sizes::entry(audience.mean(), activity);
    let entries = Work {
        writes: followers * write_units(entry),
        entries: followers,
        timeline_bytes: followers * (entry + sizes::STORED),
        ..Work::default()
    };
    recorded + entries + fan_out(sizes, activity, audience)
}

/// The work of a fan-out, except for writing the entries.
fn fan_out(sizes: FanOutLimits, activity: &Activity, audience: &Audience) -> Work {
    // DynamoDB reports that there may be more whenever it stops at the limit.
    if audience.followers >= f64::from(sizes.page) {
        return split(sizes, activity, audience);
    }
    let edges = read_units(audience.edges(audience.followers, activity.actor));
    if audience.followers == 0.0 {
        return Work { reads: edges, rounds: 1.0, ..Work::default() };
    }
    let (reached, asked) =
        (audience.reached(audience.followers), audience.asked(audience.followers));
    let written = Work {
        reads: edges + asked + check_again(activity, edges),
        rounds: 2.0 + asked.min(1.0) + write_rounds(reached),
        ..Work::default()
    };
    let noted = Work {
        writes: 1.0,
        rounds: 1.0,
        ledger_bytes: sizes::claim(activity) + sizes::STORED,
        ..Work::default()
    };
    if reached > sizes.repeated as f64 { written + noted } else { written }
}

/// The first page gives the number of segments. A plan is written, the segments go onto the queue, and
/// when the last one is done the plan is written again.
fn split(sizes: FanOutLimits, activity: &Activity, audience: &Audience) -> Work {
    let FanOutLimits { page, segment, segments, .. } = sizes;
    let page = f64::from(page);
    let most = segments as f64;
    let segments = (audience.followers / f64::from(segment)).ceil().clamp(2.0, most);
    let cut = Work {
        writes: 2.0,
        reads: read_units(audience.edges(page, activity.actor)),
        messages: segments,
        sends: (segments / MESSAGES).ceil(),
        rounds: 3.0,
        ledger_bytes: (segments + 1.0) * (sizes::claim(activity) + sizes::STORED),
        ..Work::default()
    };
    let followers = audience.followers / segments;
    let pages = (followers / page).ceil();
    cut + one_segment(activity, audience, followers, pages) * segments
}

/// A segment reads the record and its progress, then page after page, each with a second check. At the
/// end it records that it is done and checks whether the others are. (A segment of more than a few
/// seconds also records progress meanwhile; compared with what it writes in that time, this is nothing.)
fn one_segment(activity: &Activity, audience: &Audience, followers: f64, pages: f64) -> Work {
    let followers = followers / pages;
    let edges = read_units(audience.edges(followers, activity.actor));
    let asked = audience.asked(followers);
    let each = Work {
        reads: edges + asked + check_again(activity, edges),
        rounds: 2.0 + asked.min(1.0) + write_rounds(audience.reached(followers)),
        ..Work::default()
    };
    let begun_and_ended = Work {
        writes: 1.0,
        reads: read_units(sizes::record(activity)) + 2.0,
        rounds: 4.0,
        ..Work::default()
    };
    begun_and_ended + each * pages
}

fn check_again(activity: &Activity, edges: f64) -> f64 {
    read_units(sizes::record(activity)) + edges
}

/// A follow that is new: the actor is hidden, the edge, its item in the index and its row in the list of whom the viewer
/// follows are written, the actor's activities within retention are brought in, and the actor is shown.
pub fn follow(edge: &Edge, activities: f64, each: &Activity) -> Work {
    let (stored, line) = (sizes::edge(edge), sizes::index_line(edge));
    let row = sizes::followee_row(edge);
    let recorded = Work {
        writes: write_units(stored) + write_units(line) + write_units(row) + 2.0,
        reads: 2.0,
        messages: 1.0,
        sends: 1.0,
        rounds: 6.0,
        ledger_bytes: stored + line + row + 3.0 * sizes::STORED,
        index_bytes: line + sizes::STORED,
        ..Work::default()
    };
    let pages = (activities / OUTBOX_PAGE).ceil().max(1.0);
    let outbox = read_units(activities / pages * sizes::outbox_row(each));
    let read = Work { reads: outbox, rounds: 1.0, ..Work::default() };
    if activities == 0.0 {
        return recorded + read;
    }
    let entry = sizes::entry(edge.follower, each);
    let copied = Work {
        writes: activities * write_units(entry),
        entries: activities,
        timeline_bytes: activities * (entry + sizes::STORED),
        rounds: write_rounds(activities),
        ..Work::default()
    };
    // Then the edge and the outbox are read again.
    let look = Work { reads: 1.0 + outbox, rounds: 2.0, ..Work::default() };
    // An edge that names itself.
    let noted = Work { writes: 1.0, rounds: 1.0, ledger_bytes: COMPLETE, ..Work::default() };
    let brought_in = recorded + copied + (read + look) * pages;
    let is_noted = activities > FanOutLimits::default().repeated as f64;
    if is_noted { brought_in + noted } else { brought_in }
}

/// A tag of somebody in an activity that is published: the tag is written, whose the activity is is asked for, and it is
/// listed.
pub fn tag(tagged: f64, activity: &Activity) -> Work {
    let stored = [sizes::tag(tagged, activity), sizes::listing(tagged, activity)];
    command(&stored, 3.0)
}

/// A page of a timeline: N entries, M of whose records the reader has not kept. The entry beyond the page,
/// which shows whether there is more, counts too. Who is hidden and what has changed is a unit each.
pub fn page(entries: f64, records: f64, viewer: f64, each: &Activity) -> Work {
    let skeleton = read_units(entries * sizes::entry(viewer, each)) + 2.0;
    let hydration = records * read_units(sizes::record(each));
    let rounds = 1.0 + records.min(1.0);
    Work { reads: skeleton + hydration, rounds, ..Work::default() }
}

/// A poll that finds nothing new: one query, and nothing has to be known of what it found. Where viewers are parked, it asks
/// first whether this one is.
pub fn poll(parks: bool) -> Work {
    let asked = f64::from(u8::from(parks));
    Work { reads: 1.0 + asked, rounds: 1.0 + asked, ..Work::default() }
}

/// A viewer counts as reading for another while.
pub fn note_presence() -> Work {
    Work { writes: 1.0, rounds: 1.0, ..Work::default() }
}

/// The likes of what is on a page, beside its records: N counts that the reader has not kept, half a unit each, and one query of the
/// viewer's own likes, M of which are among the ids of the page.
pub fn likes_of_page(counts: f64, own: f64, viewer: f64, each: &Activity) -> Work {
    Work { reads: counts / 2.0 + read_units(own * sizes::like(viewer, each)), ..Work::default() }
}

fn write_rounds(entries: f64) -> f64 {
    ((entries / BATCH).ceil() / IN_FLIGHT as f64).ceil()
}

pub(super) fn write_units(bytes: f64) -> f64 {
    (bytes / 1024.0).ceil().max(1.0)
}

pub(super) fn read_units(bytes: f64) -> f64 {
    (bytes / 4096.0).ceil().max(1.0)
}

impl Work {
    /// Each amount together with that of other work.
    fn with(self, other: Self, amount: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            writes: amount(self.writes, other.writes),
            reads: amount(self.reads, other.reads),
            entries: amount(self.entries, other.entries),
            messages: amount(self.messages, other.messages),
            sends: amount(self.sends, other.sends),
            rounds: amount(self.rounds, other.rounds),
            ledger_bytes: amount(self.ledger_bytes, other.ledger_bytes),
            index_bytes: amount(self.index_bytes, other.index_bytes),
            timeline_bytes: amount(self.timeline_bytes, other.timeline_bytes),
        }
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, |amount, other| amount + other)
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for Work {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        self.with(self, |amount, _| amount * times)
    }
}

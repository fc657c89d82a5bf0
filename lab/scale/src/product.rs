//! What Nagare needs of its tables: sizes by the real key codec, and the real constants where they are
//! public. A test compares the result with `nagare estimate`.

use fanout_writer::FanOutLimits;
use shared::platform::values::{ActivityId, ActorId, SortKey, Timestamp, ViewerId};
use shared::social::activities::ActivityKey;
use shared::social::follows::keys;

/// A payload, in bytes.
const PAYLOAD: usize = 200;
/// Pages of one segment in work at once, as [`fanout_writer`] has them.
const PAGES: f64 = 3.0;
/// Seconds of a call to a table that is not refused.
pub const CALL: f64 = 0.005;
/// Entries a second that one invocation writes where the table takes all of them: what
/// docs/PERFORMANCE.md measured for 64 calls in flight of 5 ms.
pub const INVOCATION: f64 = 144_000.0;
/// Seconds from sending a message to the beginning of its handler.
pub const HOP: f64 = 0.1;
/// Seconds after which an invocation hands on what is left: half of its 60 less two to answer in.
pub const HALF_TIME: f64 = 29.0;
/// Messages in one invocation.
pub const MESSAGES: usize = 10;
/// Entries on a page, with the one beyond it that says whether there is more.
pub const PAGE: f64 = 21.0;
/// Seconds that a page may take before it is answered 503.
pub const PATIENCE: f64 = 5.0;

/// Sizes in bytes, and how fan-outs are cut.
#[derive(Debug, Clone, Copy)]
pub struct Product {
    /// When a fan-out is cut into segments, and into how many.
    pub limits: FanOutLimits,
    pub edge: f64,
    pub row: f64,
    pub record: f64,
    pub entry: f64,
}

impl Product {
    /// With ids of ten characters.
    #[must_use]
    pub fn new(limits: FanOutLimits) -> Self {
        let Some(sample) = Sample::new() else {
            return Self { limits, edge: 0.0, row: 0.0, record: 0.0, entry: 0.0 };
        };
        let Sample { viewer, actor, sort_key, .. } = &sample;
        let edge = keys::edge(viewer, actor);
        let edge = keyed(&edge.pk, &edge.sk)
            + named("follower_id", viewer.as_str().len())
            + named("followee_id", actor.as_str().len())
            + named("following", 1)
            + named("changed_at", sort_key.published_at.to_string().len());
        let row = keyed(&shared::social::activities::keys::outbox(actor), &sort_key.to_string())
            + named("activity_id", sort_key.activity_id.as_str().len());
        Self { limits, edge, row, record: sample.record(), entry: sample.entry() }
    }

    /// Read units that reading one edge costs, as one of a page of a fan-out.
    #[must_use]
    pub fn edge_reads(&self) -> f64 {
        let page = f64::from(self.limits.page);
        reads(page * self.edge) / page
    }

    /// Read units of an activity record.
    #[must_use]
    pub fn record_reads(&self) -> f64 {
        reads(self.record)
    }

    /// Read units of an outbox with N activities.
    #[must_use]
    pub fn outbox_reads(&self, activities: f64) -> f64 {
        reads(activities * self.row)
    }

    /// Read units of the entries of a page.
    #[must_use]
    pub fn entries_reads(&self) -> f64 {
        reads(PAGE * self.entry)
    }

    /// Write units of an entry.
    #[must_use]
    pub fn entry_writes(&self) -> f64 {
        (self.entry / 1024.0).ceil()
    }

    /// The number of segments that a fan-out is cut into: none, if it is done at once.
    #[must_use]
    pub fn segments(&self, followers: f64) -> usize {
        if followers < f64::from(self.limits.page) {
            return 0;
        }
        let segments = (followers / f64::from(self.limits.segment)).ceil() as usize;
        segments.clamp(2, self.limits.segments.max(2))
    }

    /// Followers of a segment that are read and not yet written, at most: its pages in work, twice,
    /// because what one tick reads the next one writes.
    #[must_use]
    pub fn ahead(&self) -> f64 {
        2.0 * PAGES * f64::from(self.limits.page)
    }
}

/// Ids of ten characters.
struct Sample {
    viewer: ViewerId,
    actor: ActorId,
    activity: ActivityId,
    sort_key: SortKey,
}

impl Sample {
    fn new() -> Option<Self> {
        let activity = ActivityId::new("live-00001").ok()?;
        let published_at = Timestamp::parse("2026-11-20T12:00:00.000Z").ok()?;
        Some(Self {
            viewer: ViewerId::new("v000000001").ok()?,
            actor: ActorId::new("a000000001").ok()?,
            sort_key: SortKey { published_at, activity_id: activity.clone() },
            activity,
        })
    }

    fn record(&self) -> f64 {
        let (activity_id, actor_id) = (self.activity.clone(), self.actor.clone());
        let key = shared::social::activities::keys::record(&ActivityKey { activity_id, actor_id });
        keyed(&key.pk, &key.sk)
            + named("published_at", self.sort_key.published_at.to_string().len())
            + named("kind", 4)
            + named("payload", PAYLOAD)
            + named("revision", 2)
    }

    fn entry(&self) -> f64 {
        named("viewer_id", self.viewer.as_str().len())
            + named("sort_key", self.sort_key.to_string().len())
            + named("actor_id", self.actor.as_str().len())
            + named("expires_at", 6)
    }
}

fn keyed(pk: &str, sk: &str) -> f64 {
    named("pk", pk.len()) + named("sk", sk.len())
}

/// The bytes of an attribute: its name's and its value's.
fn named(name: &str, value: usize) -> f64 {
    (name.len() + value) as f64
}

/// Units of 4 KB, consistently read; one at least.
fn reads(bytes: f64) -> f64 {
    (bytes / 4_096.0).ceil().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nagare_operator::cost::consumed::Consumed;
    use nagare_operator::cost::prices::Prices;

    /// `units.csv` is measured with ids that are a little longer, and rounds each call up.
    fn near(ours: f64, measured: f64) {
        assert!((ours / measured - 1.0).abs() < 0.1, "{ours} against {measured}");
    }

    #[test]
    fn a_fan_out_asks_for_what_the_estimate_says() {
        let product = Product::new(FanOutLimits::default());
        let each = Consumed::by("an entry of activity.published");
        near(product.entry_writes(), each.writes);
        // A hundred followers are read twice.
        assert!(2.0 * product.edge_reads() <= each.reads);
    }

    #[test]
    fn a_follow_asks_for_what_the_estimate_says() {
        let product = Product::new(FanOutLimits::default());
        let entry = Consumed::by("an entry of follow.created");
        let follow = Consumed::by("follow.created");
        near(5.0 + 25.0 * product.entry_writes(), follow.writes);
        near(3.0 + 2.0 * product.outbox_reads(25.0), follow.reads);
        near(product.entry_writes(), entry.writes);
    }

    #[test]
    fn a_page_asks_for_what_the_estimate_says() {
        let product = Product::new(FanOutLimits::default());
        let page = Consumed::by("GET /v1/timelines/{viewer_id}");
        near(product.entries_reads() + 2.0 + PAGE * product.record_reads(), page.reads);
    }

    #[test]
    fn prices_are_those_of_the_estimate() {
        let prices = Prices::default();
        let ours = [crate::report::PER_MILLION_READS, crate::report::PER_MILLION_WRITES];
        assert_eq!(ours, [prices.dynamodb_million_reads, prices.dynamodb_million_writes]);
    }
}

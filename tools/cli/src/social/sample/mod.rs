//! The built-in sample: a small, made-up streaming community, so that a new stack has something to show.
//!
//! Ids carry the hour in which the sample was loaded. Loading it again within the hour repeats the
//! same commands and changes nothing; a later run adds its own. What goes on while the stack runs is [`life`].

mod life;
mod polls_battles;
mod tenants;

use crate::Failure;
pub(crate) use life::{Life, ROOM, TICK};
pub(crate) use polls_battles::Arena;
use shared::command::Command;
use shared::history::events::EventSettings;
use shared::platform::register::Register;
use shared::platform::values::{ActivityId, ActorId, Kind, Payload, Timestamp, ViewerId};
use shared::social::activities::Publish;
use shared::social::follows::FollowChange;
use shared::social::likes::LikeChange;
use shared::social::profiles::ProfileUpdate;
use shared::social::tags::TagChange;

/// The viewer whose timeline is shown first.
pub(crate) const VIEWER: &str = "viewer-01";
const VIEWERS: usize = 36;
const HOUR: i64 = 3_600_000;
const MINUTE: i64 = 60_000;

/// Who publishes, and about what.
const ACTORS: [(&str, &str); 13] = [
    ("aoi", "Speedrun of an old favourite"),
    ("botan", "Drawing with viewers"),
    ("chika", "Late-night talk"),
    ("daichi", "Ranked matches"),
    ("ema", "Piano requests"),
    ("fuyu", "Puzzle marathon"),
    ("gen", "Cooking for one"),
    ("hana", "Gardening questions"),
    ("itsuki", "Building a keyboard"),
    ("jun", "Fishing at dawn"),
    ("kaede", "Reading aloud"),
    ("leo", "Tournament practice"),
    ("anna", "Learning the cello"),
];
/// Whom one tries first, among those who look.
const NAMED: [&str; 4] = ["bob", "carol", "dan", "eve"];

/// The commands of the sample, as of `now`, for a stack that keeps events by these settings, or keeps none.
pub(crate) fn commands(now: Timestamp, settings: Option<&EventSettings>) -> Vec<Command> {
    let hour = now.plus_millis(-now.unix_millis().rem_euclid(HOUR));
    let follows = (1..=VIEWERS).flat_map(move |viewer| {
        let followed = ACTORS.iter().enumerate().filter(move |(n, _)| follows_actor(viewer, *n));
        followed.filter_map(move |(_, (actor, _))| follow(viewer, actor, hour))
    });
    let lives = ACTORS.iter().enumerate().flat_map(move |(n, (actor, title))| {
        (0..3).filter_map(move |turn| activity(n, actor, title, turn, hour))
    });
    let likes = ACTORS.iter().enumerate().flat_map(move |(n, (actor, _))| {
        let liked = (1..=VIEWERS).filter(move |viewer| follows_actor(*viewer, n));
        liked.filter_map(move |viewer| like(viewer, actor, n, viewer % 3, hour))
    });
    let tags = ACTORS.iter().enumerate().filter_map(move |(n, (actor, _))| tag(n, actor, hour));
    let numbered = (1..=VIEWERS).map(|n| (format!("viewer-{n:02}"), format!("Viewer {n}")));
    let named = ACTORS.iter().map(|(actor, _)| *actor).chain(NAMED);
    let named = named.map(|name| (name.to_owned(), capitalised(name)));
    let profiles = numbered.chain(named).filter_map(move |(id, name)| profile(&id, &name, hour));
    let tenants = settings.into_iter().flat_map(|it| tenants::commands(hour, now, it));
    follows.chain(lives).chain(likes).chain(tags).chain(profiles).chain(tenants).collect()
}

/// The first viewer is in the latest activity of every third actor.
fn tag(n: usize, actor: &str, hour: Timestamp) -> Option<Command> {
    let published_at = published_at(n, 0, hour);
    n.is_multiple_of(3).then_some(())?;
    Some(Command::Tag(TagChange {
        activity_id: activity_id(actor, published_at)?,
        tagged_id: ViewerId::new(VIEWER).ok()?,
        state: Register { on: true, changed_at: published_at },
    }))
}

/// Those who vote, hit, talk and like.
fn viewers() -> impl Iterator<Item = ViewerId> {
    let numbered = (1..=VIEWERS).map(|viewer| format!("viewer-{viewer:02}"));
    numbered.chain(NAMED.map(ToOwned::to_owned)).filter_map(|id| ViewerId::new(id).ok())
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn payload(member: &str, text: &str) -> Result<Payload, Failure> {
    let payload = Payload::parse(&format!(r#"{{"{member}":"{text}"}}"#));
    payload.map_err(|e| Failure::Usage(e.to_string()))
}

fn profile(id: &str, name: &str, hour: Timestamp) -> Option<Command> {
    let payload = format!(r#"{{"name":"{name}"}}"#);
    Some(Command::Profile(ProfileUpdate {
        viewer_id: ViewerId::new(id).ok()?,
        at: hour.plus_millis(-48 * HOUR),
        payload: Payload::parse(&payload).ok()?,
    }))
}

/// Who follows whom: the first viewer follows everybody, the others some.
fn follows_actor(viewer: usize, actor: usize) -> bool {
    viewer == 1 || (viewer * 7 + actor * 5) % 11 < 4
}

fn follow(viewer: usize, actor: &str, hour: Timestamp) -> Option<Command> {
    let state = Register { on: true, changed_at: hour.plus_millis(-48 * HOUR) };
    let follower_id = ViewerId::new(format!("viewer-{viewer:02}")).ok()?;
    let followee_id = ActorId::new(actor).ok()?;
    Some(Command::Follow(FollowChange { follower_id, followee_id, state }))
}

/// Each follower likes one activity of each actor, some minutes after it.
fn like(viewer: usize, actor: &str, n: usize, turn: usize, hour: Timestamp) -> Option<Command> {
    let published_at = published_at(n, turn, hour);
    let changed_at = published_at.plus_millis(viewer as i64 * MINUTE);
    Some(Command::Like(LikeChange {
        viewer_id: ViewerId::new(format!("viewer-{viewer:02}")).ok()?,
        activity_id: activity_id(actor, published_at)?,
        state: Register { on: true, changed_at },
    }))
}

fn published_at(n: usize, turn: usize, hour: Timestamp) -> Timestamp {
    let ago = (turn * 7 + 1) as i64 * HOUR + (n * 5) as i64 * MINUTE;
    hour.plus_millis(-ago)
}

fn activity_id(actor: &str, published_at: Timestamp) -> Option<ActivityId> {
    ActivityId::new(format!("{actor}-{}", published_at.unix_millis() / 1000)).ok()
}

fn activity(n: usize, actor: &str, title: &str, turn: usize, hour: Timestamp) -> Option<Command> {
    let published_at = published_at(n, turn, hour);
    let kind = if turn == 1 { "post" } else { "live" };
    let payload = format!(r#"{{"title":"{title}","part":{}}}"#, 3 - turn);
    Some(Command::Publish(Publish {
        activity_id: activity_id(actor, published_at)?,
        actor_id: ActorId::new(actor).ok()?,
        published_at,
        kind: Kind::new(kind).ok()?,
        payload: Payload::parse(&payload).ok()?,
    }))
}

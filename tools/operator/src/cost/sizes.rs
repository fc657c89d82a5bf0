//! The sizes of items in bytes: the lengths of the attributes' names and of their values. A boolean is
//! one byte; a number is one byte and half a byte per digit.

/// The length of the names of the ledger's key attributes.
const KEY_NAMES: f64 = 4.0;
/// An instant as text.
const INSTANT: f64 = 24.0;
/// Half of a SHA-256, in hexadecimal digits.
const DIGEST: f64 = 32.0;
/// What DynamoDB counts for a list of one map of five attributes.
const LISTED: f64 = 12.0;
/// Seconds since 1970: ten digits.
const SECONDS: f64 = 6.0;
/// What DynamoDB adds to an item when it counts what is stored.
pub(super) const STORED: f64 = 100.0;

/// The lengths of ids where nobody gives them.
pub(super) const ID: f64 = 24.0;

/// The lengths of an activity's members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Activity {
    pub id: f64,
    pub actor: f64,
    pub kind: f64,
    pub payload: f64,
}

/// The lengths of the ids at both ends of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    pub follower: f64,
    pub followee: f64,
}

/// The lengths of a hit's ids.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub battle: f64,
    pub id: f64,
    pub viewer: f64,
}

/// The lengths of a message's members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message {
    pub room: f64,
    pub id: f64,
    pub author: f64,
    pub payload: f64,
}

impl Message {
    /// One with ids of ordinary length.
    pub fn ordinary(author: f64, payload: f64) -> Self {
        Self { room: ID, id: ID, author, payload }
    }
}

/// An entry of a viewer's timeline.
pub(super) fn entry(viewer: f64, activity: &Activity) -> f64 {
    let names =
        length("viewer_id") + length("sort_key") + length("actor_id") + length("expires_at");
    names + viewer + INSTANT + 1.0 + activity.id + activity.actor + SECONDS
}

pub(super) fn edge(edge: &Edge) -> f64 {
    let names = length("follower_id") + length("followee_id") + length("following");
    edge_keys(edge) + names + edge.follower + edge.followee + 1.0 + length("changed_at") + INSTANT
}

/// An edge's item in the index by follower: the keys of both.
pub(super) fn index_line(edge: &Edge) -> f64 {
    let names = length("follower_id") + length("followee_id");
    edge_keys(edge) + names + edge.follower + edge.followee
}

/// The row of an edge in the list of whom its follower follows.
pub(super) fn followee_row(edge: &Edge) -> f64 {
    let keys = KEY_NAMES + length("person##following") + edge.follower + edge.followee;
    keys + length("at") + INSTANT + length("following") + 1.0
}

fn edge_keys(edge: &Edge) -> f64 {
    KEY_NAMES + length("followers#") + edge.followee + length("0000#") + edge.follower
}

/// The claim on an activity id.
pub(super) fn claim(activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("activity#") + activity.id + length("claim");
    keys + length("actor_id") + activity.actor + length("published_at") + INSTANT
}

/// An activity record, as its publish leaves it.
pub(super) fn record(activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("activity#") + activity.id + length("actor#") + activity.actor;
    let published = length("published_at") + INSTANT;
    let content = length("kind") + activity.kind + length("payload") + activity.payload;
    keys + published + content + length("revision") + 2.0
}

/// The fact of who published it.
pub(super) fn owner(activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("activity#") + activity.id + length("owner");
    keys + length("actor") + activity.actor + length("deleted") + 1.0
}

/// A row of an outbox.
pub(super) fn outbox_row(activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("outbox#") + activity.actor + INSTANT + 1.0 + activity.id;
    keys + length("activity_id") + activity.id
}

/// A row of a list by kind.
pub(super) fn kind_row(activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("person##kind#") + activity.actor + activity.kind;
    keys + INSTANT + 1.0 + activity.id + length("at") + length("0")
}

/// The tag of somebody in an activity.
pub(super) fn tag(tagged: f64, activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("tags#") + activity.id + tagged;
    keys + length("at") + INSTANT + length("tagged") + 1.0
}

/// An activity among what somebody is tagged in.
pub(super) fn listing(tagged: f64, activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("person##tagged") + tagged + INSTANT + 1.0 + activity.id;
    let state = length("at") + INSTANT + length("tagged") + 1.0;
    keys + state + length("actor_id") + activity.actor
}

/// The row of a viewer and an activity among the facts.
pub(super) fn like(viewer: f64, activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("likes#") + viewer + activity.id;
    let names = length("liked")
        + length("changed_at")
        + length("first_liked_at")
        + length("moved_from")
        + length("liked_since");
    keys + names + 1.0 + 4.0 * INSTANT + recorded_at()
}

/// The entry of a like in the list of what its viewer likes.
pub(super) fn liked(viewer: f64, activity: &Activity) -> f64 {
    let keys = KEY_NAMES + length("person##liked") + viewer + INSTANT + 1.0 + activity.id;
    keys + length("at") + INSTANT
}

/// When a like or a vote was recorded.
fn recorded_at() -> f64 {
    length("recorded_at") + INSTANT
}

/// The row of a viewer and a poll among the facts, after one vote.
pub(super) fn vote(viewer: f64, poll: f64, choice: f64) -> f64 {
    KEY_NAMES + length("votes#") + viewer + poll + INSTANT + choice + recorded_at()
}

/// A hit among the facts.
pub(super) fn hit(Hit { battle, id, viewer }: &Hit) -> f64 {
    let keys = KEY_NAMES + length("hit#") + battle + length("#") + id + length("hit");
    keys + length("viewer") + viewer + length("damage") + 2.0 + length("at") + INSTANT
}

/// What a hit that has landed is in the log of its battle: two ids with their lengths, and the damage.
pub(super) fn landed(Hit { id, viewer, .. }: &Hit) -> f64 {
    1.0 + id + 1.0 + viewer + 2.0
}

/// The claim on the id of a message, with the digest of its payload.
pub(super) fn message_claim(Message { room, id, author, .. }: &Message) -> f64 {
    let keys = KEY_NAMES + length("message#") + room + length("#") + id + length("claim");
    let names = length("author_id") + length("at") + length("shards") + length("digest");
    keys + names + author + INSTANT + 2.0 + DIGEST
}

/// A row of arrivals that holds one message.
pub(super) fn message_arrival(message: &Message) -> f64 {
    let keys = KEY_NAMES + length("arrived#") + message.room + length("0000000000000000");
    let place = length("message_id") + length("at") + length("shards") + 2.0;
    let ids = INSTANT + message.id;
    keys + length("messages") + LISTED + place + ids + content(message)
}

/// A message in its place.
pub(super) fn message_row(message: &Message) -> f64 {
    let keys = KEY_NAMES + length("room#") + message.room + length("#0");
    keys + said(message)
}

/// The same under its author.
pub(super) fn message_of_author(message: &Message) -> f64 {
    let keys = KEY_NAMES + length("said#") + message.room + length("#") + message.author;
    keys + said(message)
}

fn said(message: &Message) -> f64 {
    INSTANT + length("#") + message.id + content(message) + length("arrived") + 3.0
}

fn content(Message { author, payload, .. }: &Message) -> f64 {
    length("author_id") + author + length("payload") + payload
}

fn length(text: &str) -> f64 {
    text.len() as f64
}

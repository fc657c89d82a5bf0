//! Which tables there are, under which keys things are found in them, and what an item is, as its key says.

use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use shared::history::events::keys::EventItem;
use shared::history::events::{Period, PeriodRow};
use shared::history::refusals::keys::RefusalItem;
use shared::history::summaries::keys::{self as summaries, SummaryItem, SummaryView};
use shared::history::tenants::{TenantItem, keys as tenants};
use shared::ledger_item::LedgerItem;
use shared::platform::dynamo::item::Key;
use shared::platform::projection::caller_part::NOTES;
use shared::platform::projection::checkpoints;
use shared::platform::runtime::env;
use shared::platform::values::{
    ActivityId, ActorId, BattleId, IdError, PollId, RoomId, SortKey, TenantId, ViewerId,
};
use shared::social::activities::ActivityItem;
use shared::social::activities::keys as activities;
use shared::social::battles::keys::{self as battles, BattleRow, BattleView};
use shared::social::fanout::ProgressItem;
use shared::social::follows::keys as follows;
use shared::social::likes::keys as likes;
use shared::social::notifications::keys as notifications;
use shared::social::polls::keys::{self as polls, PollRow};
use shared::social::rooms::{RoomItem, keys as rooms};
use shared::social::tags::TagItem;

/// How the tables of periods are named here, before the period.
const EVENTS: &str = "events-";
/// Tables of periods that can be chosen, the newest. Others are there by their address.
const PERIODS: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Timelines,
    Ledger,
    Facts,
    Views,
    DeadLetters,
    Events(Period),
}

impl Table {
    /// Those that there are always.
    pub(super) const ALL: [Self; 5] =
        [Self::Timelines, Self::Ledger, Self::Facts, Self::Views, Self::DeadLetters];

    pub(super) fn named(name: &str) -> Option<Self> {
        let of_period = || Some(Self::Events(name.strip_prefix(EVENTS)?.parse().ok()?));
        Self::ALL.into_iter().find(|table| table.name() == name).or_else(of_period)
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Timelines => "timelines".to_owned(),
            Self::Ledger => "ledger".to_owned(),
            Self::Facts => "facts".to_owned(),
            Self::Views => "views".to_owned(),
            Self::DeadLetters => "dead-letters".to_owned(),
            Self::Events(period) => format!("{EVENTS}{period}"),
        }
    }

    /// The tables of periods, of these periods.
    pub(super) fn of_periods(rows: &[PeriodRow]) -> Vec<Self> {
        let with_table = rows.iter().filter(|row| row.state.has_table());
        with_table.map(|row| Self::Events(row.period)).take(PERIODS).collect()
    }

    /// Its name in the account.
    pub(super) fn stored(self, remote: &Remote) -> Result<String, Failure> {
        let variable = match self {
            Self::Timelines => env::TIMELINES_TABLE,
            Self::Ledger => env::LEDGER_TABLE,
            Self::Facts => env::FACTS_TABLE,
            Self::Views => env::VIEWS_TABLE,
            Self::DeadLetters => env::DEAD_LETTERS_TABLE,
            Self::Events(period) => return Ok(remote.events()?.tables().name(period)),
        };
        remote.target().required(variable)
    }

    pub(super) fn keys(self) -> [&'static str; 2] {
        match self {
            Self::Timelines => ["viewer_id", "sort_key"],
            Self::Ledger | Self::Facts | Self::Views | Self::Events(_) => ["pk", "sk"],
            Self::DeadLetters => ["id", "part"],
        }
    }

    /// What the item with a key is.
    pub(super) fn meaning(self, pk: &str, sk: &str) -> String {
        let key = Key { pk: pk.to_owned(), sk: sk.to_owned() };
        let meaning = match self {
            Self::Timelines => sk.parse::<SortKey>().ok().map(|sort_key| {
                let SortKey { activity_id, published_at, .. } = sort_key;
                format!("entry of {pk}'s timeline: {activity_id}, published at {published_at}")
            }),
            Self::Ledger => LedgerItem::of(pk, sk).map(|item| of_ledger(item, pk)),
            Self::Facts => of_facts(&key),
            Self::Views => of_views(&key),
            Self::DeadLetters if sk == "letter" => Some("a dead letter".to_owned()),
            Self::DeadLetters => Some("a part of a dead letter's body".to_owned()),
            Self::Events(_) => of_event(pk, sk),
        };
        meaning.unwrap_or_else(|| "nothing that is known".to_owned())
    }
}

/// An event. A customer who is written to very fast has several partitions, with a number behind.
fn of_event(pk: &str, sk: &str) -> Option<String> {
    let (at, event) = sk.split_once('#')?;
    let mut parts = pk.split('#');
    let (tenant, customer) = (parts.next()?, parts.next()?);
    Some(format!("the event {event} of {customer}, of {tenant}, at {at}"))
}

fn of_ledger(item: LedgerItem, pk: &str) -> String {
    match item {
        LedgerItem::Activity(ActivityItem::Claim(activity)) => {
            format!("whose the id {activity} is")
        }
        LedgerItem::Activity(ActivityItem::Record(key)) => {
            format!("the record of {}, an activity of {}", key.activity_id, key.actor_id)
        }
        LedgerItem::Activity(ActivityItem::OutboxRow(actor)) => format!("{actor} published it"),
        LedgerItem::Edge(follower, followee) => {
            format!("{follower} and whether they follow {followee}")
        }
        LedgerItem::Progress(ProgressItem::FanOut(key)) => {
            format!("how far the fan-out of {} has come", key.activity_id)
        }
        LedgerItem::Progress(ProgressItem::Reconciliation(viewer, actor)) => {
            format!("how far {viewer}'s follow or unfollow of {actor} has come")
        }
        LedgerItem::Tag(TagItem::Tag(activity, tagged)) => {
            format!("whether {tagged} is tagged in {activity}")
        }
        LedgerItem::Tag(TagItem::Listing(tagged, sort_key)) => {
            format!("{} among what {tagged} is tagged in", sort_key.activity_id)
        }
        LedgerItem::Tag(TagItem::Progress(activity)) => {
            format!("how far the publish of {activity} has come with its tags")
        }
        LedgerItem::Receipts => "which commands of an import or a replay are done".to_owned(),
        LedgerItem::Person(viewer) => match pk.rsplit_once('#') {
            Some((_, what)) => format!("about {viewer} alone: {what}"),
            None => format!("about {viewer} alone"),
        },
        LedgerItem::Activity(ActivityItem::Changes) => {
            "digests of activities that were changed a moment ago".to_owned()
        }
        LedgerItem::Events(item) => match item {
            EventItem::Period(period) => format!("what is known of the events of {period}"),
            EventItem::Archiving(period) => format!("how far the archive of {period} has come"),
            EventItem::Keeper => "a keeper of periods that is at work".to_owned(),
            EventItem::Seen(customer) => {
                format!("what clients have seen of the history of {customer}")
            }
            EventItem::Archived(tenant, period) => {
                format!("an archive object of {tenant}, of {period}")
            }
        },
        LedgerItem::Tenant(item) => match item {
            TenantItem::Payload(customer) => format!("what is said of {customer}"),
            TenantItem::Rule(tenant, rule) => format!("the rule {rule} of {tenant}"),
            TenantItem::Score(tenant, score) => format!("the score {score} of {tenant}"),
            TenantItem::Claim(tenant, alert) => {
                format!("when the alert {alert} of {tenant} was decided")
            }
            TenantItem::Alert(tenant, at, alert) => {
                format!("the alert {alert} of {tenant}, decided at {at}")
            }
            TenantItem::Decided(customer, rule) => {
                format!("when the rule {rule} has given alerts about {customer}")
            }
            TenantItem::Deciding(tenant) => {
                format!("how far the decisions of a new rule of {tenant} have come")
            }
            TenantItem::Daily(customer) => format!("what was decided of {customer} by day"),
            TenantItem::DailyTenant(tenant) => {
                format!("how far the daily decisions of {tenant} have come")
            }
            TenantItem::Refusals(tenant) => format!("how many events of {tenant} were refused"),
            TenantItem::RefusedEvent(tenant) => format!("an event of {tenant} that was refused"),
        },
        LedgerItem::Refusal(item) => match item {
            RefusalItem::Counted => "that the refusal of a message is counted".to_owned(),
            RefusalItem::Subject => "how many letters one subject has had on a day".to_owned(),
            RefusalItem::OfDay => "how many refusals a day has".to_owned(),
        },
        LedgerItem::Room(item) => match item {
            RoomItem::Claim(room, message) => format!("whose the message {message} in {room} is"),
            RoomItem::Marker(key) => {
                format!("{} deleted the message {}", key.author_id, key.message_id)
            }
            RoomItem::Room(room) => format!("what is known of the room {room}"),
            RoomItem::Arrivals(room) => format!("messages in the order of their arrival in {room}"),
            RoomItem::Row(room, message) => format!("the message {message} in {room}"),
            RoomItem::AuthorRow(key) => {
                format!("the message {} among what {} said", key.message_id, key.author_id)
            }
        },
    }
}

fn of_facts(key: &Key) -> Option<String> {
    if let Some((viewer, activity)) = likes::of_like(&key.pk, &key.sk) {
        return Some(format!("whether {viewer} likes {activity}"));
    }
    if let Some((viewer, activity)) = notifications::of_mark(&key.pk, &key.sk) {
        return Some(format!("how far {viewer} has read the notification of {activity}"));
    }
    match (PollRow::of(key), BattleRow::of(key)) {
        (Some(PollRow::Opened(poll)), _) => Some(format!("the poll {poll}, as it was opened")),
        (Some(PollRow::End(poll, actor)), _) => Some(format!("when {actor} ended the poll {poll}")),
        (Some(PollRow::Vote(viewer, poll)), _) => Some(format!("how {viewer} voted in {poll}")),
        (_, Some(BattleRow::Opened(id))) => Some(format!("the battle {id}, as it was opened")),
        (_, Some(BattleRow::Hit(battle, hit))) => Some(format!("the hit {hit} in {battle}")),
        (None, None) => Some(format!("who published {}", key.pk.strip_prefix("activity#")?)),
    }
}

fn of_views(key: &Key) -> Option<String> {
    if let Some(activity) = likes::counted(key) {
        return Some(format!("how many like {activity}"));
    }
    match notifications::of_view(key) {
        Some((viewer, None)) => return Some(format!("{viewer}'s inbox: what is unread")),
        Some((viewer, Some(_))) => return Some(format!("a notification of {viewer}")),
        None => {}
    }
    if let Some(poll) = polls::of_view(key) {
        return Some(format!("the sums of the poll {poll}"));
    }
    if let Some(view) = BattleView::of(key) {
        return Some(match view {
            BattleView::Itself(battle) => format!("how the battle {battle} stands"),
            BattleView::ViewerHits(battle, viewer) => format!("{viewer}'s hits in {battle}"),
            BattleView::Numbered(battle, hit) => {
                format!("as which one the hit {hit} in {battle} has landed")
            }
        });
    }
    if let Some(shard) = checkpoints::of_key(&key.pk, &key.sk) {
        return Some(format!("how far the shard {shard} is worked off"));
    }
    if key.pk.starts_with(NOTES) {
        return Some("what a view counts of one person".to_owned());
    }
    Some(match SummaryItem::of_key(key)? {
        SummaryItem::View(SummaryView::Customer(customer)) => format!("what {customer} did"),
        SummaryItem::View(SummaryView::Name(tenant, name, part)) => {
            format!("how often {name} happened, of {tenant}, part {part}")
        }
        SummaryItem::View(SummaryView::Witness(period, tenant, part)) => {
            format!("the events of {tenant} in {period}, counted, part {part}")
        }
        SummaryItem::Days(customer) => format!("earlier days of {customer}"),
        SummaryItem::Names(customer) => format!("more names of {customer}"),
        SummaryItem::Listed(customer) => format!("that {customer} did something"),
    })
}

/// Something that is found under one partition key: its name, its table, and the key for an id.
type Shelf = (&'static str, Table, fn(&str) -> Result<String, IdError>);

pub(super) const TIMELINE: &str = "entries of a viewer's timeline";
pub(super) const FOLLOWERS: &str = "who follows an actor";
pub(super) const ACTIVITY: &str = "an activity: its id, record and fan-out";
pub(super) const ROOM: &str = "what is known of a room";
pub(super) const POLL: &str = "the sums of a poll";
pub(super) const BATTLE: &str = "how a battle stands, and its log";
pub(super) const CUSTOMERS: &str = "customers of a tenant who did something";
const ROOM_SHARD: &str = "messages of a room (its first shard)";
const LIKES: &str = "the likes of an activity, counted";
const NOTIFICATIONS: &str = "a viewer's notifications";
const DEFINITIONS: &str = "rules and scores of a tenant";

/// Where things are, by the id of whom or what they are about.
pub(super) const SHELVES: [Shelf; 16] = [
    (TIMELINE, Table::Timelines, |id| Ok(ViewerId::new(id)?.to_string())),
    ("whom a viewer follows", Table::Ledger, |id| Ok(follows::following(&ViewerId::new(id)?))),
    (FOLLOWERS, Table::Ledger, |id| Ok(follows::followers(&ActorId::new(id)?))),
    ("what an actor published", Table::Ledger, |id| Ok(activities::outbox(&ActorId::new(id)?))),
    (ACTIVITY, Table::Ledger, |id| Ok(activities::claim(&ActivityId::new(id)?).pk)),
    (ROOM, Table::Ledger, |id| Ok(rooms::room(&RoomId::new(id)?).pk)),
    (ROOM_SHARD, Table::Ledger, |id| Ok(rooms::shard(&RoomId::new(id)?, &0))),
    ("what a viewer likes", Table::Facts, |id| Ok(likes::of_viewer(&ViewerId::new(id)?))),
    ("how a viewer voted", Table::Facts, |id| Ok(polls::of_viewer(&ViewerId::new(id)?))),
    (LIKES, Table::Views, |id| Ok(likes::count(&ActivityId::new(id)?).pk)),
    (NOTIFICATIONS, Table::Views, |id| Ok(notifications::of_viewer(&ViewerId::new(id)?))),
    (POLL, Table::Views, |id| Ok(polls::view(&PollId::new(id)?).pk)),
    (BATTLE, Table::Views, |id| Ok(battles::view(&BattleId::new(id)?).pk)),
    (CUSTOMERS, Table::Views, |id| Ok(summaries::customers(&TenantId::new(id)?))),
    (DEFINITIONS, Table::Ledger, |id| Ok(tenants::definitions(&TenantId::new(id)?))),
    ("alerts of a tenant", Table::Ledger, |id| Ok(tenants::alerts(&TenantId::new(id)?))),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_found_is_said() {
        let meaning = |table: Table, pk: &str, sk: &str| table.meaning(pk, sk);
        let entry = meaning(Table::Timelines, "bob", "2026-11-20T12:00:00.000Z#live-1");
        assert_eq!(entry, "entry of bob's timeline: live-1, published at 2026-11-20T12:00:00.000Z");
        let (bob, live) = (ViewerId::new("bob").unwrap(), ActivityId::new("live-1").unwrap());
        let like = likes::like(&bob, &live);
        assert_eq!(meaning(Table::Facts, &like.pk, &like.sk), "whether bob likes live-1");
        let poll = polls::view(&PollId::new("mvp").unwrap());
        assert_eq!(meaning(Table::Views, &poll.pk, &poll.sk), "the sums of the poll mvp");
        assert_eq!(meaning(Table::Ledger, "who", "knows"), "nothing that is known");
        let listed = meaning(Table::Views, "customers#acme", "c-9");
        assert_eq!(listed, "that acme#c-9 did something");
        let table = Table::named("events-2026-11").unwrap();
        assert_eq!((table.name().as_str(), Table::named("events-2026")), ("events-2026-11", None));
        let event = meaning(table, "acme#c-9#7", "2026-11-20T12:00:00.000Z#e1");
        assert_eq!(event, "the event e1 of c-9, of acme, at 2026-11-20T12:00:00.000Z");
    }

    #[test]
    fn each_shelf_takes_ids_alone() {
        for (name, _, key) in SHELVES {
            assert!(key("a-1").unwrap().contains("a-1"), "{name}");
            assert!(key("<script>").is_err(), "{name}");
        }
    }
}

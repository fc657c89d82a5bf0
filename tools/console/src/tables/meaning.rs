//! Which tables there are, under which keys things are found in them, and what an item is, as its key says.

use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use shared::history::events::{Period, PeriodRow};
use shared::history::summaries::keys as summaries;
use shared::history::tenants::keys as tenants;
use shared::platform::runtime::env;
use shared::platform::stored::StoredIn;
use shared::platform::values::{
    ActivityId, ActorId, BattleId, IdError, PollId, RoomId, TenantId, ViewerId,
};
use shared::social::activities::keys as activities;
use shared::social::battles::keys as battles;
use shared::social::follows::keys as follows;
use shared::social::likes::keys as likes;
use shared::social::notifications::keys as notifications;
use shared::social::polls::keys as polls;
use shared::social::rooms::keys as rooms;
use shared::stored;

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
        let table = match self {
            Self::Timelines => StoredIn::Timelines,
            Self::Ledger => StoredIn::Ledger,
            Self::Facts => StoredIn::Facts,
            Self::Views => StoredIn::Views,
            Self::DeadLetters => StoredIn::DeadLetters,
            Self::Events(_) => StoredIn::Events,
        };
        stored::says(table, pk, sk).unwrap_or_else(|| "nothing that is known".to_owned())
    }
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
        assert_eq!(entry, "an entry of bob's timeline: 2026-11-20T12:00:00.000Z#live-1");
        let (bob, live) = (ViewerId::new("bob").unwrap(), ActivityId::new("live-1").unwrap());
        let like = likes::like(&bob, &live);
        assert_eq!(meaning(Table::Facts, &like.pk, &like.sk), "whether bob likes live-1");
        let poll = polls::view(&PollId::new("mvp").unwrap());
        assert_eq!(meaning(Table::Views, &poll.pk, &poll.sk), "the sums of the poll mvp");
        assert_eq!(meaning(Table::Ledger, "who", "knows"), "nothing that is known");
        let listed = meaning(Table::Views, "customers#acme", "c-9");
        assert_eq!(listed, "that c-9 of acme did something");
        let table = Table::named("events-2026-11").unwrap();
        assert_eq!((table.name().as_str(), Table::named("events-2026")), ("events-2026-11", None));
        let event = meaning(table, "acme#c-9#7", "2026-11-20T12:00:00.000Z#e1");
        assert_eq!(event, "the event e1 of acme#c-9#7, at 2026-11-20T12:00:00.000Z");
    }

    #[test]
    fn each_shelf_takes_ids_alone() {
        for (name, _, key) in SHELVES {
            assert!(key("a-1").unwrap().contains("a-1"), "{name}");
            assert!(key("<script>").is_err(), "{name}");
        }
    }
}

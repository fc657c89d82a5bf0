//! What an item of the ledger is, by its key.

use crate::history::events::keys as events;
use crate::history::refusals::keys as refusals;
use crate::history::tenants::{TenantItem, keys as tenants};
use crate::platform::ledger::PERSON;
use crate::platform::paging::seen_sets;
use crate::platform::receipts;
use crate::platform::stored::{Stored, StoredIn};
use crate::platform::values::{ActorId, ViewerId};
use crate::social::activities::{ActivityItem, keys as activities};
use crate::social::fanout::{ProgressItem, keys as fanout};
use crate::social::follows::keys as follows;
use crate::social::rooms::{RoomItem, keys as rooms};
use crate::social::tags::{TagItem, keys as tags};

/// What an item of the ledger is. An erasure goes through all of these, so a new kind of item is either about a single person,
/// or a new variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LedgerItem {
    Activity(ActivityItem),
    Edge(ViewerId, ActorId),
    /// How far long work has come.
    Progress(ProgressItem),
    Tag(TagItem),
    Person(ViewerId),
    Room(RoomItem),
    /// A definition, a payload of a customer, or an alert of a tenant.
    Tenant(TenantItem),
    /// A period of events, an archive, a seen set of a history, a count of refusals, or receipts: about no person.
    OfNobody,
}

impl LedgerItem {
    /// What the item with this key is; `None` if no feature writes it.
    #[must_use]
    pub fn of(pk: &str, sk: &str) -> Option<Self> {
        let edge = || follows::of_key(pk, sk).map(|(from, to)| Self::Edge(from, to));
        let person = || {
            let viewer = pk.strip_prefix(PERSON)?.split('#').next()?;
            ViewerId::new(viewer).ok().map(Self::Person)
        };
        let activity = activities::of_key(pk, sk).map(Self::Activity);
        activity
            .or_else(edge)
            .or_else(|| fanout::of_key(pk, sk).map(Self::Progress))
            .or_else(|| tags::of_key(pk, sk).map(Self::Tag))
            .or_else(person)
            .or_else(|| rooms::of_key(pk, sk).map(Self::Room))
            .or_else(|| tenants::of_key(pk, sk).map(Self::Tenant))
            .or_else(|| is_of_nobody(pk, sk).then_some(Self::OfNobody))
    }
}

/// The features that store nothing about a person.
const OF_NOBODY: [&[Option<Stored>]; 4] =
    [events::STORED, refusals::STORED, receipts::STORED, seen_sets::STORED];

fn is_of_nobody(pk: &str, sk: &str) -> bool {
    let mut kinds = OF_NOBODY.into_iter().flatten().flatten();
    kinds.any(|kind| kind.table == StoredIn::Ledger && (kind.says)(pk, sk).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::ledger::LedgerKey;
    use crate::platform::values::{ActivityId, RoomId, SortKey};
    use crate::social::activities::ActivityKey;

    #[test]
    fn every_key_says_what_its_item_is() {
        let (bob, anna) =
            (ViewerId::new("bob").expect("an id"), ActorId::new("anna").expect("an id"));
        let live = ActivityId::new("live:1").expect("an id");
        let key = ActivityKey { activity_id: live.clone(), actor_id: anna.clone() };
        let of = |key: LedgerKey| LedgerItem::of(&key.pk, &key.sk);
        assert_eq!(
            of(activities::claim(&live)),
            Some(LedgerItem::Activity(ActivityItem::Claim(live.clone())))
        );
        assert_eq!(
            of(activities::record(&key)),
            Some(LedgerItem::Activity(ActivityItem::Record(key.clone())))
        );
        assert_eq!(
            of(follows::edge(&bob, &anna)),
            Some(LedgerItem::Edge(bob.clone(), anna.clone()))
        );
        let row = LedgerItem::of(&activities::outbox(&anna), "2026-11-20T12:00:00.000Z#live:1");
        assert_eq!(row, Some(LedgerItem::Activity(ActivityItem::OutboxRow(anna.clone()))));
        for sk in ["actor#anna#spread", "actor#anna#spread#0000-0fff"] {
            let found = LedgerItem::of(&fanout::fan_outs(&live), sk);
            assert_eq!(found, Some(LedgerItem::Progress(ProgressItem::FanOut(key.clone()))));
        }
        let reconciliation =
            Some(LedgerItem::Progress(ProgressItem::Reconciliation(bob.clone(), anna)));
        assert_eq!(LedgerItem::of("settle#bob#anna", "any"), reconciliation);
        assert_eq!(of(follows::hidden(&bob)), Some(LedgerItem::Person(bob.clone())));
        assert_eq!(LedgerItem::of("person#bob#profile", "any"), Some(LedgerItem::Person(bob)));
        let sort_key = "2026-11-20T12:00:00.000Z#live:1".parse::<SortKey>().expect("a sort key");
        let bob = ViewerId::new("bob").expect("an id");
        let listing = of(tags::listing(&bob, &sort_key));
        assert_eq!(listing, Some(LedgerItem::Tag(TagItem::Listing(bob.clone(), sort_key))));
        assert_eq!(
            of(tags::tag(&live, &bob)),
            Some(LedgerItem::Tag(TagItem::Tag(live.clone(), bob)))
        );
        let progress = LedgerItem::of(&tags::progress_of(&live), "any");
        assert_eq!(progress, Some(LedgerItem::Tag(TagItem::Progress(live))));
        assert_eq!(of(activities::copy(&3)), Some(LedgerItem::Activity(ActivityItem::Changes)));
        let room = RoomId::new("r").expect("an id");
        let item = RoomItem::Room(room.clone());
        assert_eq!(of(rooms::room(&room)), Some(LedgerItem::Room(item)));
        for (pk, sk) in
            [("", ""), ("likes#bob", "x"), ("activity#live:1", "x"), ("settle#bob", "x")]
        {
            assert_eq!(LedgerItem::of(pk, sk), None, "{pk}");
        }
    }
}

//! Every kind of stored item, and how large one becomes: `docs/LIMITS.md` says what makes it grow, and what happens at
//! the bound.
//!
//! A kind does not compile without its bound, and whatever [`LedgerItem`] and the rows of features know is of a kind.
//! What is of none is found by the model test, which weighs all that is stored.
//!
//! An id takes 128 bytes, an instant 24, a payload 4,096, names and numbers of one item less than 256.

use crate::history::events::keys::EventItem;
use crate::history::refusals::keys::RefusalItem;
use crate::history::summaries::{SummaryItem, SummaryView};
use crate::history::tenants::TenantItem;
use crate::ledger_item::LedgerItem;
use crate::platform::dynamo::item::Key;
use crate::platform::ledger::PERSON;
use crate::platform::projection::caller_part::NOTES;
use crate::platform::projection::{Barrier, checkpoints, redriven};
use crate::social::activities::{ActivityItem, owner};
use crate::social::battles::BattleRow;
use crate::social::battles::keys::{self as battles, BattleView};
use crate::social::fanout::ProgressItem;
use crate::social::likes::keys as likes;
use crate::social::notifications::keys as notifications;
use crate::social::polls::keys::{self as polls, PollRow};
use crate::social::rooms::RoomItem;
use crate::social::tags::TagItem;

/// A table, and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoredIn {
    Timelines,
    Ledger,
    Facts,
    Views,
    DeadLetters,
    Events,
}

/// One line for each kind: its name in `docs/LIMITS.md`, and the most bytes of one such item.
macro_rules! kinds {
    ($($kind:ident, $name:literal, $bytes:expr;)*) => {
        /// A kind of stored item.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind { $($kind,)* }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Its table and what it is called.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The most bytes of one such item, as DynamoDB weighs it.
            #[must_use]
            pub const fn bound(self) -> usize {
                match self { $(Self::$kind => $bytes,)* }
            }
        }
    };
}

/// No row grows beyond.
const ROW: usize = 64 * 1024;
/// No block beside a view does, and no row that brings a change back: it has another row twice, as JSON.
const BLOCK: usize = 128 * 1024;

kinds! {
    Claim, "ledger: claim", 333;
    Record, "ledger: record", 8_724;
    OutboxRow, "ledger: outbox row", 439;
    KindRow, "ledger: row by kind", 356;
    Owner, "facts: owner", 287;
    Changes, "ledger: changes", 1_024;
    Edge, "ledger: edge", 704;
    Followee, "ledger: followee", 340;
    Hidden, "ledger: hidden", 6_700;
    Entry, "timelines: entry", 1_024;
    SeenSet, "ledger: seen set", BLOCK;
    Like, "facts: like", 768;
    LikedEntry, "ledger: entry in a list of likes", 512;
    Likes, "views: likes", ROW;
    ReadMark, "facts: read mark", 768;
    AllRead, "facts: all read", 8_192;
    Inbox, "views: inbox", ROW;
    Notification, "views: notification", 1_024;
    Poll, "facts: poll", 8_192;
    PollEnd, "facts: poll's end", 512;
    Votes, "facts: votes", ROW;
    PollView, "views: poll", ROW;
    PollEvents, "views: poll's events", BLOCK;
    PollWaiting, "views: poll's waiting changes", BLOCK;
    Battle, "facts: battle", 6_144;
    Hit, "facts: hit", 1_024;
    BattleView, "views: battle", ROW;
    BattleLog, "views: battle's log", BLOCK;
    BattleWaiting, "views: battle's waiting hits", BLOCK;
    ViewerHits, "views: viewer's hits", ROW;
    NumberedHit, "views: number of a hit", 512;
    Profile, "ledger: profile", 5_120;
    Tag, "ledger: tag", 768;
    Listing, "ledger: listing", 1_024;
    MessageClaim, "ledger: message claim", 1_024;
    MessageDelete, "ledger: message delete", 1_024;
    Room, "ledger: room", 768;
    Message, "ledger: message", 6_144;
    MessageByAuthor, "ledger: message by author", 6_144;
    Arrivals, "ledger: arrivals", 40_000;
    Membership, "ledger: membership", 768;
    Letter, "dead letters: letter", 62_700;
    BodyPart, "dead letters: body part", 60_300;
    Changed, "facts: changed", BLOCK;
    BarrierRow, "facts: barrier", 512;
    BarrierView, "views: barrier", ROW;
    Checkpoint, "views: checkpoint", 512;
    CountedPart, "views: counted part", 256;
    FanOut, "ledger: fan-out", 2_048;
    Reconciliation, "ledger: reconciliation", 1_024;
    ListingProgress, "ledger: listing progress", 768;
    Receipts, "ledger: receipts", 2_048;
    Period, "ledger: period", 49_152;
    Archiving, "ledger: archiving", 2_048;
    Archived, "ledger: archived", 1_024;
    Keeper, "ledger: keeper", 256;
    Event, "events: event", 4_600;
    CustomerSummary, "views: customer", ROW;
    CustomerDays, "views: customer's days", BLOCK;
    CustomerNames, "views: customer's names", ROW;
    CustomerListed, "views: customer in the list", 512;
    EventNames, "views: name of events", 16_384;
    Witness, "views: witness", 16_384;
    CustomerPayload, "ledger: customer's payload", 5_120;
    Rule, "ledger: rule", 768;
    Score, "ledger: score", 4_096;
    AlertClaim, "ledger: alert's claim", 768;
    Alert, "ledger: alert", 4_096;
    Decided, "ledger: decided periods", 6_144;
    Deciding, "ledger: progress of a rule", 768;
    Daily, "ledger: daily decisions", 40_000;
    DailyTenant, "ledger: progress of daily decisions", 512;
    Refusals, "ledger: refusals of a tenant", 512;
    RefusedEvent, "ledger: refused event", 2_048;
    CountedRefusal, "ledger: counted refusal", 512;
    SubjectRefusals, "ledger: refusals of a subject", 256;
    RefusalsOfDay, "ledger: refusals of a day", 256;
}

impl Kind {
    /// What the item with this key is; `None` if no feature writes such a thing.
    #[must_use]
    pub fn of(table: StoredIn, pk: &str, sk: &str) -> Option<Self> {
        let key = || Key { pk: pk.to_owned(), sk: sk.to_owned() };
        match table {
            StoredIn::Timelines => Some(Self::Entry),
            StoredIn::Ledger => Self::of_ledger(pk, sk),
            StoredIn::Facts => Self::of_facts(&key()),
            StoredIn::Views => Self::of_views(&key()),
            StoredIn::DeadLetters if sk == "letter" => Some(Self::Letter),
            StoredIn::Events => Some(Self::Event),
            StoredIn::DeadLetters => sk.starts_with("body#").then_some(Self::BodyPart),
        }
    }

    fn of_ledger(pk: &str, sk: &str) -> Option<Self> {
        Some(match LedgerItem::of(pk, sk)? {
            LedgerItem::Activity(ActivityItem::Claim(_)) => Self::Claim,
            LedgerItem::Activity(ActivityItem::Record(_)) => Self::Record,
            LedgerItem::Activity(ActivityItem::OutboxRow(_)) => Self::OutboxRow,
            LedgerItem::Edge(..) => Self::Edge,
            LedgerItem::Progress(ProgressItem::FanOut(_)) => Self::FanOut,
            LedgerItem::Progress(ProgressItem::Reconciliation(..)) => Self::Reconciliation,
            LedgerItem::Tag(TagItem::Tag(..)) => Self::Tag,
            LedgerItem::Tag(TagItem::Listing(..)) => Self::Listing,
            LedgerItem::Tag(TagItem::Progress(_)) => Self::ListingProgress,
            LedgerItem::Activity(ActivityItem::Changes) => Self::Changes,
            LedgerItem::Room(RoomItem::Claim(..)) => Self::MessageClaim,
            LedgerItem::Room(RoomItem::Marker(_)) => Self::MessageDelete,
            LedgerItem::Room(RoomItem::Room(_)) => Self::Room,
            LedgerItem::Room(RoomItem::Row(..)) => Self::Message,
            LedgerItem::Room(RoomItem::AuthorRow(_)) => Self::MessageByAuthor,
            LedgerItem::Room(RoomItem::Arrivals(_)) => Self::Arrivals,
            LedgerItem::Events(EventItem::Period(_)) => Self::Period,
            LedgerItem::Events(EventItem::Archiving(_)) => Self::Archiving,
            LedgerItem::Events(EventItem::Archived(..)) => Self::Archived,
            LedgerItem::Events(EventItem::Keeper) => Self::Keeper,
            LedgerItem::Events(EventItem::Seen(_)) => Self::SeenSet,
            LedgerItem::Tenant(TenantItem::Payload(_)) => Self::CustomerPayload,
            LedgerItem::Tenant(TenantItem::Rule(..)) => Self::Rule,
            LedgerItem::Tenant(TenantItem::Score(..)) => Self::Score,
            LedgerItem::Tenant(TenantItem::Claim(..)) => Self::AlertClaim,
            LedgerItem::Tenant(TenantItem::Alert(..)) => Self::Alert,
            LedgerItem::Tenant(TenantItem::Decided(..)) => Self::Decided,
            LedgerItem::Tenant(TenantItem::Deciding(_)) => Self::Deciding,
            LedgerItem::Tenant(TenantItem::Daily(_)) => Self::Daily,
            LedgerItem::Tenant(TenantItem::DailyTenant(_)) => Self::DailyTenant,
            LedgerItem::Tenant(TenantItem::Refusals(_)) => Self::Refusals,
            LedgerItem::Tenant(TenantItem::RefusedEvent(_)) => Self::RefusedEvent,
            LedgerItem::Refusal(RefusalItem::Counted) => Self::CountedRefusal,
            LedgerItem::Refusal(RefusalItem::Subject) => Self::SubjectRefusals,
            LedgerItem::Refusal(RefusalItem::OfDay) => Self::RefusalsOfDay,
            LedgerItem::Receipts => Self::Receipts,
            LedgerItem::Person(_) => return Self::of_person(pk),
        })
    }

    /// What is about one person alone: `person#<id>#<what>`.
    fn of_person(pk: &str) -> Option<Self> {
        let (_, what) = pk.strip_prefix(PERSON)?.split_once('#')?;
        Some(match what.split('#').next()? {
            "following" => Self::Followee,
            "hidden" => Self::Hidden,
            "kind" => Self::KindRow,
            "liked" => Self::LikedEntry,
            "profile" => Self::Profile,
            "rooms" => Self::Membership,
            "seen" => Self::SeenSet,
            _ => return None,
        })
    }

    fn of_facts(key: &Key) -> Option<Self> {
        let poll = || {
            Some(match PollRow::of(key)? {
                PollRow::Opened(_) => Self::Poll,
                PollRow::End(..) => Self::PollEnd,
                PollRow::Vote(..) => Self::Votes,
            })
        };
        let battle = || {
            Some(match BattleRow::of(key)? {
                BattleRow::Opened(_) => Self::Battle,
                BattleRow::Hit(..) => Self::Hit,
            })
        };
        let Key { pk, sk } = key;
        let others = [
            (redriven::brought_back(key).is_some(), Self::Changed),
            (likes::of_like(pk, sk).is_some(), Self::Like),
            (notifications::of_mark(pk, sk).is_some(), Self::ReadMark),
            (notifications::is_all_mark(key), Self::AllRead),
            (owner::of_key(pk, sk).is_some(), Self::Owner),
            (Barrier::of_key(key).is_some(), Self::BarrierRow),
        ];
        let other = others.into_iter().find_map(|(is, kind)| is.then_some(kind));
        other.or_else(poll).or_else(battle)
    }

    fn of_views(key: &Key) -> Option<Self> {
        let notification = || {
            let (_, place) = notifications::of_view(key)?;
            Some(if place.is_some() { Self::Notification } else { Self::Inbox })
        };
        let battle = || {
            Some(match BattleView::of(key)? {
                BattleView::ViewerHits(..) => Self::ViewerHits,
                BattleView::Numbered(..) => Self::NumberedHit,
                BattleView::Itself(_) if battles::is_log(&key.sk) => Self::BattleLog,
                BattleView::Itself(_) if is_waiting(&key.sk) => Self::BattleWaiting,
                BattleView::Itself(_) => Self::BattleView,
            })
        };
        let poll = || {
            polls::of_view(key)?;
            Some(match key.sk.split('#').next()? {
                "events" => Self::PollEvents,
                "waiting" => Self::PollWaiting,
                _ => Self::PollView,
            })
        };
        let likes = likes::counted(key).map(|_| Self::Likes);
        let barrier = || Barrier::is_view(key).then_some(Self::BarrierView);
        let checkpoint = || checkpoints::of_key(&key.pk, &key.sk).map(|_| Self::Checkpoint);
        let summary = || {
            Some(match SummaryItem::of_key(key)? {
                SummaryItem::View(SummaryView::Customer(_)) => Self::CustomerSummary,
                SummaryItem::View(SummaryView::Name(..)) => Self::EventNames,
                SummaryItem::View(SummaryView::Witness(..)) => Self::Witness,
                SummaryItem::Days(_) => Self::CustomerDays,
                SummaryItem::Names(_) => Self::CustomerNames,
                SummaryItem::Listed(_) => Self::CustomerListed,
            })
        };
        let view = likes.or_else(notification).or_else(battle).or_else(poll);
        let counted = || key.pk.starts_with(NOTES).then_some(Self::CountedPart);
        let view = view.or_else(barrier).or_else(checkpoint).or_else(counted);
        view.or_else(summary)
    }
}

fn is_waiting(sort_key: &str) -> bool {
    sort_key.starts_with("waiting#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_is_above_the_bound_of_all() {
        for kind in Kind::ALL {
            let is_block = matches!(
                kind,
                Kind::SeenSet
                    | Kind::PollEvents
                    | Kind::PollWaiting
                    | Kind::BattleLog
                    | Kind::BattleWaiting
                    | Kind::Changed
                    | Kind::CustomerDays
            );
            let most = if is_block { BLOCK } else { ROW };
            assert!(kind.bound() <= most, "{}", kind.name());
        }
    }

    /// Name and bound of each kind of item that the page lists.
    fn of_page() -> Vec<(&'static str, &'static str)> {
        let lines = include_str!("../../docs/LIMITS.md").lines();
        let cells = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
        let is_kind = |name: &str| {
            ["ledger", "facts", "views", "timelines", "dead letters", "events"]
                .iter()
                .any(|table| name.starts_with(&format!("{table}: ")))
        };
        let kinds = cells.filter(|cells| cells.len() == 7 && is_kind(cells[1]));
        kinds.map(|cells| (cells[1], cells[3])).collect()
    }

    #[test]
    fn the_page_says_every_bound() {
        let page = of_page();
        for (name, bound) in &page {
            let kind = Kind::ALL.iter().find(|kind| kind.name() == *name);
            let kind = kind.unwrap_or_else(|| panic!("{name} is no kind"));
            let number = bound.split([':', ' ']).next().unwrap_or_default();
            let said = number.replace(',', "");
            // An empty cell is one that whoever owns the feature has not filled in.
            assert!(said.is_empty() || said == kind.bound().to_string(), "{name}: {said}");
        }
        let missing =
            Kind::ALL.iter().find(|kind| !page.iter().any(|(name, _)| *name == kind.name()));
        assert_eq!(missing.map(|kind| kind.name()), None, "the page lacks it");
    }

    #[test]
    fn keys_say_what_they_are_of() {
        let of = |table, pk: &str, sk: &str| Kind::of(table, pk, sk).map(Kind::name);
        for (table, pk, sk, name) in [
            (StoredIn::Ledger, "person#bob#hidden", "actors", "ledger: hidden"),
            (StoredIn::Ledger, "person#bob#kind#live", "x", "ledger: row by kind"),
            (StoredIn::Facts, "read#bob", "all#m1", "facts: all read"),
            (StoredIn::Facts, "changed#likes#bob", "live#1", "facts: changed"),
            (StoredIn::Views, "poll#p", "waiting#3", "views: poll's waiting changes"),
            (StoredIn::Views, "battle#b", "battle", "views: battle"),
            (StoredIn::Views, "barrier#0a", "barrier", "views: barrier"),
            (StoredIn::Views, "customer#t#c", "summary", "views: customer"),
            (StoredIn::Views, "customer#t#c", "days#020000#0000000001", "views: customer's days"),
            (StoredIn::Views, "names#t#3", "login", "views: name of events"),
            (StoredIn::Views, "witness#2026-11#3", "t", "views: witness"),
            (StoredIn::Views, "shard#0123456789abcdef", "shard", "views: checkpoint"),
            (StoredIn::DeadLetters, "x", "body#m#0001", "dead letters: body part"),
        ] {
            assert_eq!(of(table, pk, sk), Some(name), "{pk}");
        }
        assert_eq!(of(StoredIn::Ledger, "person#bob#unheard-of", "x"), None);
        assert_eq!(of(StoredIn::Facts, "unheard-of#bob", "x"), None);
    }
}

//! Differences as people read them: a line for each.

use nagare_operator::audit::{
    BattleDifference, Difference, EventDifference, FollowingDifference, InboxDifference,
    LikedDifference, LikesDifference, PageDifference, PollDifference, RoomDifference,
    SummaryDifference, TagDifference,
};
use shared::platform::values::Timestamp;
use shared::social::battles::{BattleStatus, Contradiction};
use shared::social::polls::Sums;
use shared::social::rooms::Reason;

/// A difference as people read it.
pub(crate) trait InWords {
    /// One line.
    fn in_words(&self) -> String;
}

impl InWords for Difference {
    fn in_words(&self) -> String {
        let Self { viewer_id, difference, sort_key, actor_id } = self;
        let kind = format!("{difference:?}").to_lowercase();
        let actor = actor_id.as_deref().unwrap_or("nobody");
        format!("{kind:<8} {viewer_id}  {sort_key}  of {actor}")
    }
}

impl InWords for TagDifference {
    fn in_words(&self) -> String {
        let Self { tagged_id, difference, sort_key } = self;
        let kind = format!("{difference:?}").to_lowercase();
        format!("{kind:<8} {tagged_id}  {sort_key}  among what they are tagged in")
    }
}

impl InWords for RoomDifference {
    fn in_words(&self) -> String {
        match self {
            Self::Row { room_id, message_id, difference, reason, pk, sk } => {
                let kind = format!("{difference:?}").to_lowercase();
                let why = match reason {
                    Reason::Absent => "there is nothing",
                    Reason::Hidden => "there is a tombstone, and its author has not deleted it",
                    Reason::Deleted => "it was deleted",
                    Reason::Unclaimed => "nobody has claimed that id for it",
                    Reason::Misplaced => "it belongs into another shard",
                    Reason::Author => "it is in the name of somebody else",
                    Reason::Payload => "it says something else than what was posted first",
                };
                format!("{kind:<8} {message_id}  in room {room_id}, at {pk} {sk}: {why}")
            }
            Self::Shards { room_id, shards, needed } => format!(
                "room     {room_id}  has {shards} shards, and its messages are spread over {needed}"
            ),
            Self::Open { room_id, .. } => {
                format!(
                    "room     {room_id}  is open, and somebody has joined it or said something private there"
                )
            }
        }
    }
}

impl InWords for PageDifference {
    fn in_words(&self) -> String {
        let Self { activity_id, actor_id, missing_in_outbox, missing_of_kind } = self;
        let all = missing_in_outbox.then(|| "all kinds".to_owned());
        let one = missing_of_kind.as_ref().map(|kind| format!("kind {kind}"));
        let pages = all.into_iter().chain(one).collect::<Vec<_>>().join(" and of ");
        format!("missing  {activity_id}  on the pages of {actor_id}, of {pages}")
    }
}

impl InWords for FollowingDifference {
    fn in_words(&self) -> String {
        let Self { viewer_id, actor_id, listed_since, follows_since } = self;
        let since =
            |at: &Option<Timestamp>| at.map_or("not".to_owned(), |at| format!("since {at}"));
        let (listed, follows) = (since(listed_since), since(follows_since));
        format!("follows  {viewer_id}  {actor_id} listed {listed}, followed {follows}")
    }
}

impl InWords for LikedDifference {
    fn in_words(&self) -> String {
        let Self { viewer_id, activity_id, liked_at, listed } = self;
        let what = if *listed { "listed, and not liked" } else { "liked, and not listed" };
        format!("liked    {viewer_id}  {activity_id} since {liked_at} {what}")
    }
}

impl InWords for LikesDifference {
    fn in_words(&self) -> String {
        let Self { activity_id, stored, recounted, .. } = self;
        format!(
            "likes    {activity_id}  {} instead of {}, {} read instead of {}, {} unread instead of {}",
            stored.count,
            recounted.count,
            stored.read,
            recounted.read,
            stored.unread,
            recounted.unread
        )
    }
}

impl InWords for InboxDifference {
    fn in_words(&self) -> String {
        let Self { viewer_id, stored, recounted, .. } = self;
        format!(
            "inbox    {viewer_id}  {stored} unread instead of {recounted}, {} listed instead of {}",
            self.stored_notifications, self.recounted_notifications
        )
    }
}

impl InWords for EventDifference {
    fn in_words(&self) -> String {
        let Self { tenant_id, period, difference, of, detail } = self;
        let kind = format!("{difference:?}").to_lowercase();
        let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        format!("{kind:<8} {tenant_id}  {period}  {of}{detail}")
    }
}

impl InWords for SummaryDifference {
    fn in_words(&self) -> String {
        let Self { tenant_id, difference, of, detail } = self;
        let kind = format!("{difference:?}").to_lowercase();
        format!("{kind:<8} {tenant_id}  {of}  {detail}")
    }
}

impl InWords for PollDifference {
    fn in_words(&self) -> String {
        let Self { poll_id, stored, recounted, events_differ } = self;
        let words = |sums: &Option<Sums>| match sums {
            None => "no poll".to_owned(),
            Some(Sums { choices, votes, closes_at, .. }) => {
                let votes = choices.iter().zip(votes).map(|(choice, n)| format!("{choice} {n}"));
                format!("{} until {closes_at}", votes.collect::<Vec<_>>().join(", "))
            }
        };
        let events = if *events_differ { "; an early end would take back others" } else { "" };
        format!("poll     {poll_id}  {} instead of {}{events}", words(stored), words(recounted))
    }
}

impl InWords for BattleDifference {
    fn in_words(&self) -> String {
        let standing = |it: &BattleStatus| {
            let last = it.last_hit.as_ref().map_or("none", |hit| hit.hit_id.as_str());
            format!(
                "{} hits, {} of {} hit points left, the last hit {last}",
                it.hits, it.hp_left, it.hp
            )
        };
        match self {
            Self::View { battle_id, stored, replayed } => {
                let stored = stored.as_ref().map_or_else(|| "no battle".to_owned(), standing);
                format!("battle   {battle_id}  {stored} instead of {}", standing(replayed))
            }
            Self::Share { battle_id, viewer_id, stored, replayed } => format!(
                "share    {battle_id}  {viewer_id}  {} hits with damage {} instead of {} with {}",
                stored.hits, stored.damage, replayed.hits, replayed.damage
            ),
            Self::Hit { battle_id, hit_id, stored, replayed } => {
                let words = |number: &Option<u64>| {
                    number.map_or_else(|| "not landed".to_owned(), |it| format!("landed as {it}"))
                };
                let [stored, replayed] = [stored, replayed].map(words);
                format!("hit      {battle_id}  {hit_id} {stored} instead of {replayed}")
            }
            Self::Log { battle_id, hit_id, contradiction } => {
                let what = match contradiction {
                    Contradiction::LandedTwice => "has landed twice",
                    Contradiction::NotOnRecord => "has landed and is not on record",
                    Contradiction::NotAsRecorded => "has landed as another one than is on record",
                    Contradiction::AfterTheLast => "has landed after the last one",
                    Contradiction::BehindAGap => {
                        "has landed behind hits that are missing in the log"
                    }
                    Contradiction::NeverLanded => "is on record and has not landed",
                };
                format!("log      {battle_id}  {hit_id} {what}")
            }
        }
    }
}

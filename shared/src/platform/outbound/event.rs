//! The outbound events, and their format.

use ring::digest::{SHA256, digest};
use serde::Serialize;

use super::BusError;
use crate::platform::crypto::hash::hex;
use crate::platform::values::{
    ActivityId, ActorId, AlertId, BattleId, CustomerId, HitId, Kind, Payload, PollId, RuleId,
    ScoreId, TenantId, Timestamp, ViewerId,
};

/// The form of a detail. A member that is added does not change it.
const VERSION: u8 = 1;
/// Bytes of a digest that are an id: 128 bits.
const ID_BYTES: usize = 16;

/// All types, as rules match them by `detail-type`.
pub const TYPES: [&str; 5] =
    ["activity.published", "follow.created", "poll.closed", "battle.defeated", "alert.raised"];

/// What has happened. Its members are those of the detail, beside `version`, `id` and `at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Happened {
    /// An activity was published, and timelines show it.
    ActivityPublished {
        activity_id: ActivityId,
        actor_id: ActorId,
        /// What kind of activity it is by now.
        kind: Kind,
        /// What the product keeps there, by now.
        payload: Payload,
    },
    /// Somebody has begun to follow an actor.
    FollowCreated { follower_id: ViewerId, followee_id: ActorId },
    /// The actor of a poll has brought its end forward. It ends at `at`.
    PollClosed { poll_id: PollId, actor_id: ActorId },
    /// No hit points are left.
    BattleDefeated {
        battle_id: BattleId,
        actor_id: ActorId,
        /// How many there were.
        hp: u64,
        hits: u64,
        last_hit: LastHit,
    },
    /// A tenant is alerted to a customer.
    AlertRaised {
        tenant_id: TenantId,
        alert_id: AlertId,
        customer_id: CustomerId,
        /// The rule that has given it, unless it was a score.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule_id: Option<RuleId>,
        /// The score that has given it, unless it was a rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        score_id: Option<ScoreId>,
        /// Of which period it is, unless it was decided for a day.
        #[serde(skip_serializing_if = "Option::is_none")]
        period: Option<String>,
        /// For which day it was decided, if it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        day: Option<String>,
        events: u64,
    },
}

/// The last hit of a battle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastHit {
    pub hit_id: HitId,
    /// Who has hit; `None` if that was erased.
    pub viewer_id: Option<ViewerId>,
    pub damage: u64,
}

/// An event that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundEvent {
    kind: &'static str,
    id: String,
    detail: String,
    recorded_at: Timestamp,
}

/// As rules match it and their targets are given it.
#[derive(Serialize)]
struct Detail<'a> {
    version: u8,
    id: &'a str,
    at: Timestamp,
    #[serde(flatten)]
    happened: &'a Happened,
}

impl OutboundEvent {
    /// What has happened at an instant, by what the commands say, and was put on record at another.
    ///
    /// # Errors
    /// [`BusError::Refused`] if it cannot be written as JSON.
    pub fn new(
        happened: &Happened,
        at: Timestamp,
        recorded_at: Timestamp,
    ) -> Result<Self, BusError> {
        let id = happened.id(at);
        let detail = Detail { version: VERSION, id: &id, at, happened };
        let detail = serde_json::to_string(&detail);
        let detail = detail.map_err(|error| BusError::Refused(error.to_string()))?;
        Ok(Self { kind: happened.kind(), id, detail, recorded_at })
    }

    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The id that stays, however often it is sent.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The detail, in JSON.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// When it was put on record what it tells of.
    pub(super) fn recorded_at(&self) -> Timestamp {
        self.recorded_at
    }
}

impl Happened {
    fn kind(&self) -> &'static str {
        let [published, followed, closed, defeated, raised] = TYPES;
        match self {
            Self::ActivityPublished { .. } => published,
            Self::FollowCreated { .. } => followed,
            Self::PollClosed { .. } => closed,
            Self::BattleDefeated { .. } => defeated,
            Self::AlertRaised { .. } => raised,
        }
    }

    /// A digest of what makes it this event and no other. Ids have no `#`.
    fn id(&self, at: Timestamp) -> String {
        let about = match self {
            Self::ActivityPublished { activity_id, .. } => activity_id.to_string(),
            Self::FollowCreated { follower_id, followee_id } => {
                format!("{follower_id}#{followee_id}#{at}")
            }
            Self::PollClosed { poll_id, .. } => format!("{poll_id}#{at}"),
            Self::BattleDefeated { battle_id, .. } => battle_id.to_string(),
            Self::AlertRaised { tenant_id, alert_id, .. } => format!("{tenant_id}#{alert_id}"),
        };
        let text = format!("{}#{about}", self.kind());
        hex(&digest(&SHA256, text.as_bytes()).as_ref()[..ID_BYTES])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::platform::values::{MAX_ID_LENGTH, MAX_PAYLOAD_BYTES};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(millis)
    }

    fn published(payload: &str) -> Happened {
        Happened::ActivityPublished {
            activity_id: ActivityId::new("live-1").expect("an id"),
            actor_id: ActorId::new("anna").expect("an id"),
            kind: Kind::new("live").expect("a kind"),
            payload: Payload::parse(payload).expect("a payload"),
        }
    }

    #[test]
    fn a_detail_says_what_happened_and_keeps_the_digits_of_a_payload() {
        let event = OutboundEvent::new(&published(r#"{"n":1.0}"#), at(0), at(9)).expect("JSON");
        assert!(event.detail().contains(r#""payload":{"n":1.0}"#), "{}", event.detail());
        let detail: Value = serde_json::from_str(event.detail()).expect("JSON");
        assert_eq!(
            detail,
            json!({"version": 1, "id": event.id(), "at": "1970-01-01T00:00:00.000Z",
                "activity_id": "live-1", "actor_id": "anna", "kind": "live", "payload": {"n": 1.0}})
        );
        assert_eq!((event.kind(), event.id().len()), ("activity.published", 32));
    }

    #[test]
    fn an_id_stays_and_is_of_one_thing_alone() {
        let follow = |follower: &str, followee: &str, millis| {
            let happened = Happened::FollowCreated {
                follower_id: ViewerId::new(follower).expect("an id"),
                followee_id: ActorId::new(followee).expect("an id"),
            };
            OutboundEvent::new(&happened, at(millis), at(millis + 9)).expect("JSON").id
        };
        let of = |payload, recorded| {
            OutboundEvent::new(&published(payload), at(0), at(recorded)).expect("JSON").id
        };
        assert_eq!(of("1", 0), of("2", 9), "neither what it says nor when it was noted changes it");
        assert_eq!(follow("a", "b", 1), follow("a", "b", 1));
        let different = [follow("a", "b", 1), follow("a", "b", 2), follow("b", "a", 1), of("1", 0)];
        let distinct: std::collections::BTreeSet<_> = different.iter().collect();
        assert_eq!(distinct.len(), different.len());
    }

    /// What is billed as one event, and of which ten are far below what one call takes.
    #[test]
    fn the_largest_event_is_small() {
        let id = "x".repeat(MAX_ID_LENGTH);
        let happened = Happened::ActivityPublished {
            activity_id: ActivityId::new(id.clone()).expect("an id"),
            actor_id: ActorId::new(id).expect("an id"),
            kind: Kind::new("k".repeat(32)).expect("a kind"),
            payload: Payload::parse(&format!("\"{}\"", "x".repeat(MAX_PAYLOAD_BYTES - 2)))
                .expect("a payload"),
        };
        let event = OutboundEvent::new(&happened, at(0), at(0)).expect("JSON");
        assert!(event.detail().len() < 5 * 1024, "{}", event.detail().len());
    }
}

//! Activities: how a publish, its edits and its delete merge, whatever order they arrive in.
//!
//! An [`ActivityRecord`] has what is known of one activity *of one actor*. It is filled by [`merge`](ActivityRecord::merge), which
//! is idempotent, and commutative except for one deliberate case: of two publishes with different content, the first to be
//! processed stays. A deleted record has no content, whatever arrives later: nobody is ever shown it. There is one record for each
//! activity **and actor**. So a delete or an edit in the name of somebody else changes a record that is never published, and has no
//! effect, without anybody having to know the true actor at that moment.

use crate::platform::values::{ActivityId, ActorId, Kind, Payload, SortKey, Timestamp};

/// The key of a record: an activity and an actor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityKey {
    pub activity_id: ActivityId,
    pub actor_id: ActorId,
}

/// What was published, before any edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub at: Timestamp,
    pub kind: Kind,
    pub payload: Payload,
}

/// A value and when it was set. The latest wins; on a tie the greater value, so that every order
/// of arrival ends in the same place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit<T> {
    /// When it was set.
    pub at: Timestamp,
    pub value: T,
}

/// All that is known of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivityRecord {
    /// The publish, once it was processed.
    pub published: Option<Published>,
    /// The tombstone: set permanently by a delete.
    pub deleted: bool,
    /// The latest payload sent by an update.
    pub payload: Option<Edit<Payload>>,
    /// The latest kind sent by an update; updates without a kind leave it alone.
    pub kind: Option<Edit<Kind>>,
}

/// A change of an activity by a command.
#[derive(Debug, Clone)]
pub enum ActivityChange {
    Publish(Published),
    Update {
        payload: Edit<Payload>,
        /// The new kind, if given.
        kind: Option<Edit<Kind>>,
    },
    Delete,
}

impl ActivityRecord {
    /// Merges a change; idempotent.
    pub fn merge(&mut self, change: ActivityChange) {
        match change {
            ActivityChange::Publish(published) => {
                self.published.get_or_insert(published);
            }
            ActivityChange::Update { payload, kind } => {
                keep_latest(&mut self.payload, Some(payload));
                keep_latest(&mut self.kind, kind);
            }
            ActivityChange::Delete => self.deleted = true,
        }
        if self.deleted {
            self.drop_content();
        }
    }

    /// Drops the content, and keeps the instant of the publish, which determines where its entries are.
    fn drop_content(&mut self) {
        (self.payload, self.kind) = (None, None);
        if let Some(Published { kind, payload, .. }) = &mut self.published {
            (*kind, *payload) = (Kind::default(), Payload::default());
        }
    }

    /// The content that readers are shown; `None` before the publish and after a delete.
    pub fn visible(&self) -> Option<Published> {
        let published = self.published.as_ref().filter(|_| !self.deleted)?;
        Some(Published {
            at: published.at,
            kind: self.kind.as_ref().map_or(&published.kind, |edit| &edit.value).clone(),
            payload: self.payload.as_ref().map_or(&published.payload, |edit| &edit.value).clone(),
        })
    }
}

fn keep_latest<T: Ord>(current: &mut Option<Edit<T>>, edit: Option<Edit<T>>) {
    // `None` is less than any edit: the publish counts as the earliest.
    if edit > *current {
        *current = edit;
    }
}

impl Published {
    /// The sort key, in every timeline, of the activity that `key` names.
    pub fn sort_key(&self, key: &ActivityKey) -> SortKey {
        SortKey { published_at: self.at, activity_id: key.activity_id.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit<T>(value: T, at: i64) -> Edit<T> {
        Edit { at: Timestamp::from_unix_millis(at), value }
    }

    fn payloads() -> impl Strategy<Value = Payload> {
        (0_u8..3).prop_map(|n| Payload::parse(&n.to_string()).expect("a number"))
    }

    fn kinds() -> impl Strategy<Value = Kind> {
        "[a-c]".prop_map(|text| Kind::new(text).expect("a letter"))
    }

    fn changes() -> impl Strategy<Value = ActivityChange> {
        let published = Published {
            at: Timestamp::from_unix_millis(9),
            kind: Kind::new("p").expect("a letter"),
            payload: Payload::parse("9").expect("a number"),
        };
        prop_oneof![
            Just(ActivityChange::Publish(published)),
            (payloads(), proptest::option::of(kinds()), 0_i64..4).prop_map(|(p, k, at)| {
                ActivityChange::Update { payload: edit(p, at), kind: k.map(|k| edit(k, at)) }
            }),
            Just(ActivityChange::Delete),
        ]
    }

    fn merged(changes: &[ActivityChange]) -> ActivityRecord {
        let mut record = ActivityRecord::default();
        changes.iter().for_each(|change| record.merge(change.clone()));
        record
    }

    proptest! {
        #[test]
        fn nothing_is_kept_of_what_a_deleted_activity_said(
            before in proptest::collection::vec(changes(), 0..8),
            after in proptest::collection::vec(changes(), 0..8),
        ) {
            let changes: Vec<_> = before.into_iter().chain([ActivityChange::Delete]).chain(after).collect();
            let ActivityRecord { published, deleted, payload, kind } = merged(&changes);
            let content = published.map(|published| (published.kind, published.payload));
            prop_assert!(content.is_none_or(|it| it == (Kind::default(), Payload::default())));
            prop_assert_eq!((deleted, payload, kind), (true, None, None));
        }

        #[test]
        fn order_and_repetition_do_not_matter(
            (first, second) in proptest::collection::vec(changes(), 0..8)
                .prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        ) {
            let mut repeated = second.clone();
            repeated.extend(second);
            prop_assert_eq!(merged(&first), merged(&repeated));
        }
    }
}

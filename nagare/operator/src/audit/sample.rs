//! Picking what is audited at random.

use std::collections::BTreeSet;

use shared::battles::BattleRow;
use shared::dynamo::item::Key;
use shared::dynamo::{DynamoError, Query};
use shared::facts::Facts;
use shared::ledger::Ledger;
use shared::likes;
use shared::polls::PollRow;
use shared::rooms::{RoomItem, keys as rooms};
use shared::values::{ActivityId, BattleId, PollId, RoomId};

use crate::scan::scan;

/// What is picked at random.
#[derive(Debug, Default)]
pub struct Sample {
    /// Of the activities that somebody likes or has liked.
    pub activities: Vec<ActivityId>,
    /// Of the polls.
    pub polls: Vec<PollId>,
    /// Of the battles.
    pub battles: Vec<BattleId>,
    /// Of the rooms in which something was said.
    pub rooms: Vec<RoomId>,
}

impl Sample {
    /// Picks up to `size` of each kind.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn of(facts: &Facts, ledger: &Ledger, size: usize) -> Result<Self, DynamoError> {
        let (mut activities, mut polls, mut battles) = <(BTreeSet<_>, Vec<_>, Vec<_>)>::default();
        let query = Query { projection: Some("pk, sk"), ..Query::default() };
        scan(facts.table(), "facts read", query, |row| {
            let key = Key::of(row)?;
            activities.extend(likes::keys::of_key(&key).map(|(_, activity)| activity));
            if let Some(PollRow::Opened(poll)) = PollRow::of(&key) {
                polls.push(poll);
            }
            if let Some(BattleRow::Opened(battle)) = BattleRow::of(&key) {
                battles.push(battle);
            }
            Ok(())
        })
        .await?;
        Ok(Self {
            activities: picked(activities, size),
            polls: picked(polls, size),
            battles: picked(battles, size),
            rooms: picked(said_in(ledger).await?, size),
        })
    }
}

/// Reads the rooms of all messages.
async fn said_in(ledger: &Ledger) -> Result<BTreeSet<RoomId>, DynamoError> {
    let mut found = BTreeSet::new();
    scan(ledger.table(), "items of the ledger read", rooms::claims(), |row| {
        let Key { pk, sk } = Key::of(row)?;
        if let Some(RoomItem::Claim(room, _)) = rooms::of_key(&pk, &sk) {
            found.insert(room);
        }
        Ok(())
    })
    .await?;
    Ok(found)
}

/// Up to `size` of them at random, in order.
pub(super) fn picked<T: Ord>(all: impl IntoIterator<Item = T>, size: usize) -> Vec<T> {
    let mut picked = fastrand::choose_multiple(all, size);
    picked.sort();
    picked
}

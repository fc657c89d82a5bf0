//! Picking what is audited at random.

use std::collections::BTreeSet;

use shared::platform::dynamo::Query;
use shared::platform::dynamo::item::Key;
use shared::platform::facts::Facts;
use shared::platform::ledger::{BY_FOLLOWER, Ledger};
use shared::platform::values::{ActivityId, BattleId, PollId, RoomId, ViewerId};
use shared::social::battles::BattleRow;
use shared::social::likes;
use shared::social::polls::PollRow;
use shared::social::rooms::{RoomItem, keys};

use crate::Result;
use crate::scan::scan;

#[derive(Debug, Default)]
pub struct Sample {
    /// Of the activities that somebody likes or has liked.
    pub activities: Vec<ActivityId>,
    pub polls: Vec<PollId>,
    pub battles: Vec<BattleId>,
    /// Of the rooms in which something was said.
    pub rooms: Vec<RoomId>,
}

impl Sample {
    /// Picks up to `size` of each kind.
    pub async fn draw(facts: &Facts, ledger: &Ledger, size: usize) -> Result<Self> {
        let (mut activities, mut polls, mut battles) = <(BTreeSet<_>, Vec<_>, Vec<_>)>::default();
        let query = Query { projection: Some("pk, sk"), ..Query::default() };
        scan(facts.table(), "facts read", query, |row| {
            let key = Key::of(row)?;
            activities.extend(likes::keys::of_like(&key.pk, &key.sk).map(|(_, activity)| activity));
            if let Some(PollRow::Opened(poll)) = PollRow::of(&key) {
                polls.push(poll);
            }
            if let Some(BattleRow::Opened(battle)) = BattleRow::of(&key) {
                battles.push(battle);
            }
            Ok(())
        })
        .await?;
        let mut rooms = BTreeSet::new();
        scan(ledger.table(), "items of the ledger read", keys::claims(), |row| {
            let Key { pk, sk } = Key::of(row)?;
            if let Some(RoomItem::Claim(room, _)) = keys::of_key(&pk, &sk) {
                rooms.insert(room);
            }
            Ok(())
        })
        .await?;
        Ok(Self {
            activities: picked(activities, size),
            polls: picked(polls, size),
            battles: picked(battles, size),
            rooms: picked(rooms, size),
        })
    }
}

/// Up to `size` of them at random, in order.
pub(super) fn picked<T: Ord>(all: impl IntoIterator<Item = T>, size: usize) -> Vec<T> {
    let mut picked = fastrand::choose_multiple(all, size);
    picked.sort();
    picked
}

/// Reads the viewers of all edges.
pub(super) async fn followers(ledger: &Ledger) -> Result<BTreeSet<ViewerId>> {
    let query =
        Query { index: Some(BY_FOLLOWER), projection: Some("follower_id"), ..Query::default() };
    let mut followers = BTreeSet::new();
    scan(ledger.table(), "edges read", query, |row| {
        followers.insert(row.parsed("follower_id", "an id")?);
        Ok(())
    })
    .await?;
    Ok(followers)
}

//! What is delivered: likes of one activity, some of them undone, some delivered twice.

use fastrand::Rng;
use nagare::Failure;
use shared::platform::register::Register;
use shared::platform::values::{ActivityId, Timestamp, ViewerId};
use shared::social::likes::LikeChange;

/// What chance is drawn from: every design gets the same deliveries.
const SEED: u64 = 7;
/// A duplicate comes up to this many deliveries behind the first.
const BEHIND: usize = 1_000;
/// Milliseconds between a like and its undo.
const UNDONE_AFTER: i64 = 60_000;

/// Deliveries in their order. An undo comes behind its like; a duplicate may come behind either.
#[derive(Debug, Clone)]
pub(super) struct LikesPlan {
    pub(super) deliveries: Vec<LikeChange>,
    /// Different commands among them.
    pub(super) commands: usize,
    /// How many like the activity in the end.
    pub(super) truth: u64,
}

impl LikesPlan {
    /// N likes, of which a share is undone; and of all these, a share is delivered twice.
    pub(super) fn of(
        likes: usize,
        [undos, duplicates]: [f64; 2],
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let (mut random, mut order) = (Rng::with_seed(SEED), Vec::new());
        let mut undone = 0;
        for number in 0..likes {
            let place = order.len();
            let mut changes = vec![(place, change(number, true, now)?)];
            if random.f64() < undos {
                undone += 1;
                changes.push((place + random.usize(1..=BEHIND), change(number, false, now)?));
            }
            for (place, change) in changes {
                if random.f64() < duplicates {
                    order.push((place + random.usize(1..=BEHIND), change.clone()));
                }
                order.push((place, change));
            }
        }
        // Stable: what was delivered first stays first.
        order.sort_by_key(|(place, _)| *place);
        let deliveries: Vec<_> = order.into_iter().map(|(_, change)| change).collect();
        Ok(Self { deliveries, commands: likes + undone, truth: (likes - undone) as u64 })
    }

    /// One like.
    pub(super) fn one(now: Timestamp) -> Result<Self, Failure> {
        Self::of(1, [0.0, 0.0], now)
    }

    /// The undo of that like.
    pub(super) fn undo(now: Timestamp) -> Result<Self, Failure> {
        Ok(Self { deliveries: vec![change(0, false, now)?], commands: 1, truth: 0 })
    }
}

/// What every viewer likes.
pub(super) fn activity() -> Result<ActivityId, Failure> {
    Ok(ActivityId::new("bench-live")?)
}

fn change(number: usize, liked: bool, now: Timestamp) -> Result<LikeChange, Failure> {
    let changed_at = if liked { now.plus_millis(-UNDONE_AFTER) } else { now };
    Ok(LikeChange {
        viewer_id: ViewerId::new(super::super::follower(number as u64))?,
        activity_id: activity()?,
        state: Register { on: liked, changed_at },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashSet;

    use super::*;

    fn plan(undos: f64, duplicates: f64) -> LikesPlan {
        LikesPlan::of(5_000, [undos, duplicates], Timestamp::from_unix_millis(1_795_000_000_000))
            .unwrap()
    }

    #[test]
    fn every_command_is_delivered_and_some_are_twice() {
        let plan = plan(0.1, 0.2);
        let name = |change: &LikeChange| (change.viewer_id.clone(), change.state.on);
        let different: HashSet<_> = plan.deliveries.iter().map(name).collect();
        assert_eq!(different.len(), plan.commands);
        let twice = plan.deliveries.len() - plan.commands;
        assert!((900..1_300).contains(&twice), "{twice}");
        let undone = plan.commands - 5_000;
        assert!((400..600).contains(&undone), "{undone}");
        assert_eq!(plan.truth, (5_000 - undone) as u64);
    }

    #[test]
    fn an_undo_comes_behind_its_like() {
        let plan = plan(1.0, 0.5);
        let mut liked = HashSet::new();
        for change in &plan.deliveries {
            match change.state.on {
                true => drop(liked.insert(change.viewer_id.clone())),
                false => assert!(liked.contains(&change.viewer_id)),
            }
        }
        assert_eq!(plan.truth, 0);
    }
}

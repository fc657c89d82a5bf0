//! Replays a battle from its log: operators compare the result with what is shown.
//!
//! The log is the truth: it is the order in which hits have landed. Contradictions within the log, or with the hits on record, are
//! reported and not repaired, because there is nothing to repair them from.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::viewer_hits::{ViewerHits, by_viewer};
use super::{BattleDefinition, BattleState, Hit, Landed};
use crate::platform::projection::DerivedItem;
use crate::platform::values::{ActorId, BattleId, HitId, ViewerId};

/// The state of a battle, for comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BattleStatus {
    pub actor_id: ActorId,
    pub hp: u64,
    pub hp_left: u64,
    pub hits: u64,
    /// The latest hit that landed.
    pub last_hit: Option<Hit>,
}

/// A contradiction in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contradiction {
    /// The hit has landed before.
    LandedTwice,
    /// No such hit is on record.
    NotOnRecord,
    /// The hit on record has other damage, or another viewer.
    NotAsRecorded,
    /// The boss was defeated before.
    AfterTheLast,
    /// Hits before this one are missing in the log.
    BehindAGap,
    /// The hit is on record and has not landed, although hit points are left.
    NeverLanded,
}

/// A viewer's totals at the end of each block with hits of theirs, by its first hit.
type Totals = BTreeMap<u64, ViewerHits>;

/// The replay of a battle.
#[derive(Debug)]
pub struct Replay {
    definition: BattleDefinition,
    hits: u64,
    hp_left: u64,
    last: Option<Hit>,
    by_viewer: BTreeMap<ViewerId, Totals>,
    numbers: BTreeMap<HitId, u64>,
    contradictions: Vec<(HitId, Contradiction)>,
}

impl Replay {
    /// Replays the blocks of the log, each with the number of its first hit, and then checks all hits on record. `stored` is the view, for hits whose records have expired.
    pub fn run(
        definition: BattleDefinition,
        blocks: &[(u64, Vec<Landed>)],
        on_record: &HashMap<HitId, Hit>,
        stored: &BattleState,
    ) -> Self {
        let mut replay = Self {
            hp_left: definition.hp,
            definition,
            hits: 0,
            last: None,
            by_viewer: BTreeMap::new(),
            numbers: BTreeMap::new(),
            contradictions: Vec::new(),
        };
        let mut landed = HashSet::new();
        for (first, hits) in blocks {
            if let Some(hit) = hits.first().filter(|_| *first != replay.hits) {
                replay.contradictions.push((hit.hit_id.clone(), Contradiction::BehindAGap));
            }
            for (hit, number) in hits.iter().zip(*first..) {
                let is_new = landed.insert(&hit.hit_id);
                replay.numbers.insert(hit.hit_id.clone(), number);
                replay.land(hit, is_new, on_record.get(&hit.hit_id), stored);
            }
            for (viewer, in_block) in by_viewer(hits) {
                let totals = replay.by_viewer.entry(viewer.clone()).or_default();
                let before = totals.last_key_value().map(|(_, total)| *total);
                totals.insert(*first, before.unwrap_or_default().and(in_block));
            }
        }
        if replay.hp_left > 0 {
            let missing = on_record.keys().filter(|hit| !landed.contains(hit)).cloned();
            let mut missing: Vec<_> = missing.collect();
            missing.sort();
            let missing = missing.into_iter().map(|hit| (hit, Contradiction::NeverLanded));
            replay.contradictions.extend(missing);
        }
        replay
    }

    fn land(&mut self, hit: &Landed, is_new: bool, on_record: Option<&Hit>, stored: &BattleState) {
        let mut contradicts = |how| self.contradictions.push((hit.hit_id.clone(), how));
        if !is_new {
            contradicts(Contradiction::LandedTwice);
        }
        if self.hp_left == 0 {
            contradicts(Contradiction::AfterTheLast);
        }
        match on_record {
            Some(there) if Landed::from(there) != *hit => contradicts(Contradiction::NotAsRecorded),
            // A hit without a viewer was erased, so its record may have expired.
            None if hit.viewer_id.is_some() => contradicts(Contradiction::NotOnRecord),
            _ => {}
        }
        self.hp_left = self.hp_left.saturating_sub(hit.damage);
        self.hits += 1;
        let last = stored.last_hit().filter(|last| last.hit_id == hit.hit_id);
        let at = on_record.or(last).map_or(self.definition.at, |there| there.at);
        let Landed { hit_id, viewer_id, damage } = hit.clone();
        self.last = Some(Hit { hit_id, viewer_id, damage, at });
    }

    pub fn status(&self) -> BattleStatus {
        let BattleDefinition { actor_id, hp, .. } = &self.definition;
        let (hp_left, hits, last_hit) = (self.hp_left, self.hits, self.last.clone());
        BattleStatus { actor_id: actor_id.clone(), hp: *hp, hp_left, hits, last_hit }
    }

    /// The contradictions, with the hits that they are about.
    pub fn contradictions(&self) -> &[(HitId, Contradiction)] {
        &self.contradictions
    }

    /// The totals of a viewer.
    pub fn viewer_hits(&self, viewer: &ViewerId) -> ViewerHits {
        let last = self.by_viewer.get(viewer).and_then(BTreeMap::last_key_value);
        last.map_or_else(ViewerHits::default, |(_, total)| *total)
    }

    /// True if there are no contradictions.
    pub fn is_sound(&self) -> bool {
        self.contradictions.is_empty()
    }

    /// True if the only contradictions are hits on record that are not in the log.
    pub fn only_lacks_hits(&self) -> bool {
        self.contradictions.iter().all(|(_, what)| *what == Contradiction::NeverLanded)
    }

    /// The viewers whose hits have landed, with their totals.
    pub fn by_viewer(&self) -> &BTreeMap<ViewerId, Totals> {
        &self.by_viewer
    }

    /// The number of each hit that has landed.
    pub fn numbers(&self) -> &BTreeMap<HitId, u64> {
        &self.numbers
    }

    /// The items with the totals of a viewer.
    pub fn items(&self, battle: &BattleId, viewer: &ViewerId) -> Vec<DerivedItem> {
        let totals = self.by_viewer.get(viewer).into_iter().flatten();
        totals.map(|(first, total)| total.total(battle, viewer, *first)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::platform::values::{Payload, Timestamp};

    fn hit(id: &str, damage: u64) -> Hit {
        Hit {
            hit_id: HitId::new(id).expect("an id"),
            viewer_id: Some(ViewerId::new("bob").expect("an id")),
            damage,
            at: Timestamp::from_unix_millis(7),
        }
    }

    fn replay(blocks: &[(u64, &[Hit])], on_record: &[Hit]) -> Replay {
        let definition = BattleDefinition {
            actor_id: ActorId::new("anna").expect("an id"),
            hp: 10,
            at: Timestamp::from_unix_millis(0),
            payload: Payload::default(),
        };
        let blocks =
            blocks.iter().map(|(first, hits)| (*first, hits.iter().map(Landed::from).collect()));
        let on_record = on_record.iter().map(|hit| (hit.hit_id.clone(), hit.clone())).collect();
        Replay::run(definition, &blocks.collect::<Vec<_>>(), &on_record, &BattleState::default())
    }

    fn contradictions(replay: &Replay) -> Vec<(&str, Contradiction)> {
        replay.contradictions().iter().map(|(hit, how)| (hit.as_str(), *how)).collect()
    }

    #[test]
    fn what_is_late_is_no_contradiction() {
        let (a, b, late) = (hit("a", 4), hit("b", 9), hit("c", 1));
        let fought = replay(&[(0, from_ref(&a)), (1, from_ref(&b))], &[a.clone(), b.clone(), late]);
        assert_eq!(contradictions(&fought), []);
        let BattleStatus { hp_left, hits, last_hit, .. } = fought.status();
        assert_eq!((hp_left, hits, last_hit), (0, 2, Some(b)));
        let totals = fought.by_viewer().values().next().expect("bob's");
        let hits: Vec<_> = totals.iter().map(|(at, it)| (*at, it.hits)).collect();
        assert_eq!(hits, [(0, 1), (1, 2)], "one for each block");
    }

    #[test]
    fn what_cannot_be_is_told() {
        let (a, b, c) = (hit("a", 4), hit("b", 9), hit("c", 1));
        let all = [a.clone(), b.clone(), c.clone()];
        let found = |blocks: &[(u64, &[Hit])], on_record: &[Hit]| {
            let fought = replay(blocks, on_record);
            contradictions(&fought)
                .into_iter()
                .map(|(hit, how)| (hit.to_owned(), how))
                .collect::<Vec<_>>()
        };
        let one = |hit: &str, how| vec![(hit.to_owned(), how)];
        assert_eq!(found(&[(0, &all)], &all), one("c", Contradiction::AfterTheLast));
        assert_eq!(
            found(&[(0, &[a.clone(), a.clone()])], &all[..1]),
            one("a", Contradiction::LandedTwice)
        );
        assert_eq!(
            found(&[(0, &[a.clone(), c.clone()])], &all[..1]),
            one("c", Contradiction::NotOnRecord)
        );
        assert_eq!(
            found(&[(0, from_ref(&a))], &[hit("a", 5)]),
            one("a", Contradiction::NotAsRecorded)
        );
        assert_eq!(found(&[(1, from_ref(&a))], &all[..1]), one("a", Contradiction::BehindAGap));
        assert_eq!(found(&[(0, &[a])], &[all[0].clone(), c]), one("c", Contradiction::NeverLanded));
    }
}

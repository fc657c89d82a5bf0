//! Records and reads battles.

use futures::future::try_join;

use super::viewer_hits::NUMBERS;
use super::{BattleDefinition, BattleHit, BattleState, Hit, Shown, ViewerHits, keys, read_number};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::facts::{Claim, Facts};
use crate::platform::projection::{View, Views};
use crate::platform::values::{BattleId, HitId, ViewerId};

/// A battle, as readers are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Battle {
    pub definition: BattleDefinition,
    pub shown: Shown,
    /// The totals of the viewer that was asked for.
    pub viewer_hits: Option<ViewerHits>,
}

/// The outcome of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitState {
    /// It is on record, and has not been folded yet.
    Pending,
    Landed,
    /// It came after the last hit, and has no effect.
    Late,
}

/// The battles. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Battles {
    facts: Facts,
    views: Views,
}

impl Battles {
    /// Those among these facts and views.
    pub fn new(facts: &Facts, views: &Views) -> Self {
        Self { facts: facts.clone(), views: views.clone() }
    }

    /// Records a battle, unless its id belongs to another one.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn open(
        &self,
        battle: &BattleId,
        definition: &BattleDefinition,
    ) -> Result<Claim, DynamoError> {
        let is_same = |there: &Row<'_>| Ok(BattleDefinition::read(there)? == *definition);
        self.facts.claim(keys::opened(battle), definition.write(), is_same).await
    }

    /// Records a hit, unless its id belongs to another one.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn hit(&self, hit: BattleHit) -> Result<Claim, DynamoError> {
        let (battle, hit): (BattleId, Hit) = hit.into();
        let is_same = |there: &Row<'_>| Ok(Hit::read(hit.hit_id.clone(), there)? == hit);
        let key = keys::hit(&battle, &hit.hit_id);
        self.facts.claim(key, hit.write(), is_same).await
    }

    /// A battle with the totals of a viewer: two parallel reads, and then one for the totals.
    pub async fn battle(
        &self,
        battle: &BattleId,
        viewer: Option<&ViewerId>,
    ) -> Result<Option<Battle>, DynamoError> {
        let opened = self.facts.unerased(keys::opened(battle));
        let view = self.views.read(keys::view(battle), View::<BattleState>::read_from);
        let (opened, view) = try_join(opened, view).await?;
        let Some(opened) = opened else { return Ok(None) };
        let definition = BattleDefinition::read(&opened)?;
        // A battle that is not folded yet has no hits.
        let unhurt = || Shown { hp_left: definition.hp, hits: 0, last_hit: None };
        let shown = view.state.shown().unwrap_or_else(unhurt);
        let viewer_hits = match viewer {
            None => None,
            Some(_) if shown.hits == 0 => Some(ViewerHits::default()),
            Some(viewer) => Some(self.viewer_hits(battle, viewer, shown.hits).await?),
        };
        Ok(Some(Battle { definition, shown, viewer_hits }))
    }

    /// A viewer's totals among the first `hits` hits that have landed.
    async fn viewer_hits(
        &self,
        battle: &BattleId,
        viewer: &ViewerId,
        hits: u64,
    ) -> Result<ViewerHits, DynamoError> {
        let key = keys::viewer_hits(battle, viewer, &hits);
        let numbers = self.views.total_before(&key, &NUMBERS).await?;
        Ok(ViewerHits::from_numbers(&numbers))
    }

    /// A hit, and its outcome: two parallel reads, and then one.
    pub async fn hit_state(
        &self,
        battle: &BattleId,
        hit_id: &HitId,
    ) -> Result<Option<(Hit, HitState)>, DynamoError> {
        let fact = self.facts.table().get(keys::hit(battle, hit_id).into_item());
        let view = self.views.read(keys::view(battle), View::<BattleState>::read_from);
        let (fact, view) = try_join(fact, view).await?;
        let Some(fact) = fact else { return Ok(None) };
        let hit = Hit::read(hit_id.clone(), &fact)?;
        if hit.viewer_id.is_none() {
            return Ok(None);
        }
        let state = view.state;
        let Some(shown) = state.shown() else { return Ok(Some((hit, HitState::Pending))) };
        // Read after the view, so that all items of the shown hits exist.
        let has_landed = match self.number(battle, hit_id).await? {
            Some(number) => number < shown.hits,
            None => false,
        };
        let state = match has_landed {
            true => HitState::Landed,
            false if shown.hp_left == 0 && state.is_all_written() => HitState::Late,
            false => HitState::Pending,
        };
        Ok(Some((hit, state)))
    }

    /// The number of a hit, if it is written.
    async fn number(&self, battle: &BattleId, hit: &HitId) -> Result<Option<u64>, DynamoError> {
        let row = self.views.table().get(keys::numbered(battle, hit).into_item()).await?;
        row.as_ref().map(read_number).transpose()
    }

    /// What was opened, if anything was.
    pub async fn definition(
        &self,
        battle: &BattleId,
    ) -> Result<Option<BattleDefinition>, DynamoError> {
        let row = self.facts.unerased(keys::opened(battle)).await?;
        row.as_ref().map(BattleDefinition::read).transpose()
    }
}

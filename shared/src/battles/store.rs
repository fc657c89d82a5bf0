//! Battles among the facts and the views.

use futures::future::try_join;

use super::{BattleHit, Definition, Fought, Hit, Share, keys};
use crate::dynamo::item::{Row, text};
use crate::dynamo::{DynamoError, Query};
use crate::facts::{Claim, Facts};
use crate::projection::{View, Views};
use crate::runtime::deadline::Deadline;
use crate::values::{BattleId, HitId, ViewerId};

/// A battle as readers are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Battle {
    /// What was opened.
    pub definition: Definition,
    /// How many hit points are left.
    pub hp_left: u64,
    /// How many hits have landed.
    pub hits: u64,
    /// The latest hit that landed. Once no hit points are left it stays the last.
    pub last_hit: Option<Hit>,
    /// What of it is the viewer's that was asked for.
    pub share: Option<Share>,
}

/// What became of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HitState {
    /// It is on record, and has its turn still to come.
    Pending,
    /// It has landed.
    Landed,
    /// It came after the last one, and changes nothing.
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
    #[must_use]
    pub fn new(facts: &Facts, views: &Views) -> Self {
        Self { facts: facts.clone(), views: views.clone() }
    }

    /// Records what was opened, unless the id belongs to something else.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn open(
        &self,
        battle: &BattleId,
        definition: &Definition,
        deadline: Deadline,
    ) -> Result<Claim, DynamoError> {
        let is_same = |there: &Row<'_>| Ok(Definition::read(there)? == *definition);
        self.facts.claim(keys::opened(battle), definition.write(), is_same, deadline).await
    }

    /// Records a hit, unless its id belongs to another one.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn hit(&self, hit: BattleHit, deadline: Deadline) -> Result<Claim, DynamoError> {
        let (battle, hit): (BattleId, Hit) = hit.into();
        let is_same = |there: &Row<'_>| Ok(Hit::read(hit.hit_id.clone(), there)? == hit);
        let key = keys::hit(&battle, &hit.hit_id);
        self.facts.claim(key, hit.write(), is_same, deadline).await
    }

    /// A battle as it stands, and what of it is a viewer's: three reads at once.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn battle(
        &self,
        battle: &BattleId,
        viewer: Option<&ViewerId>,
        deadline: Deadline,
    ) -> Result<Option<Battle>, DynamoError> {
        let opened = self.facts.unerased(keys::opened(battle), deadline);
        let view = self.views.read(keys::view(battle), View::<Fought>::read_from, deadline);
        let shares = async {
            match viewer {
                Some(viewer) => self.shares(battle, viewer, deadline).await.map(Some),
                None => Ok(None),
            }
        };
        let (opened, (view, shares)) = try_join(opened, try_join(view, shares)).await?;
        let Some(opened) = opened else { return Ok(None) };
        let definition = Definition::read(&opened)?;
        // One that is not folded yet has no hits.
        let hp_left = view.state.hp_left().unwrap_or(definition.hp);
        let (hits, last_hit) = (view.state.hits(), view.state.last_hit().cloned());
        // What has landed since the view was read is not of the same moment.
        let by_then = |shares: Vec<(u64, Share)>| {
            Share::sum(shares.into_iter().filter(|(first, _)| *first < hits).map(|(_, it)| it))
        };
        let share = shares.map(by_then);
        Ok(Some(Battle { definition, hp_left, hits, last_hit, share }))
    }

    /// What of a battle is a viewer's: of hits that landed together, each with the number of the first of them.
    async fn shares(
        &self,
        battle: &BattleId,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<Vec<(u64, Share)>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::of_viewer(battle, viewer)))],
            ..Query::default()
        };
        let rows = self.views.table().all(query, || deadline).await?;
        let share = |row: &Row<'_>| {
            let first = keys::first_landed(row.text("sk")?);
            let first = first.ok_or_else(|| row.corrupt("sk", "the number of a hit"))?;
            Ok((first, Share::read(row)?))
        };
        rows.iter().map(share).collect()
    }

    /// A hit, and what became of it.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn hit_state(
        &self,
        battle: &BattleId,
        hit_id: &HitId,
        deadline: Deadline,
    ) -> Result<Option<(Hit, HitState)>, DynamoError> {
        let fact = self.facts.table().get(keys::hit(battle, hit_id).into_item(), deadline);
        let view = self.views.read(keys::view(battle), View::<Fought>::read_from, deadline);
        let (fact, view) = try_join(fact, view).await?;
        let Some(fact) = fact else { return Ok(None) };
        let hit = Hit::read(hit_id.clone(), &fact)?;
        let state = view.state;
        let Some(viewer) = &hit.viewer_id else { return Ok(None) };
        // Read after the view: what has landed by then is listed, unless the view says that some of it is owed.
        let landed = self.shares(battle, viewer, deadline).await?;
        let state = match landed.iter().any(|(_, share)| share.ids.contains(hit_id)) {
            true => HitState::Landed,
            false if state.hp_left() == Some(0) && state.is_settled() => HitState::Late,
            false => HitState::Pending,
        };
        Ok(Some((hit, state)))
    }

    /// What was opened, if anything was.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn definition(
        &self,
        battle: &BattleId,
        deadline: Deadline,
    ) -> Result<Option<Definition>, DynamoError> {
        let row = self.facts.unerased(keys::opened(battle), deadline).await?;
        row.as_ref().map(Definition::read).transpose()
    }
}

//! Audits of battles: fighting them again as their logs say, and comparing that with the hits on record, with what the
//! view says, and with what viewers are shown of their own hits.
//!
//! Views and facts are read as `views.rs` says, and log and shares between the two readings of the view: whoever writes
//! those writes the view before or with them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::battles::keys::{self, BattleView};
use shared::battles::{
    BattleRow, Contradiction, Definition, Fought, Hit, Landed, Replay, Share, Standing, log,
};
use shared::dynamo::item::{Key, text};
use shared::dynamo::{DynamoError, IN_FLIGHT, Query};
use shared::ledger::FORGET_AT;
use shared::projection::{Followed, Passed, View};
use shared::values::{BattleId, HitId, ViewerId};

use super::projected::AuditError;
use super::rounds::{Compared, Found, Rounds};
use super::views::ViewsAuditor;
use crate::operator::scan::scan;
use crate::operator::soon;

/// What differs in a battle.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum BattleDifference {
    /// The view says something else than the log.
    View {
        /// Of which battle.
        battle_id: BattleId,
        /// What the view says; nothing if it cannot be read, or knows no battle.
        stored: Option<Standing>,
        /// What the log comes to.
        replayed: Standing,
    },
    /// A viewer is shown something else of their own hits than the log says.
    Share {
        /// Of which battle.
        battle_id: BattleId,
        /// Whose hits.
        viewer_id: ViewerId,
        /// What they are shown.
        stored: Numbers,
        /// What the log comes to.
        replayed: Numbers,
    },
    /// The log says what cannot be.
    Log {
        /// Of which battle.
        battle_id: BattleId,
        /// About which hit.
        hit_id: HitId,
        /// What it is.
        contradiction: Contradiction,
    },
}

/// What of a battle is one viewer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// How many hits have landed.
    pub hits: u64,
    /// What damage they did.
    pub damage: u64,
}

impl From<&Share> for Numbers {
    fn from(Share { hits, damage, .. }: &Share) -> Self {
        Self { hits: *hits, damage: *damage }
    }
}

/// The items of each viewer, by their sort keys; nothing in the place of one that cannot be read.
type Shares = BTreeMap<ViewerId, BTreeMap<String, Option<Share>>>;

/// What facts and views say of one battle, beside its view.
#[derive(Default)]
struct Told {
    definition: Option<Definition>,
    on_record: HashMap<HitId, Hit>,
    /// The blocks of the log, by the number of their first hit.
    blocks: Vec<(u64, Vec<Landed>)>,
    shares: Shares,
}

impl ViewsAuditor {
    /// Fights battles again, and makes what is shown of them what their logs say if wanted.
    ///
    /// # Errors
    /// [`AuditError`]; auditing again completes it.
    pub async fn battles(
        &self,
        battles: &[BattleId],
        repair: bool,
    ) -> Result<Found<BattleDifference, BattleId>, AuditError> {
        let mut rounds = Rounds::of(battles);
        while let Some(round) = rounds.next_round() {
            let keys: Vec<_> = round.iter().map(keys::view).collect();
            let (views, (mut told, passed)) = self.around(&keys, self.hits(&round)).await?;
            let mend_as_of = passed.as_ref().filter(|_| repair);
            for (battle, view) in round.into_iter().zip(views) {
                let told = told.remove(&battle).unwrap_or_default();
                let compared = match view {
                    Some(view) => self.compare_battle(&battle, view, told, mend_as_of).await?,
                    None => vec![Compared::Busy],
                };
                for compared in compared {
                    rounds.add(battle.clone(), compared);
                }
            }
        }
        Ok(rounds.found())
    }

    /// What facts and views say of these battles, and what has been passed when all of the facts is folded.
    async fn hits(
        &self,
        battles: &[BattleId],
    ) -> Result<(BTreeMap<BattleId, Told>, Option<View<Passed>>), AuditError> {
        let mut told = self.hits_on_record(battles).await?;
        let passed = self.folded.wait(&self.facts, &self.views, &self.clock).await?;
        self.hits_shown(&mut told).await?;
        Ok((told, passed))
    }

    /// What the facts say of these battles. Hits are spread over the table, so all of it is scanned.
    async fn hits_on_record(
        &self,
        battles: &[BattleId],
    ) -> Result<BTreeMap<BattleId, Told>, DynamoError> {
        let mut told: BTreeMap<_, _> =
            battles.iter().map(|battle| (battle.clone(), Told::default())).collect();
        let query = Query {
            filter: Some("sk = :battle OR sk = :hit"),
            values: vec![(":battle", text(keys::OPENED)), (":hit", text(keys::HIT))],
            ..Query::default()
        };
        scan(self.facts.table(), "facts read", query, |row| {
            let Some(of) = BattleRow::of(&Key::of(row)?) else { return Ok(()) };
            let Some(told) = told.get_mut(of.battle()) else { return Ok(()) };
            match of {
                // Of what was erased nothing is shown.
                BattleRow::Opened(_) if row.item.contains_key(FORGET_AT) => {}
                BattleRow::Opened(_) => told.definition = Some(Definition::read(row)?),
                BattleRow::Hit(_, hit) => {
                    told.on_record.insert(hit.clone(), Hit::read(hit, row)?);
                }
            }
            Ok(())
        })
        .await?;
        Ok(told)
    }

    /// What the views say beside those of the battles themselves.
    async fn hits_shown(&self, told: &mut BTreeMap<BattleId, Told>) -> Result<(), DynamoError> {
        let query = Query {
            filter: Some("begins_with(pk, :battles)"),
            values: vec![(":battles", text(keys::BATTLES))],
            ..Query::default()
        };
        scan(self.views.table(), "views read", query, |row| {
            let key = Key::of(row)?;
            match BattleView::of(&key) {
                Some(BattleView::Itself(battle)) => {
                    if let (Some(told), Some(first)) =
                        (told.get_mut(&battle), keys::first_of_log(&key.sk))
                    {
                        told.blocks.push((first, log::read(row)?));
                    }
                }
                Some(BattleView::Share(battle, viewer)) => {
                    if let Some(told) = told.get_mut(&battle) {
                        let share = Share::read(row).ok();
                        told.shares.entry(viewer).or_default().insert(key.sk, share);
                    }
                }
                None => {}
            }
            Ok(())
        })
        .await?;
        told.values_mut().for_each(|told| told.blocks.sort_by_key(|(first, _)| *first));
        Ok(())
    }

    /// Compares a battle with its log. Where it is to be mended, the view is written as of what has been passed.
    async fn compare_battle(
        &self,
        battle: &BattleId,
        view: View<Fought>,
        told: Told,
        mend_as_of: Option<&View<Passed>>,
    ) -> Result<Vec<Compared<BattleDifference>>, DynamoError> {
        let Told { definition: Some(definition), on_record, blocks, shares: stored } = told else {
            return Ok(Vec::new());
        };
        let replay = Replay::of(battle, definition, &blocks, &on_record, &view.state);
        let standing = (view.state.standing(), replay.standing());
        let view_differs = standing.0.as_ref() != Some(&standing.1)
            || !view.state.is_settled()
            || view.is_unreadable();
        let viewers = differing(&stored, &replay);
        // A log that is not whole does not say how the battle stands. Where there is no view, it is all there is.
        let may_mend = replay.is_sound() || (replay.only_lacks_hits() && !view.is_there());
        let mend_as_of = mend_as_of.filter(|_| may_mend);
        if let Some(passed) = mend_as_of
            && (view_differs || !viewers.is_empty())
        {
            let key = keys::view(battle);
            // Written even if it says what it should: then nobody else has written it, nor what belongs to it.
            let mended = view.state.repaired(&replay);
            let mended = view.with(mended).caught_up_with(passed);
            if !self.views.write(vec![mended.write(key)], soon()).await? {
                return Ok(vec![Compared::Busy]);
            }
            self.mend_shares(battle, &viewers, &stored, &replay).await?;
        }
        let compared = |difference| match mend_as_of {
            Some(_) => Compared::Mended(difference),
            None => Compared::Differs(difference),
        };
        let battle_id = || battle.clone();
        let mut found = Vec::new();
        if view_differs {
            let (stored, replayed) = standing;
            found.push(compared(BattleDifference::View {
                battle_id: battle_id(),
                stored,
                replayed,
            }));
        }
        found.extend(viewers.into_iter().map(|(viewer_id, [stored, replayed])| {
            compared(BattleDifference::Share {
                battle_id: battle_id(),
                viewer_id,
                stored,
                replayed,
            })
        }));
        found.extend(replay.contradictions().iter().map(|(hit_id, contradiction)| {
            let (hit_id, contradiction) = (hit_id.clone(), *contradiction);
            Compared::Differs(BattleDifference::Log {
                battle_id: battle_id(),
                hit_id,
                contradiction,
            })
        }));
        Ok(found)
    }

    /// Writes what viewers should be shown, and then deletes what else they were. What lands meanwhile is beside that:
    /// its items are behind all hits of the log.
    async fn mend_shares(
        &self,
        battle: &BattleId,
        viewers: &[(ViewerId, [Numbers; 2])],
        stored: &Shares,
        replay: &Replay,
    ) -> Result<(), DynamoError> {
        let of = |viewer| replay.shares().get(viewer).map_or(&[][..], Vec::as_slice);
        let right: Vec<Followed> =
            viewers.iter().flat_map(|(viewer, _)| of(viewer)).cloned().collect();
        self.views.put_all(&right, soon()).await?;
        let wrong = viewers.iter().flat_map(|(viewer, _)| {
            let is_right = |sk: &String| of(viewer).iter().any(|item| item.key.sk == *sk);
            let keys = stored.get(viewer).into_iter().flat_map(BTreeMap::keys);
            let pk = keys::of_viewer(battle, viewer);
            keys.filter(move |sk| !is_right(sk))
                .map(move |sk| Key { pk: pk.clone(), sk: sk.clone() })
        });
        let deletions = wrong.map(|key| self.views.table().delete(key.into_item(), None, soon()));
        let deleted = stream::iter(deletions.collect::<Vec<_>>()).buffer_unordered(IN_FLIGHT);
        deleted.try_for_each(|_| std::future::ready(Ok(()))).await
    }
}

/// The viewers who are shown something else than the log says, with what they are shown and what they should be.
fn differing(stored: &Shares, replay: &Replay) -> Vec<(ViewerId, [Numbers; 2])> {
    let viewers: BTreeSet<_> = stored.keys().chain(replay.shares().keys()).collect();
    let differing = viewers.into_iter().filter_map(|viewer| {
        let items = || stored.get(viewer).into_iter().flat_map(BTreeMap::values);
        let (shown, replayed) = (Share::sum(items().flatten().cloned()), replay.share(viewer));
        let is_equal = shown == replayed && items().all(Option::is_some);
        (!is_equal).then(|| (viewer.clone(), [(&shown).into(), (&replayed).into()]))
    });
    differing.collect()
}

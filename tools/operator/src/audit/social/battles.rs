//! Audits of battles. A replay of the log is compared with the hits on record, with what the view says, and with the totals that
//! viewers are shown.
//!
//! Views and facts are read as `views.rs` says. Log and totals are read between the two reads of the view, because whoever writes
//! them writes the view before them or with them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::platform::dynamo::IN_FLIGHT;
use shared::platform::dynamo::item::{Key, text};
use shared::platform::ledger::FORGET_AT;
use shared::platform::projection::{BarrierProgress, DerivedItem, View};
use shared::platform::values::{BattleId, HitId, ViewerId};
use shared::social::battles::keys::{self, BattleView};
use shared::social::battles::{
    BattleDefinition, BattleRow, BattleState, BattleStatus, Contradiction, Hit, Landed, Replay,
    ViewerHits, log, numbered, read_number,
};

use super::views::{AuditError, Compared, ViewsAuditor};
use crate::Result;
use crate::audit::Found;
use crate::scan::{filtered, scan};

/// What differs in a battle.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum BattleDifference {
    /// The view says something else than the log.
    View {
        battle_id: BattleId,
        /// What the view says; nothing if it cannot be read, or knows no battle.
        stored: Option<BattleStatus>,
        replayed: BattleStatus,
    },
    /// A viewer is shown something else of their own hits than the log says.
    Share { battle_id: BattleId, viewer_id: ViewerId, stored: ViewerHits, replayed: ViewerHits },
    /// The stored number of a hit is not its number in the log.
    Hit {
        battle_id: BattleId,
        hit_id: HitId,
        /// The stored number, from 0 on; `None` if there is none.
        stored: Option<u64>,
        /// The number in the log; `None` if the hit has not landed.
        replayed: Option<u64>,
    },
    /// The log contradicts the rules of a battle.
    Log { battle_id: BattleId, hit_id: HitId, contradiction: Contradiction },
}

/// The items of each viewer, by their sort keys; `None` for an item that cannot be read.
type Shares = BTreeMap<ViewerId, BTreeMap<String, Option<ViewerHits>>>;

/// What facts and views say of one battle, without its view.
#[derive(Default)]
struct Told {
    definition: Option<BattleDefinition>,
    on_record: HashMap<HitId, Hit>,
    /// The blocks of the log, by the number of their first hit.
    blocks: Vec<(u64, Vec<Landed>)>,
    shares: Shares,
    /// The stored number of each hit.
    numbers: BTreeMap<HitId, u64>,
}

/// A hit, with its stored number and its number in the log.
type NumberDifference = (HitId, [Option<u64>; 2]);

impl ViewsAuditor {
    /// Replays the logs of battles and compares them with what is stored and shown. Repairs what differs if `repair` is set.
    pub async fn battles(
        &self,
        battles: &[BattleId],
        repair: bool,
    ) -> Result<Found<BattleDifference, BattleId>, AuditError> {
        self.in_rounds(
            battles,
            keys::view,
            async |round| {
                let mut told = self.hits_on_record(round).await?;
                let mend_as_of = self.folded(repair).await?;
                self.hits_shown(&mut told).await?;
                Ok((told, mend_as_of))
            },
            async |battle, view, (told, mend_as_of)| {
                let told = told.remove(battle).unwrap_or_default();
                self.compare_battle(battle, view, told, mend_as_of.as_ref()).await
            },
        )
        .await
    }

    /// What the facts say of these battles. Hits are spread over the table, so all of it is scanned.
    async fn hits_on_record(&self, battles: &[BattleId]) -> Result<BTreeMap<BattleId, Told>> {
        let mut told: BTreeMap<_, _> =
            battles.iter().map(|battle| (battle.clone(), Told::default())).collect();
        let query = filtered(
            "sk = :battle OR sk = :hit",
            vec![(":battle", text(keys::OPENED)), (":hit", text(keys::HIT))],
        );
        scan(self.facts.table(), "facts read", query, |row| {
            let Some(of) = BattleRow::of(&Key::of(row)?) else { return Ok(()) };
            let Some(told) = told.get_mut(of.battle()) else { return Ok(()) };
            match of {
                // Of what was erased nothing is shown.
                BattleRow::Opened(_) if row.item.contains_key(FORGET_AT) => {}
                BattleRow::Opened(_) => told.definition = Some(BattleDefinition::read(row)?),
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
    async fn hits_shown(&self, told: &mut BTreeMap<BattleId, Told>) -> Result<()> {
        let query = filtered(
            "begins_with(pk, :battles) OR begins_with(pk, :hits)",
            vec![(":battles", text(keys::BATTLES)), (":hits", text(keys::HITS))],
        );
        scan(self.views.table(), "views read", query, |row| {
            let key = Key::of(row)?;
            let Some(of) = BattleView::of(&key) else { return Ok(()) };
            let (BattleView::Itself(battle)
            | BattleView::ViewerHits(battle, _)
            | BattleView::Numbered(battle, _)) = &of;
            let Some(told) = told.get_mut(battle) else { return Ok(()) };
            match of {
                BattleView::Itself(_) => {
                    if let Some(first) = keys::first_of_log(&key.sk) {
                        told.blocks.push((first, log::read(row)?));
                    }
                }
                BattleView::ViewerHits(_, viewer) => {
                    let share = ViewerHits::read(row).ok();
                    told.shares.entry(viewer).or_default().insert(key.sk, share);
                }
                BattleView::Numbered(_, hit) => {
                    // One that cannot be read is as wrong as any other.
                    told.numbers.insert(hit, read_number(row).unwrap_or(u64::MAX));
                }
            }
            Ok(())
        })
        .await?;
        told.values_mut().for_each(|told| told.blocks.sort_by_key(|(first, _)| *first));
        Ok(())
    }

    /// Compares a battle with its log. If it is to be repaired, the view is written with the high-water marks of the barrier.
    async fn compare_battle(
        &self,
        battle: &BattleId,
        view: View<BattleState>,
        told: Told,
        mend_as_of: Option<&View<BarrierProgress>>,
    ) -> Result<Vec<Compared<BattleDifference>>> {
        let Told { definition: Some(definition), on_record, blocks, shares: stored, numbers } =
            told
        else {
            return Ok(Vec::new());
        };
        let replay = Replay::run(definition, &blocks, &on_record, &view.state);
        let standing = (view.state.status(), replay.status());
        let view_differs = standing.0.as_ref() != Some(&standing.1)
            || !view.state.is_all_written()
            || view.is_unreadable();
        let viewers = differing(&stored, &replay);
        let hits = misnumbered(&numbers, &replay);
        // A log that is not whole does not say how the battle stands. Where there is no view, it is all there is.
        let may_mend = replay.is_sound() || (replay.only_lacks_hits() && !view.is_there());
        let mend_as_of = mend_as_of.filter(|_| may_mend);
        if let Some(passed) = mend_as_of
            && (view_differs || !viewers.is_empty() || !hits.is_empty())
        {
            let key = keys::view(battle);
            // Written even if it says what it should: then nobody else has written it, nor what belongs to it.
            let mended = view.state.repaired(&replay);
            let mended = view.with(mended).caught_up_with(passed);
            if !self.views.write(vec![mended.write(key)]).await? {
                return Ok(vec![Compared::Busy]);
            }
            self.mend_shares(battle, &viewers, &stored, &replay).await?;
            self.mend_numbers(battle, &hits).await?;
        }
        let compared = match mend_as_of {
            Some(_) => Compared::Mended,
            None => Compared::Differs,
        };
        let view = view_differs.then(|| {
            let (battle_id, (stored, replayed)) = (battle.clone(), standing);
            BattleDifference::View { battle_id, stored, replayed }
        });
        let shares = viewers.into_iter().map(|(viewer_id, [stored, replayed])| {
            let battle_id = battle.clone();
            BattleDifference::Share { battle_id, viewer_id, stored, replayed }
        });
        let numbers = hits.into_iter().map(|(hit_id, [stored, replayed])| {
            let battle_id = battle.clone();
            BattleDifference::Hit { battle_id, hit_id, stored, replayed }
        });
        let log = replay.contradictions().iter().map(|(hit_id, contradiction)| {
            let (battle_id, hit_id) = (battle.clone(), hit_id.clone());
            BattleDifference::Log { battle_id, hit_id, contradiction: *contradiction }
        });
        let found = view.into_iter().chain(shares).chain(numbers).map(compared);
        Ok(found.chain(log.map(Compared::Differs)).collect())
    }

    /// Writes the items that viewers should be shown, and then deletes all other items of theirs. Hits that land meanwhile are not
    /// affected: their items come after all hits of the log.
    async fn mend_shares(
        &self,
        battle: &BattleId,
        viewers: &[(ViewerId, [ViewerHits; 2])],
        stored: &Shares,
        replay: &Replay,
    ) -> Result<()> {
        let right: Vec<DerivedItem> =
            viewers.iter().flat_map(|(viewer, _)| replay.items(battle, viewer)).collect();
        self.views.put_all(&right).await?;
        let wrong = viewers.iter().flat_map(|(viewer, _)| {
            let items = replay.items(battle, viewer);
            let is_right = move |sk: &String| items.iter().any(|item| item.key.sk == *sk);
            let keys = stored.get(viewer).into_iter().flat_map(BTreeMap::keys);
            let pk = keys::of_viewer(battle, viewer);
            keys.filter(move |sk| !is_right(sk))
                .map(move |sk| Key { pk: pk.clone(), sk: sk.clone() })
        });
        self.delete_all(wrong.collect()).await
    }

    /// Writes the numbers of hits that have landed, and deletes those of hits that have not.
    async fn mend_numbers(&self, battle: &BattleId, hits: &[NumberDifference]) -> Result<()> {
        let right = hits
            .iter()
            .filter_map(|(hit, [_, number])| number.map(|number| numbered(battle, hit, number)));
        self.views.put_all(&right.collect::<Vec<_>>()).await?;
        let wrong = hits.iter().filter(|(_, [_, number])| number.is_none());
        self.delete_all(wrong.map(|(hit, _)| keys::numbered(battle, hit)).collect()).await
    }

    async fn delete_all(&self, wrong: Vec<Key>) -> Result<()> {
        let deletions =
            wrong.into_iter().map(|key| self.views.table().delete(key.into_item(), None));
        let deleted = stream::iter(deletions.collect::<Vec<_>>()).buffer_unordered(IN_FLIGHT);
        deleted.try_for_each(|_| std::future::ready(Ok(()))).await
    }
}

/// The viewers whose totals differ from the log, with the totals that they are shown and those of the log.
fn differing(stored: &Shares, replay: &Replay) -> Vec<(ViewerId, [ViewerHits; 2])> {
    let viewers: BTreeSet<_> = stored.keys().chain(replay.by_viewer().keys()).collect();
    let differing = viewers.into_iter().filter_map(|viewer| {
        let items = stored.get(viewer).into_iter().flatten();
        let expected = replay.by_viewer().get(viewer).into_iter().flatten();
        let expected: BTreeMap<_, _> =
            expected.map(|(first, total)| (keys::landed(*first), *total)).collect();
        let is_right = |(sk, item): (&String, &Option<ViewerHits>)| {
            item.is_some() && item.as_ref() == expected.get(sk)
        };
        let is_equal = items.clone().count() == expected.len() && items.clone().all(is_right);
        let shown = items.rev().find_map(|(_, item)| *item).unwrap_or_default();
        (!is_equal).then(|| (viewer.clone(), [shown, replay.viewer_hits(viewer)]))
    });
    differing.collect()
}

/// The hits whose stored number differs from the log.
fn misnumbered(stored: &BTreeMap<HitId, u64>, replay: &Replay) -> Vec<NumberDifference> {
    let replayed = replay.numbers();
    let hits: BTreeSet<_> = stored.keys().chain(replayed.keys()).collect();
    let both = |hit: &HitId| (hit.clone(), [stored.get(hit).copied(), replayed.get(hit).copied()]);
    hits.into_iter().map(both).filter(|(_, [stored, replayed])| stored != replayed).collect()
}

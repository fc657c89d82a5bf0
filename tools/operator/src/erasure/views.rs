//! What views say of a person.
//!
//! All that the person stated is erased and folded by now, so nothing brings the name back. Views of what the person owns are marked,
//! with the items that belong to them, and expire. Where the person did something to what somebody else owns, the name is taken out
//! of the item. The view that the item belongs to is written in the same transaction, so that a projector that has read either of
//! them before cannot write it as it was.

use std::pin::pin;
use std::time::Duration;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, TransactWriteItem};
use futures::TryStreamExt;
use shared::platform::dynamo::Condition;
use shared::platform::dynamo::item::{Item, Key, Row, number, text};
use shared::platform::ledger::FORGET_AT;
use shared::platform::projection::{State, View, Write, waiting};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry::Backoff;
use shared::platform::values::{ActivityId, PollId, Timestamp, ViewerId};
use shared::social::battles::keys::{self as battles, BattleView};
use shared::social::battles::{BattleState, erasure as hits};
use shared::social::likes;
use shared::social::notifications::{ReadNotification, keys};
use shared::social::polls::{ERASED_AT, PollTally, erasure, keys as polls};

use super::facts::Scope;
use super::marks::marking;
use super::{Erasure, for_each};
use crate::scan::filtered;
use crate::{Result, progress};

/// How long to try while others write the same view.
const PATIENCE: Duration = Duration::from_secs(60);

/// An item among the views that is about the person.
enum FoundView {
    /// Their inbox, or the view of what they opened.
    View(Key),
    /// What belongs to such a view.
    Beside(Key),
    /// A notification of theirs, or what of a battle is theirs.
    Own(Key),
    /// A notification of somebody else's, which was read and names them, with its likes, and its
    /// item without them; `None` if it has no other viewer.
    Read { key: Key, likes: AttributeValue, without: Option<Item> },
    /// What belongs to a poll or a battle and names them: a block, or the view of a battle itself.
    Named { view: Key, item: Key },
}

impl Erasure {
    /// Erases what views say of the person until nothing is found. Nothing lists whose notifications name them, or which battles have
    /// their hits, so all views are scanned.
    pub(super) async fn views(&self, scope: &Scope) -> Result<()> {
        let activities: Vec<_> = scope.activities.iter().collect();
        for_each(&activities, "counts of likes marked", |id| {
            self.mark_view(likes::keys::count(id))
        })
        .await?;
        loop {
            let found = self.views_found(scope).await?;
            if found.is_empty() {
                return Ok(());
            }
            for_each(&found, "views erased", |found| self.erase_view(found)).await?;
        }
    }

    async fn views_found(&self, scope: &Scope) -> Result<Vec<FoundView>> {
        let bar = progress::counter("views read");
        let now = self.clock.now();
        let query = filtered(
            "begins_with(pk, :notifications) OR begins_with(pk, :polls) OR begins_with(pk, :battles) \
             OR begins_with(pk, :hits)",
            vec![
                (":notifications", text(keys::NOTIFICATIONS)),
                (":polls", text(polls::POLLS)),
                (":battles", text(battles::BATTLES)),
                (":hits", text(battles::HITS)),
            ],
        );
        let mut found = Vec::new();
        let mut pages = pin!(self.views.table().pages(query));
        while let Some(page) = pages.try_next().await? {
            bar.inc(page.scanned);
            for row in page.rows {
                let key = Key::of(&row)?;
                found.extend(if let Some(poll) = polls::of_view(&key) {
                    self.in_poll(&poll, key, row, scope).await?
                } else if let Some(of) = BattleView::of(&key) {
                    self.in_battle(of, key, row, scope)?
                } else {
                    self.notification(key, row, now)?
                });
            }
        }
        Ok(found)
    }

    async fn in_poll(
        &self,
        poll: &PollId,
        key: Key,
        row: Row<'_>,
        scope: &Scope,
    ) -> Result<Option<FoundView>> {
        let (view, is_marked) = (polls::view(poll), row.item.contains_key(FORGET_AT));
        if self.without_votes(poll, row).await?.is_some() {
            return Ok(Some(FoundView::Named { view, item: key }));
        }
        let found = if key == view { FoundView::View } else { FoundView::Beside };
        Ok((scope.polls.contains(poll) && !is_marked).then(|| found(key)))
    }

    /// A block of changes that wait without the person's votes, if it has any that were erased.
    async fn without_votes(&self, poll: &PollId, row: Row<'_>) -> Result<Option<Item>> {
        if !waiting::is_block(&Key::of(&row)?.sk) {
            return Ok(None);
        }
        let without = |until: Option<Timestamp>| {
            let mut row = row.clone();
            let without = |change| erasure::without_votes(change, &self.viewer, until);
            Ok(waiting::rewrite(&mut row, without)?.then_some(row.item))
        };
        let Some(item) = without(None)? else { return Ok(None) };
        // What they voted since is a new fact.
        let votes = polls::vote(&self.viewer, poll).into_item();
        match self.facts.table().get(votes).await? {
            Some(votes) => match votes.optional(ERASED_AT, "an instant")? {
                Some(until) => without(Some(until)),
                None => Ok(None),
            },
            None => Ok(Some(item)),
        }
    }

    fn in_battle(
        &self,
        of: BattleView,
        key: Key,
        row: Row<'_>,
        scope: &Scope,
    ) -> Result<Option<FoundView>> {
        let is_marked = row.item.contains_key(FORGET_AT);
        let (battle, is_view) = match of {
            BattleView::ViewerHits(_, viewer) if viewer == self.viewer => {
                return Ok(Some(FoundView::Own(key)));
            }
            BattleView::ViewerHits(battle, _) | BattleView::Numbered(battle, _) => (battle, false),
            BattleView::Itself(battle) => {
                let view = battles::view(&battle);
                let is_view = key == view;
                let names = match is_view {
                    true => View::<BattleState>::read_to_fold(&row)?.state.forget(&self.viewer),
                    false => self.without_hits(row)?.is_some(),
                };
                if names {
                    return Ok(Some(FoundView::Named { view, item: key }));
                }
                (battle, is_view)
            }
        };
        let found = if is_view { FoundView::View } else { FoundView::Beside };
        Ok((scope.battles.contains(&battle) && !is_marked).then(|| found(key)))
    }

    /// A block of a battle without the person's name, if it has it.
    fn without_hits(&self, mut row: Row<'_>) -> Result<Option<Item>> {
        let sk = Key::of(&row)?.sk;
        let names = if waiting::is_block(&sk) {
            let without = |change| Some(hits::without_name(change, &self.viewer));
            waiting::rewrite(&mut row, without)?
        } else if battles::is_log(&sk) {
            hits::forget_in_log(&mut row, &self.viewer)?
        } else {
            return Err(row.corrupt("sk", "a block of a battle"));
        };
        Ok(names.then_some(row.item))
    }

    fn notification(&self, key: Key, row: Row<'_>, now: Timestamp) -> Result<Option<FoundView>> {
        let place = keys::of_view(&key);
        let (viewer, place) = place.ok_or_else(|| row.corrupt("pk", "the key of a view"))?;
        let (is_own, is_marked) = (viewer == self.viewer, row.item.contains_key(FORGET_AT));
        Ok(match place {
            None => (is_own && !is_marked).then_some(FoundView::View(key)),
            Some(_) if is_own => Some(FoundView::Own(key)),
            Some(place) if place.behind.is_some() => {
                self.without_name((key, &viewer, place.activity_id), row, now)?
            }
            Some(_) => None,
        })
    }

    /// A notification of somebody else's without the person's name, if it has it.
    fn without_name(
        &self,
        (key, viewer, activity): (Key, &ViewerId, ActivityId),
        row: Row<'_>,
        now: Timestamp,
    ) -> Result<Option<FoundView>> {
        let Some(mut read) = ReadNotification::read(&row, now)? else { return Ok(None) };
        if !read.group.erase(self.viewer.as_str()) {
            return Ok(None);
        }
        let mut item = row.item;
        let likes = AttributeValue::B(Blob::new(read.group.to_bytes()));
        let before = item.insert("likes".to_owned(), likes);
        // The latest like may have been theirs, and the key has its instant.
        item.extend(read.position(&activity).key(viewer).into_item());
        let without = (read.group.count > 0).then_some(item);
        Ok(before.map(|likes| FoundView::Read { key, likes, without }))
    }

    async fn erase_view(&self, found: &FoundView) -> Result<()> {
        let table = self.views.table();
        match found {
            FoundView::View(key) => self.mark_view(key.clone()).await,
            FoundView::Beside(key) => {
                let update = marking("SET #forget = :until", "attribute_exists(pk)", self.until);
                table.update(key.clone().into_item(), update).await.map(|_| ())
            }
            FoundView::Own(key) => table.delete(key.clone().into_item(), None).await.map(|_| ()),
            FoundView::Read { key, likes, without } => {
                let unchanged = Condition::new("likes = :seen").value(":seen", likes.clone());
                let is_moved = |item: &Item| item.get("sk") != Some(&text(key.sk.as_str()));
                match without {
                    Some(item) if is_moved(item) => {
                        let delete = Delete::builder()
                            .table_name(table.name())
                            .set_key(Some(key.clone().into_item()))
                            .condition_expression("likes = :seen")
                            .expression_attribute_values(":seen", likes.clone());
                        let delete = TransactWriteItem::builder().delete(delete.build()?).build();
                        let put = self.views.transaction(vec![Write::Put(item.clone())])?;
                        table.transact([vec![delete], put].concat()).await.map(|_| ())
                    }
                    Some(item) => table.put_if(item.clone(), unchanged).await.map(|_| ()),
                    None => {
                        table.delete(key.clone().into_item(), Some(unchanged)).await.map(|_| ())
                    }
                }
            }
            FoundView::Named { view, item } => self.take_name_out(view, item).await,
        }
    }

    /// Marks a view, so that it expires whatever is folded into it until then.
    async fn mark_view(&self, key: Key) -> Result<()> {
        // A projector that has read it before must not write it as it was.
        let expression = "SET #forget = :until ADD version :one";
        let unmarked = "attribute_exists(pk) AND attribute_not_exists(#forget)";
        let mut update = marking(expression, unmarked, self.until);
        update.values.push((":one", number(1)));
        self.views.table().update(key.into_item(), update).await.map(|_| ())
    }

    /// Takes the name out of an item. Tries again until the view is still the one that was read.
    async fn take_name_out(&self, view: &Key, item: &Key) -> Result<()> {
        let (mut backoff, deadline) = (Backoff::default(), Deadline::after(PATIENCE));
        loop {
            let writes = match polls::of_view(view) {
                Some(poll) => self.writes_of_poll(view, &poll, item).await?,
                None => self.writes_of_battle(view, item).await?,
            };
            let Some(writes) = writes else { return Ok(()) };
            match self.views.write(writes).await {
                Ok(true) => return Ok(()),
                Err(failure) if !failure.is_retryable() => return Err(failure),
                Ok(false) | Err(_) => backoff.wait(deadline).await?,
            }
        }
    }

    /// Reads the view, which has to be read before the block: if the view is unchanged when it is written, so is the block.
    async fn seen<S: State>(&self, view: &Key) -> Result<View<S>> {
        self.views.read(view.clone(), View::read_to_fold).await
    }

    async fn block(&self, key: &Key) -> Result<Option<Row<'_>>> {
        self.views.table().get(key.clone().into_item()).await
    }

    async fn writes_of_poll(
        &self,
        view: &Key,
        poll: &PollId,
        block: &Key,
    ) -> Result<Option<Vec<Write>>> {
        let seen = self.seen::<PollTally>(view).await?;
        let Some(row) = self.block(block).await? else { return Ok(None) };
        let item = self.without_votes(poll, row).await?;
        Ok(item.map(|item| vec![seen.write(view.clone()), Write::Put(item)]))
    }

    async fn writes_of_battle(&self, view: &Key, item: &Key) -> Result<Option<Vec<Write>>> {
        let mut seen = self.seen::<BattleState>(view).await?;
        if item == view {
            let is_there = seen.state.forget(&self.viewer);
            return Ok(is_there.then(|| vec![seen.write(view.clone())]));
        }
        let Some(row) = self.block(item).await? else { return Ok(None) };
        let item = self.without_hits(row)?;
        Ok(item.map(|item| vec![seen.write(view.clone()), Write::Put(item)]))
    }
}

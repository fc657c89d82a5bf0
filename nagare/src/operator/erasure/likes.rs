//! What a person likes, who likes what they published, and what of that anybody was notified of.
//!
//! A row that says *liked* becomes one that does not, so the projector counts it no more and takes the name out of
//! what is unread; it is marked with the time at which it expires: a like that is still in flight and older does
//! not win over it. A row that has brought back the change of such a row loses what it says, and is marked too. The
//! number of likes that somebody was notified of stays, without the name.

use std::collections::HashSet;
use std::pin::pin;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::TryStreamExt;
use shared::activities::owner;
use shared::dynamo::item::{Item, Key, Row, number, text, truth};
use shared::dynamo::{Condition, DynamoError, Query, Update};
use shared::ledger::FORGET_AT;
use shared::likes;
use shared::notifications::{ReadNotification, keys};
use shared::projection::redriven;
use shared::values::{ActivityId, Timestamp};

use super::{Erasure, for_each};
use crate::operator::soon;
use crate::progress;

/// A fact about the person.
enum Fact {
    /// A like by them, or of an activity of theirs.
    Like { key: Key, changed_at: String },
    /// How far they have read, or what they published.
    Other(Key),
    /// A row that has brought back a change of such a row.
    BroughtBack(Key),
}

/// A view about the person.
enum View {
    /// Their inbox.
    Inbox(Key),
    /// A notification of theirs.
    Notification(Key),
    /// One of somebody else's, which was read and names them.
    Names { item: Item, likes: AttributeValue },
}

impl Erasure {
    /// Undoes every like by the person or of an activity of theirs, and marks what is left of it. Who likes an
    /// activity is listed nowhere, so all facts are scanned; nor is who was told of a like, so all views are.
    /// Returns the number of likes.
    pub(super) async fn likes(&self) -> Result<usize, DynamoError> {
        let activities: HashSet<_> =
            self.marks.all_activities(&self.actor, soon).await?.into_iter().collect();
        let mut erased = 0;
        loop {
            let found = self.facts_found(&activities).await?;
            if found.is_empty() {
                break;
            }
            for_each(&found, "likes erased", |fact| self.erase_fact(fact)).await?;
            erased += found.iter().filter(|fact| matches!(fact, Fact::Like { .. })).count();
        }
        let activities: Vec<_> = activities.into_iter().collect();
        for_each(&activities, "counts of likes marked", |id| {
            self.mark_view(likes::keys::count(id))
        })
        .await?;
        let found = self.views_found().await?;
        for_each(&found, "notifications erased", |view| self.erase_view(view)).await?;
        Ok(erased)
    }

    async fn facts_found(
        &self,
        activities: &HashSet<ActivityId>,
    ) -> Result<Vec<Fact>, DynamoError> {
        let bar = progress::counter("facts read");
        let query = Query {
            filter: Some("attribute_not_exists(#forget)"),
            projection: Some("pk, sk, changed_at"),
            names: vec![("#forget", FORGET_AT)],
            ..Query::default()
        };
        let mut found = Vec::new();
        let mut pages = pin!(self.facts.table().pages(query, soon));
        while let Some(page) = pages.try_next().await? {
            bar.inc(page.scanned);
            for row in &page.rows {
                found.extend(self.fact(row, activities)?);
            }
        }
        bar.finish_and_clear();
        Ok(found)
    }

    /// What a row says about the person, if it does.
    fn fact(
        &self,
        row: &Row<'_>,
        activities: &HashSet<ActivityId>,
    ) -> Result<Option<Fact>, DynamoError> {
        let key = Key::of(row)?;
        if let Some(of) = redriven::brought_back(&key) {
            let is_theirs = self.is_theirs(&of, activities);
            return Ok(is_theirs.unwrap_or(false).then_some(Fact::BroughtBack(key)));
        }
        let is_theirs = self.is_theirs(&key, activities);
        let is_theirs = is_theirs.ok_or_else(|| row.corrupt("pk", "the key of a fact"))?;
        Ok(is_theirs.then_some(match likes::keys::of_key(&key) {
            Some(_) => {
                let changed_at = row.text("changed_at")?.to_owned();
                Fact::Like { key, changed_at }
            }
            None => Fact::Other(key),
        }))
    }

    /// Whether a row is about the person, if it is of a kind that may be.
    fn is_theirs(&self, key: &Key, activities: &HashSet<ActivityId>) -> Option<bool> {
        if let Some((viewer, activity)) = likes::keys::of_key(key) {
            return Some(viewer == self.viewer || activities.contains(&activity));
        }
        if let Some((viewer, _)) = keys::of_mark(key) {
            return Some(viewer == self.viewer);
        }
        owner::of_key(key).map(|activity| activities.contains(&activity))
    }

    /// What was changed since it was read is found again.
    async fn erase_fact(&self, fact: &Fact) -> Result<(), DynamoError> {
        let names = vec![("#forget", FORGET_AT)];
        let until = (":until", number(self.until));
        let (key, update) = match fact {
            Fact::Like { key, changed_at } => {
                let undo = Update {
                    expression: "SET liked = :no, #forget = :until REMOVE first_liked_at",
                    condition: Some("changed_at = :seen"),
                    names,
                    values: vec![until, (":no", truth(false)), (":seen", text(changed_at))],
                };
                (key, undo)
            }
            Fact::Other(key) if owner::of_key(key).is_some() => {
                let delete = Update {
                    expression: "SET deleted = :yes, #forget = :until",
                    condition: Some("attribute_exists(pk)"),
                    names,
                    values: vec![until, (":yes", truth(true))],
                };
                (key, delete)
            }
            Fact::BroughtBack(key) => {
                // That it came back stays known until it expires.
                let empty = Update {
                    expression: "SET #forget = :until REMOVE #change",
                    condition: Some("attribute_exists(pk)"),
                    names: vec![("#forget", FORGET_AT), ("#change", redriven::CHANGE)],
                    values: vec![until],
                };
                (key, empty)
            }
            Fact::Other(key) => {
                let mark = Update {
                    expression: "SET #forget = :until",
                    condition: Some("attribute_exists(pk)"),
                    names,
                    values: vec![until],
                };
                (key, mark)
            }
        };
        self.facts.table().update(key.clone().into_item(), update, soon()).await.map(|_| ())
    }

    /// A view that goes at its time, whatever is folded into it until then.
    async fn mark_view(&self, key: Key) -> Result<(), DynamoError> {
        let update = Update {
            // A projector that has read it before must not write it as it was.
            expression: "SET #forget = :until ADD version :one",
            condition: Some("attribute_exists(pk) AND attribute_not_exists(#forget)"),
            names: vec![("#forget", FORGET_AT)],
            values: vec![(":until", number(self.until)), (":one", number(1))],
        };
        self.views.table().update(key.into_item(), update, soon()).await.map(|_| ())
    }

    async fn views_found(&self) -> Result<Vec<View>, DynamoError> {
        let bar = progress::counter("views read");
        let (prefix, now) = (keys::of_viewer(&self.viewer), self.clock.now());
        let query = Query {
            filter: Some("begins_with(pk, :prefix)"),
            values: vec![(":prefix", text(keys::NOTIFICATIONS))],
            ..Query::default()
        };
        let mut found = Vec::new();
        let mut pages = pin!(self.views.table().pages(query, soon));
        while let Some(page) = pages.try_next().await? {
            bar.inc(page.scanned);
            for row in page.rows {
                let key = Key::of(&row)?;
                let place = keys::of_view(&key)
                    .ok_or_else(|| row.corrupt("pk", "the key of a notification"))?
                    .1;
                let is_read = place.as_ref().is_some_and(|place| place.behind.is_some());
                found.extend(match place {
                    None => (key.pk == prefix).then_some(View::Inbox(key)),
                    Some(_) if key.pk == prefix => Some(View::Notification(key)),
                    Some(_) if is_read => self.without_name(row, now)?,
                    Some(_) => None,
                });
            }
        }
        bar.finish_and_clear();
        Ok(found)
    }

    /// A notification of somebody else's without the person's name, if it has it.
    fn without_name(&self, row: Row<'_>, now: Timestamp) -> Result<Option<View>, DynamoError> {
        let Some(mut read) = ReadNotification::read(&row, now)? else { return Ok(None) };
        if !read.group.erase(self.viewer.as_str()) {
            return Ok(None);
        }
        let mut item = row.item;
        let likes = AttributeValue::B(Blob::new(read.group.to_bytes()));
        let before = item.insert("likes".to_owned(), likes);
        Ok(before.map(|likes| View::Names { item, likes }))
    }

    async fn erase_view(&self, view: &View) -> Result<(), DynamoError> {
        let table = self.views.table();
        match view {
            View::Inbox(key) => self.mark_view(key.clone()).await,
            View::Notification(key) => {
                table.delete(key.clone().into_item(), None, soon()).await.map(|_| ())
            }
            View::Names { item, likes } => {
                let unchanged = Condition::new("likes = :seen").value(":seen", likes.clone());
                table.put_if(item.clone(), unchanged, soon()).await.map(|_| ())
            }
        }
    }
}

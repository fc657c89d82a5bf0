//! The view of one activity: the number of likes, and what its actor is notified of.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::group::{LikeGroup, Liker, Unread};
use super::inbox::LikesListing;
use super::keys::{self, NotificationKey};
use super::mark::Mark;
use super::read::ReadNotification;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Key, Row, number, text, truth};
use crate::platform::projection::{Change, Fold, Late, Note, Recent, State};
use crate::platform::values::{ActivityId, ActorId, Timestamp, ViewerId};
use crate::social::activities::owner::{self, Owner};
use crate::social::likes::{self, LikeCount, RecordedLike};

/// The likes of an activity, and the notifications of its actor. Attributes without content are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivityLikes {
    counted: LikeCount,
    /// Who published it, once that is known.
    actor: Option<ActorId>,
    /// True if it was deleted, so that nobody is notified.
    deleted: bool,
    /// True if the actor's own like was subtracted before it was certain that it had been counted.
    owed: bool,
    /// How many places the actor has read.
    read: u64,
    /// The places of likes that the actor was notified of and that were erased since, read or not.
    erased: u64,
    /// Likes that the actor has not read.
    unread: Unread,
    last_read: Option<ReadNotification>,
    /// Notifications that were read and have an item since the view was read, and those that have none any more.
    moves: BTreeMap<NotificationKey, Option<ReadNotification>>,
    /// The latest like of the last notification that has an item.
    stored: Option<(Timestamp, u64)>,
}

/// The numbers of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Numbers {
    pub count: i64,
    /// Likes that its actor was notified of, and has read.
    pub read: u64,
    /// Likes that its actor was notified of, and has not read.
    pub unread: u64,
}

impl ActivityLikes {
    /// A view that is recounted from facts: the current likes, all first likes, the actor, and how
    /// far the actor has read. Facts do not have the order in which likes were counted, so it is
    /// the order of their instants. They do not have the places of erased likes and the last read
    /// notification either, so these stay as stored.
    pub fn recounted(
        count: u64,
        likers: Vec<Liker>,
        owner: Option<Owner>,
        mark: Option<Mark>,
        stored: &Self,
    ) -> Self {
        let actor = owner.as_ref().map(|owner| owner.actor_id.clone());
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let counted = LikeCount { count, recent: Recent::unknown(), version: 0 };
        let mut recounted = Self { counted, actor, ..Self::default() };
        if owner.is_some_and(|owner| owner.deleted) {
            recounted.delete();
        }
        let mut likers = likers;
        likers.sort_unstable();
        likers.into_iter().for_each(|liker| recounted.liked(liker));
        let (unread_erased, is_there) = (stored.unread.erased(), !recounted.deleted);
        let [before, after] = match is_there {
            true => [stored.erased.saturating_sub(unread_erased), unread_erased],
            false => [0, 0],
        };
        recounted.unread.add_erased(before);
        recounted.erased = stored.erased;
        let through = mark.map_or(0, |mark| mark.through.min(recounted.unread.places()));
        recounted.unread.cut(through);
        recounted.unread.add_erased(after);
        if !recounted.deleted {
            recounted.read = through;
            recounted.last_read.clone_from(&stored.last_read);
        }
        recounted
    }

    /// The numbers that a recount has to reproduce.
    pub fn numbers(&self) -> Numbers {
        let (read, unread) = match self.notifies() {
            true => (self.read - self.read_erased(), self.unread.count()),
            false => (0, 0),
        };
        Numbers { count: self.counted.count, read, unread }
    }

    /// Who published it, once that is known.
    pub fn actor(&self) -> Option<&ActorId> {
        self.actor.as_ref()
    }

    /// True if nobody ever liked it, so that no view is needed.
    pub fn is_empty(&self) -> bool {
        let has_numbers = self.counted.count != 0 || self.read > 0 || self.unread.places() > 0;
        !has_numbers && self.counted.recent.is_untouched()
    }

    /// True if it was deleted.
    pub fn is_deleted(&self) -> bool {
        self.deleted
    }

    /// The number of places before the unread likes.
    pub fn read_through(&self) -> u64 {
        self.read
    }

    /// The places of erased viewers among those before the unread likes.
    fn read_erased(&self) -> u64 {
        self.erased.saturating_sub(self.unread.erased()).min(self.read)
    }

    /// The unread likes, if the actor is notified of any.
    pub fn unread(&self) -> Option<LikeGroup> {
        let unread = self.notifies().then(|| self.unread.all()).flatten();
        unread.filter(|group| group.count > 0)
    }

    /// Its listing in its actor's inbox.
    pub fn listing(&self) -> Option<LikesListing> {
        self.unread().map(|all| LikesListing { count: all.count, last_at: all.last_at })
    }

    /// The notification that was read last, unless all of its viewers were erased.
    pub fn last_read(&self) -> Option<&ReadNotification> {
        self.last_read.as_ref().filter(|last| last.group.count > 0)
    }

    /// Notifications that were read and have an item since the view was read, and those that have none any more.
    pub fn moves(&self) -> &BTreeMap<NotificationKey, Option<ReadNotification>> {
        &self.moves
    }

    /// True if this viewer is known to be the actor.
    pub fn is_by(&self, viewer: &ViewerId) -> bool {
        self.actor.as_ref().is_some_and(|actor| actor.as_str() == viewer.as_str())
    }

    fn notifies(&self) -> bool {
        self.actor.is_some() && !self.deleted
    }

    /// Sets the owner of the activity, with their own like of it, which they are not notified of.
    pub fn set_owner(&mut self, owner: Owner, own: Option<&RecordedLike>) {
        if owner.deleted {
            self.delete();
        }
        let was_liked = own.is_some_and(|own| own.first_liked_at.is_some());
        if was_liked && !self.unread.remove(owner.actor_id.as_str()) {
            // If all likes have names, their own like is not counted yet and will come. Otherwise one is subtracted for it, and
            // added back if it comes.
            self.owed = self.unread.remove_unnamed();
        }
        self.actor = Some(owner.actor_id);
    }

    fn delete(&mut self) {
        self.deleted = true;
        self.unread = Unread::default();
        self.last_read = None;
    }

    fn liked(&mut self, liker: Liker) {
        let is_own = self.is_by(&liker.viewer_id);
        if self.deleted || is_own && !std::mem::take(&mut self.owed) {
            return;
        }
        self.unread.push(liker);
    }

    fn like_changed(
        &mut self,
        viewer: ViewerId,
        activity: &ActivityId,
        before: Option<RecordedLike>,
        after: Option<RecordedLike>,
    ) {
        let liked = |recorded: Option<RecordedLike>| recorded.is_some_and(|r| r.state.on);
        self.counted.count += i64::from(liked(after)) - i64::from(liked(before));
        let first = |recorded: Option<RecordedLike>| recorded.and_then(|r| r.first_liked_at);
        match (first(before), first(after)) {
            (None, Some(at)) => self.liked(Liker { at, viewer_id: viewer }),
            (Some(before), Some(after)) if before != after => {
                self.move_back(&viewer, activity, after);
            }
            (Some(at), None) if !self.is_by(&viewer) => {
                self.erase(viewer.as_str(), activity, at);
            }
            _ => {}
        }
    }

    /// Moves a like to an earlier instant. Notifications before the last one stay as they were read.
    fn move_back(&mut self, viewer: &ViewerId, activity: &ActivityId, at: Timestamp) {
        if self.unread.move_back(viewer, at) {
            return;
        }
        let Some(mut last) = self.last_read.take() else { return };
        let before = last.position(activity);
        if last.group.move_back(viewer, at) {
            self.remove(before);
            self.moves.insert(last.position(activity), Some(last.clone()));
        }
        self.last_read = Some(last);
    }

    /// Removes the item of a notification. An item that is not written yet need not be removed: however many marks a batch has, each
    /// notification has at most one item to write and one to remove.
    fn remove(&mut self, position: NotificationKey) {
        match self.stored == position.behind.map(|behind| (position.last_at, behind)) {
            true => self.moves.insert(position, None),
            false => self.moves.remove(&position).flatten().map(Some),
        };
    }

    /// Erases a viewer who liked first at an instant, and keeps the place. Whoever is in no unread
    /// like and not in the last notification that was read, is in an earlier one.
    fn erase(&mut self, viewer: &str, activity: &ActivityId, at: Timestamp) {
        if self.deleted {
            return;
        }
        self.erased += 1;
        if self.unread.erase(viewer) || self.erase_read(activity, |read| read.erase(viewer)) {
            return;
        }
        if !self.unread.erase_unnamed(at) {
            self.erase_read(activity, |read| read.erase_unnamed(at));
        }
    }

    /// Erases a viewer of the last notification that was read. Returns false if there is none.
    fn erase_read(
        &mut self,
        activity: &ActivityId,
        erase: impl Fn(&mut LikeGroup) -> bool,
    ) -> bool {
        let Some(mut last) = self.last_read.take() else { return false };
        let before = last.position(activity);
        let is_there = erase(&mut last.group);
        if is_there {
            self.remove(before);
            if last.group.count > 0 {
                self.moves.insert(last.position(activity), Some(last.clone()));
            }
        }
        self.last_read = Some(last);
        is_there
    }

    fn marked(&mut self, mark: Mark, activity: &ActivityId) {
        let there_are = self.read + self.unread.places();
        let through = mark.through.min(there_are);
        let Some(mut group) = self.unread.cut(through.saturating_sub(self.read)) else { return };
        let mut behind = self.read;
        if let Some(last) = self.last_read.take_if(|last| last.behind == mark.behind) {
            // The same notification, marked again with a greater number.
            self.remove(last.position(activity));
            group.join(last.group);
            behind = last.behind;
        }
        self.read = through;
        // All of its viewers were erased.
        if group.count == 0 {
            return;
        }
        let last = ReadNotification { behind, read_at: mark.read_at, group };
        self.moves.insert(last.position(activity), Some(last.clone()));
        self.last_read = Some(last);
    }
}

/// The rows before and after a change.
fn rows<'a, T>(
    change: &Change,
    facts: &'a str,
    read: impl Fn(&Row<'a>) -> Result<T, DynamoError>,
) -> Result<(Option<T>, Option<T>), DynamoError> {
    let row = |item: &Option<Item>| {
        item.clone().map(|item| read(&Row { table: facts, item })).transpose()
    };
    Ok((row(&change.before)?, row(&change.after)?))
}

impl State for ActivityLikes {
    const ATTRIBUTES: &'static [&'static str] = &[
        LikeCount::ATTRIBUTE,
        "actor",
        "deleted",
        "owed",
        "read",
        "erased",
        "unread",
        "last_read",
    ];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let count = |name: &str| if row.item.contains_key(name) { row.count(name) } else { Ok(0) };
        let unread = row.packed("unread", "unread likes", Unread::from_bytes)?;
        let last_read = row.packed("last_read", "a notification", ReadNotification::from_bytes)?;
        Ok(Self {
            counted: LikeCount::read(row)?,
            actor: row.optional("actor", "the id of an actor")?,
            deleted: row.flag("deleted")?,
            owed: row.flag("owed")?,
            read: count("read")?,
            erased: count("erased")?,
            unread: unread.unwrap_or_default(),
            stored: last_read
                .as_ref()
                .map(|last: &ReadNotification| (last.group.last_at, last.behind)),
            last_read,
            moves: BTreeMap::new(),
        })
    }

    fn write(&self) -> Item {
        let bytes = |bytes: Vec<u8>| AttributeValue::B(Blob::new(bytes));
        let mut item = Item::from([(LikeCount::ATTRIBUTE.to_owned(), number(self.counted.count))]);
        let mut set = |name: &str, value| {
            item.insert(name.to_owned(), value);
        };
        if let Some(actor) = &self.actor {
            set("actor", text(actor.as_str()));
        }
        for (name, flag) in [("deleted", self.deleted), ("owed", self.owed)] {
            if flag {
                set(name, truth(true));
            }
        }
        for (name, count) in [("read", self.read), ("erased", self.erased)] {
            if count > 0 {
                set(name, number(count));
            }
        }
        let mut unread = self.unread.clone();
        unread.compact();
        if unread.places() > 0 {
            set("unread", bytes(unread.to_bytes()));
        }
        if let Some(last) = &self.last_read {
            set("last_read", bytes(last.to_bytes()));
        }
        item
    }

    fn recent(&self, version: u64) -> Option<AttributeValue> {
        Some(self.counted.recent.write(version))
    }

    fn leaving(&mut self, view: &Key, version: u64) -> Vec<Note> {
        self.counted.recent.leaving(view, version)
    }

    fn is_long(&self) -> bool {
        self.counted.recent.is_long()
    }
}

impl Fold for ActivityLikes {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        let Key { pk, sk } = &change.key;
        if let Some((viewer, activity)) = likes::keys::of_like(pk, sk) {
            let (before, after) = rows(change, facts, RecordedLike::read)?;
            let told = [before, after].map(|row| {
                let ever_liked = row.filter(|row: &RecordedLike| row.first_liked_at.is_some());
                ever_liked.map(|row| row.state.on)
            });
            self.counted.recent.note(&viewer, told, Late::of(change));
            self.like_changed(viewer, &activity, before, after);
        } else if let Some((viewer, activity)) = keys::of_mark(pk, sk) {
            let (_, after) = rows(change, facts, Mark::read)?;
            let counts = self.is_by(&viewer) && !self.deleted;
            if let Some(mark) = after.filter(|_| counts) {
                self.marked(mark, &activity);
            }
        } else if owner::of_key(pk, sk).is_some() {
            let (_, after) = rows(change, facts, Owner::read)?;
            if after.is_some_and(|owner| owner.deleted) {
                self.delete();
            }
        }
        Ok(())
    }
}

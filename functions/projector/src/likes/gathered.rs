//! The writes of one transaction with the inbox of an actor, weighed before they are added.

use std::collections::BTreeMap;

use shared::platform::dynamo::Limits;
use shared::platform::dynamo::item::Item;
use shared::platform::projection::{View, Write};
use shared::platform::values::{Retention, ViewerId};
use shared::social::likes;
use shared::social::notifications::Inbox;
use shared::social::notifications::keys::{self, NotificationKey};

use super::task::Ready;

/// What is written with one inbox.
#[derive(Clone)]
pub(super) struct Gathered<'g> {
    pub(super) viewer: &'g ViewerId,
    pub(super) kept: Retention,
    pub(super) limits: &'g Limits,
    pub(super) inbox: View<Inbox>,
    pub(super) views: Vec<Write>,
    pub(super) items: BTreeMap<NotificationKey, Write>,
}

impl Gathered<'_> {
    /// Adds a view.
    pub(super) fn with(&self, ready: &Ready<'_>) -> Self {
        let (mut more, Ready { task, before, view, .. }) = (self.clone(), ready);
        more.views.push(view.write(likes::keys::count(&task.activity)));
        more.inbox.state.update(&task.activity, before.listing(), view.state.listing());
        for (position, read) in view.state.moves() {
            let item = read.as_ref().map(|it| it.write(position, self.viewer, self.kept));
            more.items.insert(position.clone(), put_or_delete(position, self.viewer, item));
        }
        more
    }

    pub(super) fn is_too_much(&self) -> bool {
        let writes = self.clone().writes();
        writes.len() > self.limits.max_transaction_items()
            || writes.iter().map(Write::weight).sum::<usize>() > self.limits.max_transaction_bytes()
    }

    pub(super) fn writes(mut self) -> Vec<Write> {
        for (position, listed) in self.inbox.state.spills() {
            let item = listed.as_ref().map(|it| it.write(self.viewer));
            self.items.insert(position.clone(), put_or_delete(position, self.viewer, item));
        }
        let mut writes = self.views;
        writes.push(self.inbox.write(keys::inbox(self.viewer)));
        writes.extend(self.items.into_values());
        writes
    }
}

/// Puts the item of a notification, or deletes it if there is none any more.
fn put_or_delete(position: &NotificationKey, viewer: &ViewerId, item: Option<Item>) -> Write {
    item.map_or_else(|| Write::Delete(position.key(viewer)), Write::Put)
}

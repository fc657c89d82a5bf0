//! The view of a customer is lowered, emptied, or made again.

use std::collections::BTreeSet;

use super::{BUCKETS, CustomerView, NameBucket, bucket_of};
use crate::history::summaries::tally::{Days, NameTally};
use crate::history::summaries::{CustomerSummary, keys};
use crate::platform::dynamo::item::Key;
use crate::platform::values::EventName;

impl CustomerView {
    /// The view of a customer of whom nothing is left: no name, no day, no block that counts. Its
    /// next life begins.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { life: self.life + 1, ..self.cleared() }
    }

    fn cleared(&self) -> Self {
        let (blocks, bounds, life) = (self.blocks, self.bounds, self.life);
        Self { blocks, first_block: blocks, bounds, life, ..Self::default() }
    }

    /// Whether a block beside it, by its sort key, says nothing any more.
    pub fn is_past_block(&self, sk: &str) -> bool {
        match keys::number_of_days(sk) {
            Some(number) => number < self.first_block,
            None => keys::of_bucket(sk).is_some() && self.others == 0,
        }
    }

    /// The blocks that have names, of those that are beside the view at this key.
    pub(in crate::history::summaries) fn buckets_of<'n>(
        &self,
        view: &Key,
        names: impl IntoIterator<Item = &'n EventName>,
    ) -> Vec<Key> {
        let new = names.into_iter().filter(|name| !self.names.contains_key(name));
        let new: BTreeSet<_> = new.collect();
        if self.others == 0 && self.names.len() + new.len() <= self.bounds.names {
            return Vec::new();
        }
        let buckets: BTreeSet<_> = new.into_iter().map(bucket_of).collect();
        let key = |bucket| Key { pk: view.pk.clone(), sk: keys::bucket(bucket) };
        buckets.into_iter().map(key).collect()
    }

    /// Takes events of these days away. Blocks that have the name were read. What is removed before it is folded counts less
    /// than nothing, until it is. A name that has no room is not counted: the view has refused its events, or will.
    ///
    /// # Errors
    /// What was expected instead.
    pub(in crate::history::summaries) fn take(
        &mut self,
        name: &EventName,
        days: &Days,
    ) -> Result<(), &'static str> {
        if !self.has_room(name) {
            return Ok(());
        }
        self.add(name, NameTally::fewer(days.events()))?;
        let recent = self.recent.entry(name.clone()).or_default();
        recent.subtract(days);
        if recent.is_empty() {
            self.recent.remove(name);
        }
        Ok(())
    }

    /// Whether a block is one of days, by its key.
    pub fn is_days(&self, block: &Key) -> bool {
        keys::number_of_days(&block.sk).is_some()
    }

    /// The view that says this, whatever it said. All blocks are new: those that are beside it are to be deleted with it, but for
    /// those that are written.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn rebuilt(&self, summary: &CustomerSummary) -> Result<Self, &'static str> {
        let mut view = self.cleared();
        view.buckets = (0..BUCKETS).map(|bucket| (bucket, NameBucket::default())).collect();
        for (name, tally) in &summary.names {
            view.add(name, *tally)?;
        }
        view.recent = summary.days.clone();
        Ok(view)
    }
}

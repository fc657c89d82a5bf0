//! The likes of one notification, and how a notification is cut in two.

use crate::values::{Packer, Timestamp, Unpacker, ViewerId};

/// The most viewers that a notification names.
pub const NAMED: usize = 3;
/// The most names that are stored: one more, because that of the actor may have to be removed.
const KEPT: usize = NAMED + 1;
/// The size up to which groups are kept apart. The whole view is then less than a kilobyte.
const APART: usize = 512;
/// The newest groups are joined last, because a mark is most likely to cut there.
const NEWEST: usize = 4;

/// A viewer who liked an activity, and when.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Liker {
    /// The `at` of the like.
    pub at: Timestamp,
    pub viewer_id: ViewerId,
}

/// Some likes: their number, the earliest and the latest instant, and the names of the latest viewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeGroup {
    pub count: u64,
    /// The earliest like.
    pub first_at: Timestamp,
    /// The latest like.
    pub last_at: Timestamp,
    /// The latest viewers by name, latest first.
    latest: Vec<Liker>,
}

impl LikeGroup {
    #[must_use]
    pub fn one(liker: Liker) -> Self {
        Self { count: 1, first_at: liker.at, last_at: liker.at, latest: vec![liker] }
    }

    /// Up to [`NAMED`] viewers, the latest first.
    pub fn viewers(&self) -> impl Iterator<Item = &ViewerId> {
        self.latest.iter().take(NAMED).map(|liker| &liker.viewer_id)
    }

    /// True if all of its viewers are known by name.
    fn is_whole(&self) -> bool {
        self.latest.len() as u64 == self.count
    }

    pub fn join(&mut self, others: Self) {
        self.count += others.count;
        self.first_at = self.first_at.min(others.first_at);
        self.last_at = self.last_at.max(others.last_at);
        self.latest.extend(others.latest);
        self.latest.sort_unstable_by(|one, other| other.cmp(one));
        self.latest.truncate(KEPT);
    }

    /// Removes a name, and keeps the number. Returns false if it was not there.
    pub fn erase(&mut self, viewer: &str) -> bool {
        let before = self.latest.len();
        self.latest.retain(|liker| liker.viewer_id.as_str() != viewer);
        self.latest.len() < before
    }

    /// A like turns out to be from earlier. Returns false if its viewer is not known by name.
    pub fn move_back(&mut self, viewer: &ViewerId, at: Timestamp) -> bool {
        let Some(liker) = self.latest.iter_mut().find(|liker| liker.viewer_id == *viewer) else {
            return false;
        };
        liker.at = at;
        self.latest.sort_unstable_by(|one, other| other.cmp(one));
        self.first_at = self.first_at.min(at);
        self.tighten();
        true
    }

    /// The bounds of the remaining likes, as far as their names tell.
    fn tighten(&mut self) {
        if let (Some(latest), Some(earliest)) = (self.latest.first(), self.latest.last()) {
            self.last_at = latest.at;
            if self.is_whole() {
                self.first_at = earliest.at;
            }
        }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        self.pack(&mut packer);
        packer.into_bytes()
    }

    /// Reads what was stored; `None` if it is malformed.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        Self::unpack(&mut unpacker).filter(|_| unpacker.is_empty())
    }

    pub(super) fn pack(&self, packer: &mut Packer) {
        packer.number(self.count);
        packer.number(self.latest.len() as u64);
        for Liker { at, viewer_id } in &self.latest {
            packer.instant(*at);
            packer.text(viewer_id.as_str());
        }
        // If all are known by name, the bounds are known.
        if !self.is_whole() {
            packer.instant(self.first_at);
            packer.instant(self.last_at);
        }
    }

    pub(super) fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let (count, names) = (unpacker.number()?, unpacker.number()?);
        if count == 0 || names > count || names > KEPT as u64 {
            return None;
        }
        let mut latest = Vec::with_capacity(KEPT);
        for _ in 0..names {
            let at = unpacker.instant()?;
            latest.push(Liker { at, viewer_id: ViewerId::new(unpacker.text()?).ok()? });
        }
        let (first_at, last_at) = match (names == count, latest.last(), latest.first()) {
            (true, Some(first), Some(last)) => (first.at, last.at),
            _ => (unpacker.instant()?, unpacker.instant()?),
        };
        Some(Self { count, first_at, last_at, latest })
    }
}

/// Likes in the order in which the view has counted them, earliest first.
///
/// A mark may cut between any two of them. The latest likes are stored one by one, so there the names and bounds of both parts are
/// known. Earlier ones are joined into groups, and older groups are larger: a mark for an old answer may cut through a group. The
/// numbers of both parts are then still right, and both parts have the names and bounds of that group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread(Vec<LikeGroup>);

impl Unread {
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|group| group.count).sum()
    }

    /// All of them as one group; `None` if there are none.
    #[must_use]
    pub fn all(&self) -> Option<LikeGroup> {
        self.0.iter().cloned().reduce(|mut all, group| {
            all.join(group);
            all
        })
    }

    pub fn push(&mut self, liker: Liker) {
        self.0.push(LikeGroup::one(liker));
    }

    /// Takes the first N, or all; `None` if that is none.
    pub fn cut(&mut self, mut n: u64) -> Option<LikeGroup> {
        let mut first: Vec<LikeGroup> = Vec::new();
        while n > 0 && !self.0.is_empty() {
            let group = &mut self.0[0];
            if group.count <= n {
                n -= group.count;
                first.push(self.0.remove(0));
                continue;
            }
            // The cut is within this group.
            let mut part = group.clone();
            (part.count, group.count) = (n, group.count - n);
            part.latest.truncate(usize::try_from(n).unwrap_or(KEPT));
            group.latest.truncate(usize::try_from(group.count).unwrap_or(KEPT));
            first.push(part);
            n = 0;
        }
        Self(first).all()
    }

    /// Removes a viewer who is known by name. Returns false if there is none.
    pub fn remove(&mut self, viewer: &str) -> bool {
        let Some(index) = self.0.iter_mut().position(|group| group.erase(viewer)) else {
            return false;
        };
        self.0[index].count -= 1;
        if self.0[index].count == 0 {
            self.0.remove(index);
        } else {
            self.0[index].tighten();
        }
        true
    }

    /// Removes one viewer who is not known by name. Returns false if all are.
    pub fn remove_unnamed(&mut self) -> bool {
        let unnamed = self.0.iter_mut().find(|group| !group.is_whole());
        unnamed.map(|group| group.count -= 1).is_some()
    }

    /// Adds unknown viewers: to the existing group, or with the bounds of `others` if there is none.
    pub fn add_unnamed(&mut self, count: u64, others: Option<LikeGroup>) {
        match (self.0.first_mut(), others) {
            (Some(first), _) => first.count += count,
            (None, Some(others)) if count > 0 => {
                self.0.push(LikeGroup { count, latest: Vec::new(), ..others });
            }
            (None, _) => {}
        }
    }

    /// The name goes, the number stays.
    pub fn erase(&mut self, viewer: &str) {
        self.0.iter_mut().for_each(|group| {
            group.erase(viewer);
        });
    }

    /// A like turns out to be from earlier. Returns false if its viewer is not known by name.
    pub fn move_back(&mut self, viewer: &ViewerId, at: Timestamp) -> bool {
        self.0.iter_mut().any(|group| group.move_back(viewer, at))
    }

    /// Joins neighbours until the rest is small enough. All but the newest groups are joined in pairs, so the oldest groups double
    /// each time.
    pub fn compact(&mut self) {
        let mut newest = NEWEST;
        while self.to_bytes().len() > APART && self.0.len() > 1 {
            let older = self.0.len().saturating_sub(newest);
            if older < 2 {
                newest /= 2;
                continue;
            }
            let rest = self.0.split_off(older);
            let mut groups = std::mem::take(&mut self.0).into_iter();
            while let Some(mut group) = groups.next() {
                groups.next().into_iter().for_each(|next| group.join(next));
                self.0.push(group);
            }
            self.0.extend(rest);
        }
    }

    /// As it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        self.0.iter().for_each(|group| group.pack(&mut packer));
        packer.into_bytes()
    }

    /// Reads what was stored; `None` if it is malformed.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut unpacker, mut groups) = (Unpacker::new(bytes), Vec::new());
        while !unpacker.is_empty() {
            groups.push(LikeGroup::unpack(&mut unpacker)?);
        }
        Some(Self(groups))
    }
}

#[cfg(test)]
mod tests;

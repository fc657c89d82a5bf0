//! The likes that one notification stands for, and how one is cut in two.

use crate::values::{Packer, Timestamp, Unpacker, ViewerId};

/// How many viewers a notification names.
pub const NAMED: usize = 3;
/// How many names are kept: one more, since that of the actor may have to go.
const KEPT: usize = NAMED + 1;
/// The size up to which groups are kept apart: with the rest of the view it is less than a kilobyte.
const APART: usize = 512;
/// The newest groups are the last to be joined: they are where a mark is most likely to cut.
const NEWEST: usize = 4;

/// A viewer who liked an activity, and when: what its actor is notified of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Liker {
    /// When: the `at` of the like.
    pub at: Timestamp,
    pub viewer_id: ViewerId,
}

/// Some likes: how many, from when to when, and who were the latest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeGroup {
    pub count: u64,
    /// The earliest like.
    pub first_at: Timestamp,
    /// The latest like.
    pub last_at: Timestamp,
    /// The latest ones by name, the latest first.
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

    /// The name goes, the number stays. False if it was not there.
    pub fn erase(&mut self, viewer: &str) -> bool {
        let before = self.latest.len();
        self.latest.retain(|liker| liker.viewer_id.as_str() != viewer);
        self.latest.len() < before
    }

    /// A like turns out to be from earlier. False if its viewer is not known by name.
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

    /// The bounds of those who are left, where their names say so.
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

    /// What was stored; nothing if it is something else.
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
        // Of those who are all known by name it is known anyway.
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

/// Likes in the order in which the view came to know them, the earliest first.
///
/// A mark may cut anywhere between two of them. The latest ones are kept one by one, so there the names, first and
/// last of both parts are known. Those before are joined into groups, the older ones into the larger: a mark that an
/// answer from long ago was made for cuts through a group. Then the numbers of both parts are right as ever; the
/// names of that group, and from when to when it is, are said of both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread(Vec<LikeGroup>);

impl Unread {
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(|group| group.count).sum()
    }

    /// All of them as one, unless there are none.
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

    /// Takes the first N, or all, unless that is none.
    pub fn cut(&mut self, mut n: u64) -> Option<LikeGroup> {
        let mut first: Vec<LikeGroup> = Vec::new();
        while n > 0 && !self.0.is_empty() {
            let group = &mut self.0[0];
            if group.count <= n {
                n -= group.count;
                first.push(self.0.remove(0));
                continue;
            }
            // The cut goes through it.
            let mut part = group.clone();
            (part.count, group.count) = (n, group.count - n);
            part.latest.truncate(usize::try_from(n).unwrap_or(KEPT));
            group.latest.truncate(usize::try_from(group.count).unwrap_or(KEPT));
            first.push(part);
            n = 0;
        }
        Self(first).all()
    }

    /// Takes out a viewer who is known by name. False if nobody of that name is.
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

    /// Takes out somebody who is not known by name. False if all are.
    pub fn remove_unnamed(&mut self) -> bool {
        let unnamed = self.0.iter_mut().find(|group| !group.is_whole());
        unnamed.map(|group| group.count -= 1).is_some()
    }

    /// More of whom nothing is known: beside those who are there, or where nobody is, from when to when `others` are.
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

    /// A like turns out to be from earlier. False if its viewer is not known by name.
    pub fn move_back(&mut self, viewer: &ViewerId, at: Timestamp) -> bool {
        self.0.iter_mut().any(|group| group.move_back(viewer, at))
    }

    /// Joins neighbours until what is left is small enough. All but the newest ones are joined in pairs, so the
    /// oldest groups grow twice as large each time.
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

    /// What was stored; nothing if it is something else.
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

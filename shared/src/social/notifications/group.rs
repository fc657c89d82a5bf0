//! The likes of one notification, and how a notification is cut in two.
//!
//! Marks are numbers of likes, so a like keeps its *place* in this order when its viewer is erased:
//! a number that was in an answer before means the same likes after. An erased place counts no
//! viewer, has no name, and no part in the first and the last instant.
//!
//! The name of an erased viewer says which group has their place. If the group does not know the
//! name, the instant of the like has to lie between the first and the last instant of the group.
//! Likes are counted nearly in the order of their instants, so it rarely lies in two groups. The
//! numbers of viewers always add up; only where an old mark cuts through such a group may one be on
//! the other side. Its names stay on the later side, so the earlier one may have none.

use crate::platform::values::{Packer, Timestamp, Unpacker, ViewerId};

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

/// Stored with the number of names if places are erased.
const HAS_ERASED: u64 = 8;

/// Some likes: their number, the earliest and the latest instant, and the names of the latest viewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeGroup {
    /// Their viewers, without those who were erased.
    pub count: u64,
    /// The places of erased viewers.
    erased: u64,
    /// The earliest like.
    pub first_at: Timestamp,
    /// The latest like.
    pub last_at: Timestamp,
    /// The latest viewers by name, latest first.
    latest: Vec<Liker>,
}

impl LikeGroup {
    pub fn one(liker: Liker) -> Self {
        Self { count: 1, erased: 0, first_at: liker.at, last_at: liker.at, latest: vec![liker] }
    }

    /// Up to [`NAMED`] viewers, the latest first.
    pub fn viewers(&self) -> impl Iterator<Item = &ViewerId> {
        self.latest.iter().take(NAMED).map(|liker| &liker.viewer_id)
    }

    /// The places of so many erased viewers.
    fn of_erased(erased: u64, at: Timestamp) -> Self {
        Self { count: 0, erased, first_at: at, last_at: at, latest: Vec::new() }
    }

    /// The number of places: viewers, and those who were erased.
    pub fn places(&self) -> u64 {
        self.count + self.erased
    }

    /// True if all of its viewers are known by name.
    fn is_whole(&self) -> bool {
        self.latest.len() as u64 == self.count
    }

    pub fn join(&mut self, others: Self) {
        if self.count == 0 {
            (self.first_at, self.last_at) = (others.first_at, others.last_at);
        } else if others.count > 0 {
            self.first_at = self.first_at.min(others.first_at);
            self.last_at = self.last_at.max(others.last_at);
        }
        self.count += others.count;
        self.erased += others.erased;
        self.latest.extend(others.latest);
        self.latest.sort_unstable_by(|one, other| other.cmp(one));
        self.latest.truncate(KEPT);
    }

    /// Erases a viewer, and keeps the place. Returns false if the name is not known.
    pub fn erase(&mut self, viewer: &str) -> bool {
        let is_it = |liker: &Liker| liker.viewer_id.as_str() == viewer;
        let Some(index) = self.latest.iter().position(is_it) else { return false };
        let gone = self.latest.remove(index);
        self.count -= 1;
        self.erased += 1;
        self.tighten(gone.at);
        true
    }

    /// The same for one without a name who liked at an instant. Returns false if all have names, or
    /// none of the others can have liked then.
    pub fn erase_unnamed(&mut self, at: Timestamp) -> bool {
        let is_possible = !self.is_whole() && (self.first_at..=self.last_at).contains(&at);
        if is_possible {
            self.count -= 1;
            self.erased += 1;
        }
        is_possible
    }

    /// A like turns out to be from earlier. Returns false if its viewer is not known by name.
    pub fn move_back(&mut self, viewer: &ViewerId, at: Timestamp) -> bool {
        let Some(liker) = self.latest.iter_mut().find(|liker| liker.viewer_id == *viewer) else {
            return false;
        };
        let before = std::mem::replace(&mut liker.at, at);
        self.latest.sort_unstable_by(|one, other| other.cmp(one));
        self.first_at = self.first_at.min(at);
        self.tighten(before);
        true
    }

    /// The bounds of the remaining likes, as far as their names tell, after one of an instant is gone.
    fn tighten(&mut self, gone: Timestamp) {
        if let (Some(latest), Some(earliest)) = (self.latest.first(), self.latest.last()) {
            // Otherwise the latest like has no name: a cut has left it on the other side.
            if gone == self.last_at {
                self.last_at = latest.at;
            }
            if self.is_whole() {
                self.first_at = earliest.at;
            }
        }
    }

    /// As it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        self.pack(&mut packer);
        packer.into_bytes()
    }

    /// Reads what was stored; `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        Self::unpack(&mut unpacker).filter(|_| unpacker.is_empty())
    }

    pub(super) fn pack(&self, packer: &mut Packer) {
        packer.number(self.count);
        let names = self.latest.len() as u64;
        if self.erased > 0 {
            packer.number(names | HAS_ERASED);
            packer.number(self.erased);
        } else {
            packer.number(names);
        }
        for Liker { at, viewer_id } in &self.latest {
            packer.instant(*at);
            packer.text(viewer_id.as_str());
        }
        // If all are known by name, the bounds are known.
        if names == 0 || !self.is_whole() {
            packer.instant(self.first_at);
            packer.instant(self.last_at);
        }
    }

    pub(super) fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let (count, mut names, mut erased) = (unpacker.number()?, unpacker.number()?, 0);
        if names & HAS_ERASED != 0 {
            (names, erased) = (names ^ HAS_ERASED, unpacker.number()?);
        }
        if count.checked_add(erased)? == 0 || names > count || names > KEPT as u64 {
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
        Some(Self { count, erased, first_at, last_at, latest })
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
    /// The number of viewers.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|group| group.count).sum()
    }

    pub fn places(&self) -> u64 {
        self.0.iter().map(LikeGroup::places).sum()
    }

    /// The number of places of erased viewers.
    pub fn erased(&self) -> u64 {
        self.0.iter().map(|group| group.erased).sum()
    }

    /// All of them as one group; `None` if there are none.
    pub fn all(&self) -> Option<LikeGroup> {
        self.0.iter().cloned().reduce(|mut all, group| {
            all.join(group);
            all
        })
    }

    pub fn push(&mut self, liker: Liker) {
        self.0.push(LikeGroup::one(liker));
    }

    /// Takes the first N places, or all; `None` if that is none.
    pub fn cut(&mut self, mut n: u64) -> Option<LikeGroup> {
        let mut first: Vec<LikeGroup> = Vec::new();
        while n > 0 && !self.0.is_empty() {
            let group = &mut self.0[0];
            if group.places() <= n {
                n -= group.places();
                first.push(self.0.remove(0));
                continue;
            }
            // The cut is within this group.
            let mut part = group.clone();
            // Where in the group the erased places are is not known.
            let share = u128::from(group.erased) * u128::from(n) / u128::from(group.places());
            part.erased = u64::try_from(share).unwrap_or(0);
            part.count = n - part.erased;
            (group.count, group.erased) = (group.count - part.count, group.erased - part.erased);
            // The names are of the latest, so they stay behind the cut as far as there is room: a
            // name on both sides would be one viewer too few who can be erased without a name.
            let behind = usize::try_from(group.count).unwrap_or(KEPT).min(group.latest.len());
            part.latest = group.latest.split_off(behind);
            first.push(part);
            n = 0;
        }
        Self(first).all()
    }

    /// Removes a viewer who is known by name, with their place. Returns false if there is none.
    pub fn remove(&mut self, viewer: &str) -> bool {
        let Some(index) = self.0.iter_mut().position(|group| group.erase(viewer)) else {
            return false;
        };
        self.0[index].erased -= 1;
        if self.0[index].places() == 0 {
            self.0.remove(index);
        }
        true
    }

    /// Removes one viewer who is not known by name, with their place. Returns false if all are.
    pub fn remove_unnamed(&mut self) -> bool {
        let unnamed = self.0.iter_mut().find(|group| !group.is_whole());
        unnamed.map(|group| group.count -= 1).is_some()
    }

    /// Puts places of erased viewers before all others.
    pub fn add_erased(&mut self, erased: u64) {
        if erased > 0 {
            self.0.insert(0, LikeGroup::of_erased(erased, Timestamp::from_unix_millis(0)));
        }
    }

    /// Erases a viewer who is known by name, and keeps the place. Returns false if there is none.
    pub fn erase(&mut self, viewer: &str) -> bool {
        self.0.iter_mut().any(|group| group.erase(viewer))
    }

    /// The same for one without a name who liked at an instant. Returns false if none of the others
    /// can have liked then.
    pub fn erase_unnamed(&mut self, at: Timestamp) -> bool {
        self.0.iter_mut().any(|group| group.erase_unnamed(at))
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
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        self.0.iter().for_each(|group| group.pack(&mut packer));
        packer.into_bytes()
    }

    /// Reads what was stored; `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (mut unpacker, mut groups) = (Unpacker::new(bytes), Vec::new());
        while !unpacker.is_empty() {
            groups.push(LikeGroup::unpack(&mut unpacker)?);
        }
        Some(Self(groups))
    }
}

#[cfg(test)]
mod tests {
    //! Whatever is pushed, joined and cut: numbers are right, and so are names as long as nothing was joined.

    use proptest::prelude::*;

    use super::*;

    fn liker(n: u64, at: i64) -> Liker {
        let viewer_id = ViewerId::new(format!("viewer-{n}")).expect("an id");
        Liker { at: Timestamp::from_unix_millis(at), viewer_id }
    }

    fn unread(likers: &[Liker]) -> Unread {
        let mut unread = Unread::default();
        likers.iter().cloned().for_each(|liker| unread.push(liker));
        unread
    }

    /// What a group of these has to say.
    fn group(likers: &[Liker]) -> Option<(u64, Timestamp, Timestamp, Vec<ViewerId>)> {
        let mut sorted = likers.to_vec();
        sorted.sort_by(|one, other| other.cmp(one));
        let names = sorted.iter().take(NAMED).map(|liker| liker.viewer_id.clone()).collect();
        Some((sorted.len() as u64, sorted.last()?.at, sorted.first()?.at, names))
    }

    fn said(group: Option<LikeGroup>) -> Option<(u64, Timestamp, Timestamp, Vec<ViewerId>)> {
        let group = group?;
        Some((group.count, group.first_at, group.last_at, group.viewers().cloned().collect()))
    }

    fn likers(most: usize) -> impl Strategy<Value = Vec<Liker>> {
        prop::collection::vec(0..1_000_i64, 0..most).prop_map(|ats| {
            ats.into_iter().enumerate().map(|(n, at)| liker(n as u64, at)).collect()
        })
    }

    proptest! {
        #[test]
        fn a_few_are_known_one_by_one(likers in likers(18), cut in 0_u64..20) {
            let mut unread = unread(&likers);
            unread.compact();
            let mut unread = Unread::from_bytes(&unread.to_bytes()).expect("what was stored");
            let at = usize::try_from(cut).expect("small").min(likers.len());
            prop_assert_eq!(said(unread.cut(cut)), group(&likers[..at]));
            prop_assert_eq!(said(unread.all()), group(&likers[at..]));
        }

        #[test]
        fn numbers_and_the_whole_are_right_of_any_number(likers in likers(600), cut in 0_u64..600) {
            let mut some = Unread::default();
            for chunk in likers.chunks(7) {
                chunk.iter().cloned().for_each(|liker| some.push(liker));
                some.compact();
                some = Unread::from_bytes(&some.to_bytes()).expect("what was stored");
                prop_assert!(some.to_bytes().len() <= APART);
            }
            prop_assert_eq!(said(some.all()), group(&likers));
            let read = some.cut(cut).map_or(0, |group| group.count);
            prop_assert_eq!(read, cut.min(likers.len() as u64));
            prop_assert_eq!(some.count(), likers.len() as u64 - read);
        }

        #[test]
        fn who_is_taken_out_was_never_there(likers in likers(18), n in 0_u64..18) {
            let mut some = unread(&likers);
            let name = format!("viewer-{n}");
            let left: Vec<_> =
                likers.iter().filter(|liker| liker.viewer_id.as_str() != name).cloned().collect();
            prop_assert_eq!(some.remove(&name), left.len() < likers.len());
            prop_assert_eq!(said(some.all()), group(&left));
        }

        /// Erased one after the other, with or without a name: what is left is what there would be
        /// without them.
        #[test]
        fn whoever_is_erased_was_never_there(
            n in 1_u64..200,
            erased in prop::collection::btree_set(0_u64..200, 0..60),
            cut in 0_u64..200,
        ) {
            let likers: Vec<_> = (0..n).map(|n| liker(n, i64::try_from(n).expect("small"))).collect();
            let mut some = unread(&likers);
            some.compact();
            let read = some.cut(cut);
            let (mut read, through) = (Unread(read.into_iter().collect()), cut.min(n));
            for n in erased.iter().filter(|it| **it < n) {
                let Liker { at, viewer_id } = liker(*n, i64::try_from(*n).expect("small"));
                let is_erased = some.erase(viewer_id.as_str())
                    || read.erase(viewer_id.as_str())
                    || some.erase_unnamed(at)
                    || read.erase_unnamed(at);
                prop_assert!(is_erased);
                some = Unread::from_bytes(&some.to_bytes()).expect("what was stored");
            }
            let left = likers.iter().enumerate().filter(|(n, _)| !erased.contains(&(*n as u64)));
            prop_assert_eq!(some.count() + read.count(), left.clone().count() as u64);
            prop_assert_eq!((read.places(), some.places()), (through, n - through));
            if n <= 18 {
                let [first, rest] = [true, false].map(|is_read| {
                    let part = left.clone().filter(|(n, _)| ((*n as u64) < through) == is_read);
                    part.map(|(_, liker)| liker.clone()).collect::<Vec<_>>()
                });
                let of = |unread: &Unread| said(unread.all()).filter(|(count, ..)| *count > 0);
                prop_assert_eq!(of(&some), group(&rest));
                prop_assert_eq!(of(&read).map(|it| it.0), group(&first).map(|it| it.0));
            }
        }

        #[test]
        fn an_earlier_like_moves_its_viewer(likers in likers(18), n in 0_usize..18, at in 0_i64..1_000) {
            prop_assume!(n < likers.len());
            let mut moved = likers.clone();
            moved[n].at = Timestamp::from_unix_millis(at);
            let mut some = unread(&likers);
            prop_assert!(some.move_back(&likers[n].viewer_id, moved[n].at));
            prop_assert_eq!(said(some.all()), group(&moved));
        }

        #[test]
        fn other_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(unread) = Unread::from_bytes(&bytes) {
                let _ = unread.all();
            }
        }
    }

    #[test]
    fn viewers_go_and_places_stay() {
        let mut some = unread(&[liker(1, 10), liker(2, 20), liker(3, 30)]);
        assert!(some.erase("viewer-3") && !some.erase("viewer-3"));
        assert_eq!((some.count(), some.places(), some.erased()), (2, 3, 1));
        assert_eq!(said(some.all()), group(&[liker(1, 10), liker(2, 20)]));
        assert_eq!(Unread::from_bytes(&some.to_bytes()), Some(some));
    }

    #[test]
    fn somebody_without_a_name_is_taken_out_where_there_is_one() {
        let likers: Vec<_> = (0..100).map(|n| liker(n, 0)).collect();
        let mut some = unread(&likers[..3]);
        assert!(!some.remove_unnamed());
        some = unread(&likers);
        some.compact();
        assert!(some.remove_unnamed());
        assert_eq!(some.count(), 99);
    }
}

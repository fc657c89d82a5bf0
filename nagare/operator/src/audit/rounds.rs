//! Audits of views in rounds: views that change while they are compared are compared again in the next round.

/// How often views are compared that keep changing.
const ROUNDS: usize = 8;

/// What an audit has found.
#[derive(Debug)]
pub struct Found<D, I> {
    /// What differed.
    pub differences: Vec<D>,
    /// How many of these are repaired.
    pub mended: usize,
    /// What kept changing, so that it could not be compared.
    pub busy: Vec<I>,
}

/// The result of comparing one view.
pub(super) enum Compared<D> {
    /// It says what it should.
    Equal,
    /// It does not.
    Differs(D),
    /// It did not, and was repaired.
    Mended(D),
    /// It has changed meanwhile.
    Busy,
}

/// The rounds of one audit.
pub(super) struct Rounds<D, I> {
    found: Found<D, I>,
    left: usize,
}

impl<D, I: Clone> Rounds<D, I> {
    /// The rounds of an audit of all these views.
    pub(super) fn of(all: &[I]) -> Self {
        let found = Found { differences: Vec::new(), mended: 0, busy: all.to_vec() };
        Self { found, left: ROUNDS }
    }

    /// The views to compare in the next round; `None` if there is no next round.
    pub(super) fn next_round(&mut self) -> Option<Vec<I>> {
        if self.found.busy.is_empty() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(std::mem::take(&mut self.found.busy))
    }

    /// Adds the result of comparing one view.
    pub(super) fn add(&mut self, id: I, compared: Compared<D>) {
        match compared {
            Compared::Equal => {}
            Compared::Differs(difference) => self.found.differences.push(difference),
            Compared::Mended(difference) => {
                self.found.mended += 1;
                self.found.differences.push(difference);
            }
            Compared::Busy => self.found.busy.push(id),
        }
    }

    /// What was found, after the last round.
    pub(super) fn found(self) -> Found<D, I> {
        self.found
    }
}

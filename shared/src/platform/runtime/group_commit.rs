//! Group commit: what the calls of one process would write into one row one after another is written together.
//!
//! Whoever has something to write joins the group of its row and waits for its turn. Whose turn it is writes everything that
//! waits, and tells each what became of it. A writer that fails, or is given up, tells nobody: what it took is then written
//! at a later turn, by the call that waits for it. So nothing counts as written before it is, and no call waits for more than
//! the turns of those before it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Turns, OwnedMutexGuard, oneshot};

use super::deadline::{Deadline, DeadlineExceeded};

/// What waits in a process, by row. Clones share it. A row is listed while something waits.
///
/// `K` names a row, `W` is what one call has to write and `O` what becomes of it; `S` is what whose turn it is leaves to the next.
pub struct GroupCommit<K, W, O, S = ()>(Arc<Mutex<Groups<K, W, O, S>>>);

type Groups<K, W, O, S> = HashMap<K, Arc<Group<W, O, S>>>;

/// What waits for one row.
struct Group<W, O, S> {
    turn: Arc<Turns<S>>,
    waiting: Mutex<VecDeque<Waiting<W, O>>>,
}

/// What somebody waits for.
pub struct Waiting<W, O> {
    pub work: W,
    done: oneshot::Sender<O>,
}

/// A call in a group, which ends with its last one.
pub struct Place<K: Hash + Eq, W, O, S> {
    groups: GroupCommit<K, W, O, S>,
    key: K,
    group: Arc<Group<W, O, S>>,
    work: W,
    told: oneshot::Receiver<O>,
}

impl<K: Hash + Eq + Clone, W: Clone, O, S: Default> GroupCommit<K, W, O, S> {
    /// Waits in the group of a row.
    #[must_use]
    pub fn join(&self, key: K, work: W) -> Place<K, W, O, S> {
        let group = Arc::clone(self.0.lock().entry(key.clone()).or_default());
        let told = group.wait(work.clone());
        Place { groups: self.clone(), key, group, work, told }
    }
}

impl<K: Hash + Eq, W: Clone, O, S> Place<K, W, O, S> {
    /// Waits until it is this call's turn.
    ///
    /// # Errors
    /// [`DeadlineExceeded`]: it is not known what became of its work.
    pub async fn turn(&self, deadline: Deadline) -> Result<OwnedMutexGuard<S>, DeadlineExceeded> {
        // Those that came with it in one batch join first.
        tokio::task::yield_now().await;
        deadline.bound(Arc::clone(&self.group.turn).lock_owned()).await
    }

    /// What became of the work of this call, once that is known. What a failed writer took waits again.
    pub fn outcome(&mut self) -> Option<O> {
        match self.told.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => {
                self.told = self.group.wait(self.work.clone());
                None
            }
        }
    }

    /// Takes what waits, the earliest first, as long as it fits to what was taken. The first always does.
    pub fn take(
        &self,
        taken: &mut Vec<Waiting<W, O>>,
        mut fits: impl FnMut(&[Waiting<W, O>], &W) -> bool,
    ) {
        let mut waiting = self.group.waiting.lock();
        while let Some(next) = waiting.front() {
            if !taken.is_empty() && !fits(taken, &next.work) {
                break;
            }
            taken.extend(waiting.pop_front());
        }
    }
}

impl<W, O, S> Group<W, O, S> {
    fn wait(&self, work: W) -> oneshot::Receiver<O> {
        let (done, told) = oneshot::channel();
        self.waiting.lock().push_back(Waiting { work, done });
        told
    }
}

impl<W, O> Waiting<W, O> {
    /// Tells who waits, who may have given up.
    pub fn tell(self, outcome: O) {
        let _ = self.done.send(outcome);
    }
}

impl<K: Hash + Eq, W, O, S> Drop for Place<K, W, O, S> {
    fn drop(&mut self) {
        let mut groups = self.groups.0.lock();
        // The references of the map and of this place.
        if Arc::strong_count(&self.group) == 2 {
            groups.remove(&self.key);
        }
    }
}

impl<W, O, S: Default> Default for Group<W, O, S> {
    fn default() -> Self {
        Self { turn: Arc::default(), waiting: Mutex::default() }
    }
}

impl<K, W, O, S> Default for GroupCommit<K, W, O, S> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K, W, O, S> Clone for GroupCommit<K, W, O, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, W, O, S> fmt::Debug for GroupCommit<K, W, O, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCommit").finish_non_exhaustive()
    }
}

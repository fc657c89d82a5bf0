//! Group commit: calls of one process that write into one row share a write.
//!
//! A call joins the group of its row and waits for its turn. The call whose turn it is writes all work that waits, and gives each
//! call its outcome. A call that fails, or is dropped, gives no outcome: the calls whose work it took put their work back, and write
//! it at their own turn. So no work counts as written before it is, and no call waits for more than the turns of earlier calls.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as Turns, OwnedMutexGuard, oneshot};

use super::deadline::{Deadline, DeadlineExceeded};
use super::keyed::{Held, Keyed};

/// The waiting work of a process, by row. Clones share it.
///
/// `K` names a row, `W` is the work of one call, `O` its outcome, and `S` the state that one turn leaves to the next.
pub type GroupCommit<K, W, O, S = ()> = Keyed<K, Group<W, O, S>>;

/// The calls of one row.
pub struct Group<W, O, S> {
    turn: Arc<Turns<S>>,
    waiting: Mutex<VecDeque<WaitingWork<W, O>>>,
}

/// Work whose call waits for the outcome.
pub struct WaitingWork<W, O> {
    pub work: W,
    done: oneshot::Sender<O>,
}

/// A call in a group, which ends with its last one.
pub struct Place<K: Hash + Eq, W, O, S> {
    group: Held<K, Group<W, O, S>>,
    work: W,
    told: oneshot::Receiver<O>,
}

impl<K: Hash + Eq + Clone, W: Clone, O, S: Default> GroupCommit<K, W, O, S> {
    /// Waits in the group of a row.
    pub fn join(&self, key: K, work: W) -> Place<K, W, O, S> {
        let group = self.hold(key);
        let told = group.wait(work.clone());
        Place { group, work, told }
    }
}

impl<K: Hash + Eq, W: Clone, O, S> Place<K, W, O, S> {
    /// Waits until it is this call's turn.
    ///
    /// # Errors
    /// [`DeadlineExceeded`]: its work may or may not be written.
    pub async fn turn(&self, deadline: Deadline) -> Result<OwnedMutexGuard<S>, DeadlineExceeded> {
        // Other calls of the same batch join first.
        tokio::task::yield_now().await;
        deadline.bound(Arc::clone(&self.group.turn).lock_owned()).await
    }

    /// The outcome of the work of this call, once there is one. Work that a failed call took is put back.
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

    /// Takes waiting work, the earliest first, as long as it fits with the work that was taken. The first always does.
    pub fn take(
        &self,
        taken: &mut Vec<WaitingWork<W, O>>,
        mut fits: impl FnMut(&[WaitingWork<W, O>], &W) -> bool,
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
        self.waiting.lock().push_back(WaitingWork { work, done });
        told
    }
}

impl<W, O> WaitingWork<W, O> {
    /// Gives the call its outcome. It may have been dropped meanwhile.
    pub fn tell(self, outcome: O) {
        let _ = self.done.send(outcome);
    }
}

impl<W, O, S: Default> Default for Group<W, O, S> {
    fn default() -> Self {
        Self { turn: Arc::default(), waiting: Mutex::default() }
    }
}

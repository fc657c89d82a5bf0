//! The share that one person has in the time of a process.
//!
//! The command queue keeps no order between people: what one person sends stands before whatever
//! others send after it. So commands of a person beyond [`Shares::a_second`] go back to the queue
//! in a message group of that person's own, without being applied. Fair queues let others through
//! before a group that has many messages in flight. A message that is in its person's group already
//! is applied.
//!
//! Several commands about one register at the same time refuse each other's writes, and wait for
//! each other's holds. So at most [`IN_FLIGHT`] of them are applied at once. Another one goes back to the queue, some seconds later:
//! by then one of them has won, and those that come back together are [merged](crate::merging). The
//! more go back, the later each returns, so that the queue is not filled with them.
//!
//! Only the first delivery of a message is sent back, which has changed nothing. A process knows
//! only its own messages, so a person's share is multiplied by the number of processes, which the
//! concurrency of the function bounds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shared::command::Command;
use shared::history::refusals::RefusedSubject;
use tokio::time::Instant;

use crate::merging::target;

/// Commands about one register that a process applies at once.
const IN_FLIGHT: usize = 2;
/// Commands about one register that go back within a [`WINDOW`] for each second that they are delayed.
const BACK_A_SECOND: usize = 500;
/// The longest delay of a command that has to wait for others about its register.
const LONGEST_DELAY_SECONDS: u16 = 60;
/// The length of the window in which commands are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// The shares of people. Clones share what was counted.
#[derive(Debug, Clone)]
pub struct Shares {
    /// Commands of a person that a process takes a second, outside of that person's message group.
    pub a_second: usize,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Debug)]
struct Counted {
    since: Instant,
    /// Commands since then, by person.
    commands: HashMap<String, usize>,
    /// Commands that are being applied, by the register they change.
    in_flight: HashMap<String, usize>,
    /// Commands that went back since then, by the register they change.
    back: HashMap<String, usize>,
}

/// Whether a message is handled now.
#[derive(Debug)]
pub(crate) enum Admission {
    /// Yes. It is in flight until this is dropped.
    Now { _in_flight: Option<InFlight> },
    /// It goes back to the queue.
    Back { group: String, delay_seconds: Option<u16> },
}

impl Admission {
    /// Of a message that nothing is counted of.
    pub(crate) const NOW: Self = Self::Now { _in_flight: None };

    pub(crate) fn is_back(&self) -> bool {
        matches!(self, Self::Back { .. })
    }
}

/// A command that is being applied.
#[derive(Debug)]
pub(crate) struct InFlight {
    counted: Arc<Mutex<Counted>>,
    register: String,
}

impl Default for Shares {
    /// More than a person sends by hand, and a fraction of what a process can apply.
    fn default() -> Self {
        Self::new(50)
    }
}

impl Shares {
    pub fn new(a_second: usize) -> Self {
        let (commands, in_flight, back) = Default::default();
        let counted = Counted { since: Instant::now(), commands, in_flight, back };
        Self { a_second, counted: Arc::new(Mutex::new(counted)) }
    }

    /// Shares that bound nothing.
    pub fn unbounded() -> Self {
        Self::new(usize::MAX)
    }

    /// Counts a message that came in a message group, or in none.
    pub(crate) fn admit(&self, load: Load, group: Option<&str>) -> Admission {
        if self.a_second == usize::MAX {
            return Admission::NOW;
        }
        let Load { person, register } = load;
        let mut guard = lock(&self.counted);
        let counted = &mut *guard;
        if counted.since.elapsed() >= WINDOW {
            counted.since = Instant::now();
            counted.commands.clear();
            counted.back.clear();
        }
        let commands = counted.commands.entry(person.clone()).or_default();
        *commands += 1;
        if *commands > self.a_second && group != Some(person.as_str()) {
            return Admission::Back { group: person, delay_seconds: None };
        }
        let Some(register) = register else { return Admission::NOW };
        let in_flight = counted.in_flight.entry(register.clone()).or_default();
        if *in_flight >= IN_FLIGHT {
            let back = counted.back.entry(register).or_default();
            *back += 1;
            let seconds = u16::try_from(back.div_ceil(BACK_A_SECOND)).unwrap_or(u16::MAX);
            let delay_seconds = Some(seconds.min(LONGEST_DELAY_SECONDS));
            return Admission::Back { group: person, delay_seconds };
        }
        *in_flight += 1;
        let in_flight = InFlight { counted: Arc::clone(&self.counted), register };
        Admission::Now { _in_flight: Some(in_flight) }
    }
}

/// What a message takes of a person's share.
#[derive(Debug)]
pub(crate) struct Load {
    /// The person, or the tenant.
    person: String,
    /// The register that it changes, if it changes one.
    register: Option<String>,
}

impl Load {
    /// That of a command. The work of the writer itself has none.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        let register = target(command).map(|(kind, one, other)| format!("{kind}#{one}#{other}"));
        Some(Self { person: command.person()?.to_owned(), register })
    }

    /// That of a body which is no command: its refusal is counted for whom it is about.
    pub(crate) fn of_malformed(body: &str) -> Self {
        Self {
            person: format!("refused-{}", RefusedSubject::of_body(body).digest()),
            register: None,
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut counted = lock(&self.counted);
        if let Some(in_flight) = counted.in_flight.get_mut(&self.register) {
            *in_flight -= 1;
            if *in_flight == 0 {
                counted.in_flight.remove(&self.register);
            }
        }
    }
}

/// A panic under the lock leaves only counts.
fn lock(counted: &Mutex<Counted>) -> MutexGuard<'_, Counted> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

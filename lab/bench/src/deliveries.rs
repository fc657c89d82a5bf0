//! What is delivered twice.

use fastrand::Rng;
use shared::command::Command;

/// What chance is drawn from: every design gets the same deliveries.
pub(super) const SEED: u64 = 7;
/// A duplicate comes up to this many deliveries behind the first.
const BEHIND: usize = 1_000;

/// Commands in their order, and a share of them once more, some deliveries behind the first.
pub(super) fn repeated(commands: Vec<Command>, share: f64) -> Vec<Command> {
    let mut random = Rng::with_seed(SEED);
    let mut order = Vec::with_capacity(commands.len());
    for (place, command) in commands.into_iter().enumerate() {
        if random.f64() < share {
            order.push((place + random.usize(1..=BEHIND), command.clone()));
        }
        order.push((place, command));
    }
    // Stable: what was delivered first stays first.
    order.sort_by_key(|(place, _)| *place);
    order.into_iter().map(|(_, command)| command).collect()
}

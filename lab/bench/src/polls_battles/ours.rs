//! Votes and hits through the code that ships.

use fanout_writer::Delivery;
use nagare::Failure;
use shared::command::Command;
use shared::platform::runtime::deadline::Deadline;
use shared::social::battles::Battles;
use shared::social::polls::Polls;
use tokio::time::Instant;

use super::super::functions::writer;
use super::super::running::{Ran, Running, TIMEOUT, queue, send};
use super::super::stage::{Stage, broken};
use super::plan::{Opening, VotesPlan};
use super::report::{READS, ResultRead};

/// Opens the poll or the battle.
pub(super) async fn open(stage: &Stage, plan: &VotesPlan) -> Result<(), Failure> {
    let command = match plan.opening.clone() {
        Opening::Poll(opened) => Command::OpenPoll(opened),
        Opening::Battle(opened) => Command::OpenBattle(opened),
    };
    let applied = writer(stage)?.apply(command, Delivery::only(Deadline::after(TIMEOUT))).await;
    applied.map(drop).map_err(|e| broken(&e))
}

/// Delivers all of a plan to N writers. All commands are on the queue before the first is taken. Returns when the last
/// change is in its view.
pub(super) async fn run(stage: &Stage, plan: &VotesPlan, writers: usize) -> Result<Ran, Failure> {
    send(&queue(stage)?, &plan.deliveries)?;
    Running::start(stage, writers)?.end().await
}

/// What it says in the end, and how long it takes to be read.
pub(super) async fn read(stage: &Stage, plan: &VotesPlan) -> Result<ResultRead, Failure> {
    let (facts, views) = (&stage.tables.facts, &stage.tables.views);
    let (polls, battles) = (Polls::new(facts, views), Battles::new(facts, views));
    let (mut counted, mut took) = (0, Vec::with_capacity(READS));
    for _ in 0..READS {
        let begun = Instant::now();
        counted = match &plan.opening {
            Opening::Poll(opened) => {
                let poll = polls.poll(&opened.poll_id, None, stage.clock.now()).await?;
                poll.map_or(0, |poll| poll.votes.iter().sum())
            }
            Opening::Battle(opened) => {
                let battle = battles.battle(&opened.battle_id, None).await?;
                battle.map_or(0, |battle| opened.hp.saturating_sub(battle.shown.hp_left))
            }
        };
        took.push(begun.elapsed());
    }
    Ok(ResultRead { counted, took })
}

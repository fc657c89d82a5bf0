//! What votes and hits are compared with: the atomic counters of a talk.
//!
//! A talk at AWS Summit Tokyo 2014 told how a game of that time kept such numbers in DynamoDB. Written down from
//! a description of it, not copied:
//!
//! ```text
//! a vote    ADD 1 to one of ten items, drawn by chance, which share what one item alone could not take
//! a result  the ten items are read, and summed up
//! a hit     one update of the boss: ADD -damage, SET who was last, if more than 0 hit points are left
//! ```
//!
//! By the condition exactly one hit is the last, and its update records who hit. Neither design remembers what it has
//! counted: a message that is delivered again counts again, and so does an update that is sent again because its answer
//! was lost. Whoever has voted is not known, so nobody can change their vote, and a boss has one
//! item, whose partition takes a thousand writes a second.
//!
//! Each update is made by itself, by one of many clients at once, as soon as the one before has its answer: there is no
//! queue before it. What the throttle refuses is tried again at once, nearly. Both favour these designs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use nagare::Failure;
use shared::command::Command;
use shared::platform::dynamo::DynamoError;
use shared::platform::dynamo::item::{Item, Key, number, text};
use shared::platform::runtime::deadline::Deadline;
use shared::social::battles::BattleHit;
use shared::social::polls::Vote;
use tokio::time::Instant;

use super::super::stage::Stage;
use super::plan::{Opening, VotesPlan};
use super::report::{READS, ResultRead};

/// Items that a poll's votes are spread over.
const SUFFIXES: usize = 10;
/// How long a client goes on with one update.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long it waits at most before it tries again. Longer waits, as SDKs have them, leave capacity unused.
const WAIT: Duration = Duration::from_millis(50);

/// One update of one item.
struct CounterUpdate {
    key: Item,
    expression: String,
    condition: Option<&'static str>,
    values: Vec<(&'static str, AttributeValue)>,
}

impl CounterUpdate {
    fn vote(Vote { poll_id, choice, .. }: &Vote) -> Option<Self> {
        let choice = choice.as_ref()?;
        Some(Self {
            key: counter(poll_id.as_str(), fastrand::usize(..SUFFIXES)),
            expression: format!("ADD {choice} :one"),
            condition: None,
            values: vec![(":one", number(1))],
        })
    }

    fn hit(BattleHit { battle_id, viewer_id, damage, .. }: &BattleHit) -> Self {
        Self {
            key: boss(battle_id.as_str()),
            expression: "SET last_hit = :who ADD hp :damage".to_owned(),
            condition: Some("hp > :zero"),
            values: vec![
                (":who", text(viewer_id.as_str())),
                (":damage", number(format!("-{damage}"))),
                (":zero", number(0)),
            ],
        }
    }

    fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Vote(vote) => Self::vote(vote),
            Command::Hit(hit) => Some(Self::hit(hit)),
            _ => None,
        }
    }

    /// Tries until it is done, or refused by its condition.
    async fn apply(&self, stage: &Stage) -> Result<bool, DynamoError> {
        let (table, deadline) = (stage.tables.views.table(), Deadline::after(PATIENCE));
        loop {
            let mut call = table.client().update_item().table_name(table.name());
            call = call.set_key(Some(self.key.clone())).update_expression(&self.expression);
            call = call.set_condition_expression(self.condition.map(ToOwned::to_owned));
            for (name, value) in &self.values {
                call = call.expression_attribute_values(*name, value.clone());
            }
            match call.send().await {
                Ok(_) => return Ok(true),
                Err(error) => {
                    let is_condition =
                        |e: &aws_sdk_dynamodb::operation::update_item::UpdateItemError| {
                            e.is_conditional_check_failed_exception()
                        };
                    if error.as_service_error().is_some_and(is_condition) {
                        return Ok(false);
                    }
                    let error = DynamoError::from(error);
                    if !error.is_retryable() {
                        return Err(error);
                    }
                }
            }
            deadline.sleep(WAIT.mul_f64(fastrand::f64())).await?;
        }
    }
}

/// One of the items of a poll.
fn counter(poll: &str, suffix: usize) -> Item {
    Key { pk: format!("{poll}_{suffix}"), sk: "votes".to_owned() }.into_item()
}

/// The item of a battle.
fn boss(battle: &str) -> Item {
    Key { pk: battle.to_owned(), sk: "boss".to_owned() }.into_item()
}

/// Puts the boss there. A poll needs nothing.
pub(super) async fn open(stage: &Stage, plan: &VotesPlan) -> Result<(), Failure> {
    if let Opening::Battle(opened) = &plan.opening {
        let mut item = boss(opened.battle_id.as_str());
        item.insert("hp".to_owned(), number(opened.hp));
        stage.tables.views.table().put(item).await?;
    }
    Ok(())
}

/// Delivers all of a plan, N updates at once. Returns when the last one has ended.
pub(super) async fn run(
    stage: &Stage,
    plan: &VotesPlan,
    clients: usize,
) -> Result<Instant, Failure> {
    let next = AtomicUsize::new(0);
    let client = || async {
        while let Some(command) = plan.deliveries.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(count) = CounterUpdate::of(command) {
                count.apply(stage).await?;
            }
        }
        Ok::<_, Failure>(())
    };
    try_join_all((0..clients).map(|_| client())).await?;
    Ok(Instant::now())
}

/// What it says in the end, and how long it takes to be read.
pub(super) async fn read(stage: &Stage, plan: &VotesPlan) -> Result<ResultRead, Failure> {
    let (mut counted, mut took) = (0, Vec::with_capacity(READS));
    for _ in 0..READS {
        let begun = Instant::now();
        counted = match &plan.opening {
            Opening::Poll(opened) => sum(stage, opened.poll_id.as_str()).await?,
            Opening::Battle(opened) => {
                let key = boss(opened.battle_id.as_str());
                let row = stage.tables.views.table().get(key).await?;
                let left = row.map_or(Ok(0), |row| row.count("hp"))?;
                opened.hp.saturating_sub(left)
            }
        };
        took.push(begun.elapsed());
    }
    Ok(ResultRead { counted, took })
}

/// The votes of all choices in all items.
async fn sum(stage: &Stage, poll: &str) -> Result<u64, Failure> {
    let keys = (0..SUFFIXES).map(|suffix| counter(poll, suffix)).collect();
    let rows = stage.tables.views.table().batch_get(keys).await?;
    let numbers = rows.iter().flat_map(|row| row.item.values());
    Ok(numbers.filter_map(|value| value.as_n().ok()?.parse::<u64>().ok()).sum())
}

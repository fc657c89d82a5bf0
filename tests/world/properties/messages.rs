//! Batches of messages, as JSON, and what the writer and the alerter make of them.

use std::cell::RefCell;
use std::collections::HashSet;

use aws_lambda_events::event::sqs::{SqsEvent, SqsMessage};
use shared::platform::dead_letters::{DETAIL, ORIGIN, is_reason};
use shared::platform::values::is_message_id;
use tokio::runtime::{Builder, Runtime};

use super::command::{check_detail, sqs_takes};
use crate::{World, event, soon, unfinished_ids};

/// Batches after which a new world replaces the old one, which grows with what is sent to it.
const LIFE: usize = 500;

struct Stage {
    runtime: Runtime,
    world: World,
    age: usize,
}

impl Default for Stage {
    fn default() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, world: World::new(), age: 0 }
    }
}

thread_local! {
    static STAGE: RefCell<Stage> = RefCell::default();
}

/// Each message of a batch is reported, or in effect, or a dead letter with its reason; and every dead
/// letter that the alerter acknowledges is kept completely.
pub fn messages(data: &[u8]) {
    let Ok(mut batch) = serde_json::from_slice::<SqsEvent>(data) else { return };
    if !as_sqs_delivers(&batch) {
        return;
    }
    STAGE.with_borrow_mut(|stage| {
        stage.age += 1;
        if stage.age > LIFE {
            *stage = Stage::default();
        }
        batch.records.iter_mut().for_each(|message| make_unique(message, stage.age));
        stage.runtime.block_on(async {
            let letters = write(&stage.world, &batch).await;
            keep(&stage.world, letters).await;
            keep(&stage.world, batch.records).await;
        });
    });
}

/// At most ten messages, each with a body, and with the ids and instants that SQS makes.
fn as_sqs_delivers(batch: &SqsEvent) -> bool {
    let mut ids = HashSet::new();
    let sound = |message: &SqsMessage| {
        let id = message.message_id.as_deref().filter(|id| is_message_id(id));
        id.is_some_and(|id| ids.insert(id.to_owned()))
            && message.body.as_ref().is_some_and(|body| !body.is_empty() && sqs_takes(body))
            && message.attributes.get("SentTimestamp").is_none_or(|sent| is_number(sent))
            && message.attributes.get("MessageGroupId").is_none_or(|group| is_message_id(group))
    };
    batch.records.len() <= 10 && batch.records.iter().all(sound)
}

/// Gives messages ids that no former batch had. One that names another message of the batch still does.
fn make_unique(message: &mut SqsMessage, run: usize) {
    let origin = message.message_attributes.get_mut(ORIGIN);
    let origin = origin.and_then(|value| value.string_value.as_mut());
    for id in [message.message_id.as_mut(), origin].into_iter().flatten() {
        *id = format!("{run}-{id}");
    }
}

fn is_number(text: &str) -> bool {
    (1..=13).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Applies a batch; returns what is on the dead-letter queue for it.
async fn write(world: &World, batch: &SqsEvent) -> Vec<SqsMessage> {
    let answer = world.writer.handle(event(batch.records.clone()), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0], "nothing stands in the way of these");
    let letters = world.take_dead_letters().await;
    let mut given_up: Vec<_> = letters.iter().map(|letter| letter.body.clone()).collect();
    for message in &batch.records {
        let body = message.body.as_deref().unwrap();
        let kept = given_up.iter().position(|given_up| given_up.as_deref() == Some(body));
        let good = world.writer.commands.parse(body, world.clock.now()).is_ok();
        assert!(good || kept.is_some(), "neither in effect nor a dead letter: {body}");
        kept.map(|index| given_up.swap_remove(index));
    }
    assert!(given_up.is_empty(), "dead letters of nobody: {given_up:?}");
    for letter in &letters {
        let detail = letter.message_attributes.get(DETAIL).and_then(|d| d.string_value.as_deref());
        check_detail(detail.unwrap());
    }
    letters
}

/// Has the letters kept, and looks them up.
async fn keep(world: &World, letters: Vec<SqsMessage>) {
    let answer = world.alerter.handle(event(letters.clone()), soon()).await.unwrap();
    assert_eq!(unfinished_ids(&answer), [""; 0]);
    for letter in letters {
        let own = letter.message_id.as_deref().unwrap();
        let origin = letter.message_attributes.get(ORIGIN);
        let origin =
            origin.and_then(|value| value.string_value.as_deref()).filter(|id| is_message_id(id));
        let numbered = (1..3).map(|n| format!("{own}-{n}"));
        let ids = [Some(own), origin].into_iter().flatten().map(ToOwned::to_owned);
        let mut kept = Vec::new();
        for id in ids.chain(numbered) {
            kept.extend(world.tables.dead_letters.get(&id).await.unwrap());
        }
        let found = kept.iter().find(|kept| kept.body == *letter.body.as_ref().unwrap());
        let found = found.unwrap_or_else(|| panic!("acknowledged and not kept: {letter:?}"));
        assert!(is_reason(&found.reason), "{:?}", found.reason);
    }
}

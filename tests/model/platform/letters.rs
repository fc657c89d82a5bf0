//! Dead letters: a command that gives up is kept, and is in effect once it is redriven.

use aws_lambda_events::event::sqs::SqsMessage;
use fastrand::Rng;
use futures::TryStreamExt;
use nagare_operator::letters::redrive;
use shared::platform::dead_letters::DeadLetter;
use tests::{World, event, soon, unfinished_ids};

/// Messages that a handler is given at once.
const BATCH: usize = 4;
/// The rounds of keeping and redriving that it takes at most when nothing fails any more.
const ROUNDS: usize = 5;

/// The reasons of what can never be applied.
const REFUSED: [&str; 3] = ["conflict", "event-conflict", "event-too-late"];

/// Redrives some letter, as the command line does.
pub(crate) async fn redrive_one(world: &World, mut random: Rng) {
    let letters = &world.tables.dead_letters;
    let Ok(mut listed) = letters.all().try_collect::<Vec<_>>().await else { return };
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    let Some(listed) = random.choice(listed) else { return };
    if let Ok(Some(letter)) = letters.get(&listed.id).await {
        let _ = redrive(letters, &world.sender, &letter).await;
    }
}

/// Redrives all letters but those that can never be applied. What fails is redriven another time.
pub(crate) async fn redrive_all(world: &World) {
    let letters = &world.tables.dead_letters;
    let Ok(listed) = letters.all().try_collect::<Vec<_>>().await else { return };
    for listed in listed.iter().filter(|it| !REFUSED.contains(&it.reason.as_str())) {
        if let Ok(Some(letter)) = letters.get(&listed.id).await {
            let _ = redrive(letters, &world.sender, &letter).await;
        }
    }
}

/// Has everything kept that is on its way to the alerter, and redrives whatever is kept, until only
/// those letters are left that can never be applied. Returns them.
pub(crate) async fn until_only_refused_are_left(
    world: &World,
    mut on_their_way: Vec<SqsMessage>,
) -> Result<Vec<DeadLetter>, String> {
    let mut latest = String::new();
    for _ in 0..ROUNDS {
        work_off_commands(world).await?;
        on_their_way.extend(world.take_dead_letters().await);
        let answer = world.alerter.handle(event(on_their_way.clone()), soon()).await.unwrap();
        let unfinished = unfinished_ids(&answer);
        on_their_way.retain(|m| unfinished.contains(m.message_id.as_ref().unwrap()));
        let letters = kept(world).await;
        let (refused, others): (Vec<_>, Vec<_>) =
            letters.into_iter().partition(|letter| REFUSED.contains(&letter.reason.as_str()));
        if others.is_empty() && on_their_way.is_empty() {
            return Ok(refused);
        }
        for letter in others {
            latest = format!("{}: {}: {}", letter.reason, letter.detail, letter.body);
            redrive(&world.tables.dead_letters, &world.sender, &letter).await.unwrap();
        }
    }
    Err(format!("dead letters come back again and again, as {latest}"))
}

/// Applies what is on the queue, and the segments of fan-outs that come of it.
async fn work_off_commands(world: &World) -> Result<(), String> {
    loop {
        let commands = world.take_commands().await;
        if commands.is_empty() {
            return Ok(());
        }
        for batch in commands.chunks(BATCH) {
            let answer = world.writer.handle(event(batch.to_vec()), soon()).await.unwrap();
            if !answer.batch_item_failures.is_empty() {
                return Err("a command fails though no call does".to_owned());
            }
        }
    }
}

async fn kept(world: &World) -> Vec<DeadLetter> {
    let mut letters = Vec::new();
    for listed in world.kept_letters().await {
        letters.extend(world.tables.dead_letters.get(&listed.id).await.unwrap());
    }
    letters
}

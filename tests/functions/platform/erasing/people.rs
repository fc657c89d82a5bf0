//! A person is erased while what follows from their commands is still at work: folds, fan-outs in
//! segments, returns, pages, commands that are delivered twice.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use fanout_writer::FanOutLimits;
use fastrand::Rng;
use nagare_local::faults::{Faults, Faulty};
use nagare_operator::erasure::Erasure;
use serde_json::{Value, json};
use shared::platform::dynamo::{Query, to_json};
use shared::platform::ledger::FORGET_AT;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::ActorId;
use tests::{NOW, World, delete, event, follow, publish, soon, unfollow};

use crate::platform::projecting::{names, projecting};

const ANNA: &str = "anna-who-leaves";
const OTHERS: [&str; 4] = ["bob", "eve", "dan", "kim"];

fn slow(longest: &str, seed: u64) -> SharedHttpConnectorWrap {
    let faults: Faults = format!("slow={longest},seed={seed}").parse().unwrap();
    Box::new(move |inside| SharedHttpConnector::new(Faulty::new(faults, inside)))
}

type SharedHttpConnectorWrap = Box<dyn FnOnce(SharedHttpConnector) -> SharedHttpConnector>;

fn at(minute: usize) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

/// What she and others did to each other.
fn commands(random: &mut Rng) -> Vec<Value> {
    let mut commands = Vec::new();
    for n in 0..40 {
        let other = *random.choice(&OTHERS).unwrap();
        let (one, two) = if random.bool() { (ANNA, other) } else { (other, ANNA) };
        let (number, whose) = (random.usize(0..4), if one == ANNA { "hers" } else { one });
        let (activity, published) = (format!("{whose}-{number}"), at(number));
        let like = |kind: &str| json!({"type": kind, "viewer_id": two, "activity_id": activity, "at": at(n)});
        let tag =
            json!({"type": "tag.created", "activity_id": activity, "tagged_id": two, "at": at(n)});
        commands.push(match random.u8(0..16) {
            0..4 => publish(one, &activity, &published),
            4 => delete(one, &activity),
            5..7 => follow(two, one, &at(n)),
            7 => unfollow(two, one, &at(n)),
            8..10 => like("like.created"),
            10 => like("like.deleted"),
            11 => tag,
            12 => json!({"type": "message.posted", "room_id": "hall", "message_id": format!("m{n}"),
                "author_id": one, "at": at(n), "payload": "said"}),
            13 => json!({"type": "profile.updated", "viewer_id": one, "at": at(n), "payload": {"n": n}}),
            14 => json!({"type": "vote.cast", "poll_id": "poll", "viewer_id": one, "choice": "red", "at": at(n)}),
            _ => json!({"type": "notifications.read", "viewer_id": one, "all": true}),
        });
    }
    commands
}

async fn erase(world: &World, longest: &str, seed: u64) {
    let (tables, _) = world.operator(slow(longest, seed));
    let retention = world.writer.retention;
    let erasure = Erasure::new(
        ActorId::new(ANNA).unwrap(),
        &tables.ledger,
        (&tables.facts, &tables.views),
        tables.timelines.clone(),
        retention,
        world.clock.clone(),
    );
    erasure.unwrap().run().await.unwrap();
}

/// What names her, but for what expires.
async fn left(world: &World) -> Vec<String> {
    let tables = &world.tables;
    let all = [
        ("ledger", tables.ledger.table()),
        ("facts", tables.facts.table()),
        ("views", tables.views.table()),
        ("timelines", tables.timelines.table()),
    ];
    let mut left = Vec::new();
    for (name, table) in all {
        for row in table.all(Query::default()).await.unwrap() {
            let is_tombstone = row.item.contains_key(FORGET_AT);
            if names(&row.item, ANNA) && !is_tombstone {
                left.push(format!("{name}: {}", to_json(&row.item)));
            }
        }
    }
    left
}

async fn work_off(world: &World) {
    loop {
        let messages = world.take_commands().await;
        if messages.is_empty() {
            return;
        }
        world.writer.handle(event(messages), soon()).await.unwrap();
    }
}

/// All of her commands are done before, and come again meanwhile. What names her in the end
/// expires.
#[tokio::test(start_paused = true)]
async fn nothing_that_follows_from_a_person_outlives_the_erasure() {
    for (seed, longest) in (0..15).flat_map(|seed| [(seed, "10ms"), (seed, "40ms")]) {
        let mut random = Rng::with_seed(seed);
        let mut world = World::behind(slow(longest, seed));
        world.writer.limits =
            FanOutLimits { page: 2, segment: 1, segments: 64, ..FanOutLimits::default() };
        world.reader.hold = Hold::NONE;
        world.writer.idle_viewers = "30".parse().unwrap();
        world.reader.idle_viewers = world.writer.idle_viewers.remembering_nothing();
        world.set_clock(NOW);
        let mut commands = commands(&mut random);
        let poll = json!({"type": "poll.opened", "poll_id": "poll", "actor_id": "bob", "choices": ["red", "blue"],
            "opens_at": at(0), "closes_at": at(59), "payload": null});
        commands.insert(random.usize(0..commands.len()), poll);
        let is_projected = random.bool();
        world.done(&commands).await;
        if is_projected {
            work_off(&world).await;
            world.project("a").await;
        }
        let begun = Duration::from_millis(random.u64(0..400));
        let again: Vec<_> = (0..8).map(|_| random.choice(&commands).unwrap().clone()).collect();
        let work = async {
            let erasing = async {
                tokio::time::sleep(begun).await;
                erase(&world, longest, seed).await;
            };
            let delivered = async {
                work_off(&world).await;
                world.done(&again).await;
                work_off(&world).await;
            };
            let read = async {
                for _ in 0..6 {
                    for viewer in [ANNA, "bob"] {
                        for list in ["timelines", "notifications"] {
                            world.get(&format!("/v1/{list}/{viewer}"), "").await;
                        }
                        world.get(&format!("/v1/viewers/{viewer}/likes"), "").await;
                    }
                }
            };
            futures::join!(erasing, delivered, read);
        };
        projecting(&world, work).await;
        work_off(&world).await;
        world.project("a").await;
        let left = left(&world).await;
        assert!(left.is_empty(), "seed {seed}, {longest}: {left:#?}");
    }
}

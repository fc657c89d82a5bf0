//! Actors with many followers: their fan-outs are cut into segments.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fanout_writer::FanOutLimits;
use futures::future::join_all;
use futures::{StreamExt, stream};
use nagare_local::faults::Faulty;
use serde_json::{Value, json};
use shared::command::{Command, InternalSeal};
use shared::platform::dead_letters::{Evidence, REASON, RECEIVES_EXHAUSTED, SOURCE};
use shared::platform::register::Register;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActivityId, ActorId, ViewerId};
use shared::social::activities::ActivityKey;
use shared::social::fanout::{FanOutKind, FanOutSegment, FanOuts};
use shared::social::follows::{FollowChange, FollowerRange, Follows};
use tests::secrets;
use tests::{
    COMMAND_QUEUE_ARN, NOW, World, delete, event, follow, message, publish, said, soon, unfinished,
    unfollow,
};

use crate::platform::overtaking::{command, interrupted};

pub(crate) const FOLLOWERS: usize = 1_200;

async fn world() -> World {
    with_followers(World::new()).await
}

/// An actor with enough followers for the fan-out to be cut.
pub(crate) async fn with_followers(mut world: World) -> World {
    world.writer.limits =
        FanOutLimits { page: 50, segment: 200, segments: 6, ..FanOutLimits::default() };
    let changes = (0..FOLLOWERS).map(|n| {
        let state = Register { on: true, changed_at: NOW.parse().unwrap() };
        let follower_id = ViewerId::new(format!("v{n}")).unwrap();
        FollowChange { follower_id, followee_id: ActorId::new("star").unwrap(), state }
    });
    let follows = Follows::new(&world.tables.ledger);
    stream::iter(changes)
        .for_each_concurrent(16, async |change| {
            follows.record_edge(&change, NOW.parse().unwrap()).await.unwrap();
        })
        .await;
    world
}

/// Applies what is on the queue until nothing is left. Returns the number of messages.
async fn work_off(world: &World) -> usize {
    let mut messages = 0;
    loop {
        let segments = world.take_commands().await;
        if segments.is_empty() {
            return messages;
        }
        messages += segments.len();
        assert_eq!(apply(world, segments).await, [0_usize; 0]);
    }
}

async fn apply(world: &World, messages: Vec<SqsMessage>) -> Vec<usize> {
    unfinished(&world.writer.handle(event(messages), soon()).await.unwrap())
}

async fn entries(world: &World) -> u64 {
    world.entry_count().await
}

async fn ranges_done(world: &World, kind: FanOutKind) -> (usize, usize, u64) {
    let key = ActivityKey {
        activity_id: ActivityId::new("live").unwrap(),
        actor_id: ActorId::new("star").unwrap(),
    };
    let fan_out = FanOuts::new(&world.tables.ledger).fan_out(&key, kind).await.unwrap().unwrap();
    let done: BTreeSet<_> = fan_out.begun.iter().filter(|(_, p)| p.done).map(|(r, _)| *r).collect();
    let written = fan_out.begun.iter().map(|(_, progress)| progress.written).sum();
    (fan_out.segments, done.len(), written)
}

#[tokio::test]
async fn every_follower_gets_the_entry_once_and_loses_it_with_the_delete() {
    let world = world().await;
    world.done(&[publish("star", "live", NOW)]).await;
    assert_eq!(entries(&world).await, 0, "the segments are on the queue");
    let segments = work_off(&world).await;
    assert_eq!(entries(&world).await, FOLLOWERS as u64);
    assert!((4..=9).contains(&segments), "{segments} segments");
    assert_eq!(
        ranges_done(&world, FanOutKind::Insert).await,
        (segments, segments, FOLLOWERS as u64)
    );

    world.done(&[delete("star", "live")]).await;
    work_off(&world).await;
    assert_eq!(entries(&world).await, 0);
    let (planned, done, _) = ranges_done(&world, FanOutKind::Remove).await;
    assert_eq!(planned, done);
}

#[tokio::test]
async fn what_is_done_is_not_done_again() {
    let world = world().await;
    world.done(&[publish("star", "live", NOW)]).await;
    let segments = world.take_commands().await;
    let again = segments.clone();
    assert_eq!(apply(&world, segments).await, [0_usize; 0]);
    // A segment that is done does not read followers again: an unfollow clears its own timeline.
    world.done(&[unfollow("v7", "star", "2026-11-20T12:00:01Z")]).await;
    assert_eq!(apply(&world, again).await, [0_usize; 0]);
    world.done(&[publish("star", "live", NOW)]).await;
    work_off(&world).await;
    assert_eq!(entries(&world).await, FOLLOWERS as u64 - 1);
    let (_, _, written) = ranges_done(&world, FanOutKind::Insert).await;
    assert_eq!(written, FOLLOWERS as u64);
}

#[tokio::test(start_paused = true)]
async fn who_repeats_a_command_before_its_segments_are_done_sends_few_again() {
    let slow = "slow=10ms".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(slow, inside)));
    let world = with_followers(world).await;
    let repeated = |command: Value| {
        let world = &world;
        async move {
            let batches = (0..20).map(async |n| {
                let message = message(&format!("m{n}"), &command.to_string(), 1);
                assert_eq!(apply(world, vec![message]).await, [0_usize; 0]);
            });
            join_all(batches).await;
            work_off(world).await
        }
    };
    let segments = repeated(publish("star", "live", NOW)).await;
    // A delivery that waits sends none. The first delivery after the turn sends all segments once more.
    let most = |planned: usize| 2 * planned;
    assert!(segments <= most(ranges_done(&world, FanOutKind::Insert).await.0), "{segments}");
    assert_eq!(entries(&world).await, FOLLOWERS as u64);
    let segments = repeated(delete("star", "live")).await;
    assert!(segments <= most(ranges_done(&world, FanOutKind::Remove).await.0), "{segments}");
    assert_eq!(entries(&world).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_segment_that_takes_longer_than_an_invocation_goes_on_in_another() {
    let slow = "slow=500ms".parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(slow, inside)));
    let mut world = with_followers(world).await;
    world.writer.limits.page = 10;
    world.done(&[publish("star", "live", NOW)]).await;
    let mut invocations = 0;
    loop {
        let segments = world.take_commands().await;
        if segments.is_empty() {
            break;
        }
        for segment in segments {
            // A segment has twenty pages, and each takes a quarter of a second to read.
            let answer =
                world.writer.handle(event([segment]), Deadline::after(Duration::from_secs(12)));
            assert_eq!(answer.await.unwrap().batch_item_failures.len(), 0);
            invocations += 1;
        }
    }
    let (segments, done, written) = ranges_done(&world, FanOutKind::Insert).await;
    assert_eq!((done, written, entries(&world).await), (segments, 1_200, 1_200));
    assert!(invocations > segments, "{invocations} invocations for {segments} segments");
}

/// A producer cannot ask for what the contract does not name: forged segments neither write nor erase
/// anything.
#[tokio::test]
async fn parts_that_the_writer_did_not_seal_change_nothing() {
    let world = world().await;
    world.done(&[publish("star", "live", NOW)]).await;
    let sealed = world.take_commands().await;
    let bodies: Vec<_> = sealed.iter().map(|segment| segment.body.as_deref().unwrap()).collect();
    let bare = said(bodies[0]);
    assert_eq!(bare["type"], "fanout.part");
    let rest = json!({"type": "command.continued", "origin": "0", "command": bare});
    let foreign = InternalSeal::new(&secrets(9));
    let segment = Command::parse_unverified(bodies[0], world.clock.now()).unwrap();
    let mut swapped: Value = serde_json::from_str(bodies[0]).unwrap();
    swapped["command"] = said(bodies[1]);
    let wider = bodies[0].replace(bare["followers"].as_str().unwrap(), "0000-ffff");
    assert_ne!(wider, bodies[0]);
    let forged = [
        bare.to_string(),
        rest.to_string(),
        json!({"type": "internal", "command": bare}).to_string(),
        foreign.to_body(&segment),
        swapped.to_string(),
        wider,
    ];
    let forged: Vec<_> = forged.iter().map(String::as_str).collect();
    assert_eq!(world.write(&forged, 1).await, [0_usize; 0]);
    assert_eq!(entries(&world).await, 0);
    let letters = world.take_dead_letters().await;
    let reason = |letter: &SqsMessage| letter.message_attributes[REASON].string_value.clone();
    assert_eq!(letters.len(), forged.len());
    assert!(letters.iter().all(|letter| reason(letter).as_deref() == Some("unknown-type")));
    // The genuine ones are applied, with yesterday's secret too, and when they are redriven.
    let mut world = world;
    let both = secrets(9).also_opening(&[8; 32]).unwrap();
    world.sealing_with(InternalSeal::new(&both));
    assert_eq!(world.write(&bodies, 1).await, [0_usize; 0]);
    assert_eq!(entries(&world).await, FOLLOWERS as u64);
    assert!(world.take_dead_letters().await.is_empty());
}

#[tokio::test]
async fn a_segment_that_was_a_dead_letter_is_applied_as_it_was_sealed() {
    let world = world().await;
    world.done(&[publish("star", "live", NOW)]).await;
    let segments = world.take_commands().await;
    // The function died on them every time, so the queue itself has moved them.
    let died = segments.iter().cloned().map(|mut segment| {
        segment.attributes.insert(SOURCE.to_owned(), COMMAND_QUEUE_ARN.to_owned());
        segment
    });
    world.alerter.handle(event(died), soon()).await.unwrap();
    let mut kept = Vec::new();
    for segment in &segments {
        let id = segment.message_id.as_deref().unwrap();
        let letter = world.tables.dead_letters.get(id).await.unwrap().unwrap();
        assert_eq!(letter.reason, RECEIVES_EXHAUSTED);
        assert_eq!(letter.evidence, Some(Evidence::Redrive));
        assert_eq!(Some(&letter.body), segment.body.as_ref());
        kept.push(letter.body);
    }
    let kept: Vec<_> = kept.iter().map(String::as_str).collect();
    assert_eq!(world.write(&kept, 1).await, [0_usize; 0]);
    assert_eq!(entries(&world).await, FOLLOWERS as u64);
}

/// Segments of a publish may find the tombstone before the delete has marked the outbox row. Somebody follows in between.
#[tokio::test(start_paused = true)]
async fn who_follows_between_the_tombstone_and_the_mark_is_left_no_entry() {
    let followers = ["v0", "v1", "v2", "v3"].map(|viewer| follow(viewer, "star", NOW));
    let before = [&followers[..], &[publish("star", "live", NOW)]].concat();
    for range in FollowerRange::split(2) {
        for viewer in ["w0", "w1", "w2", "w3"] {
            let segment = Command::Segment(FanOutSegment {
                activity_id: ActivityId::new("live").unwrap(),
                actor_id: ActorId::new("star").unwrap(),
                published_at: NOW.parse().unwrap(),
                followers: range,
            });
            let joins = command(&follow(viewer, "star", NOW));
            let left = Mutex::new(vec![("mark", joins), ("kind row", segment)]);
            let by = move |request: &HttpRequest| {
                let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default());
                let marks = body.contains("outbox#star") && body.contains("deleted = :yes");
                let removes_kind_row = body.contains("#kind#") && !body.contains("SET");
                let mut left = left.lock().unwrap();
                let is_due = left.last().is_some_and(|(when, _)| match *when {
                    "mark" => marks,
                    _ => removes_kind_row,
                });
                is_due.then(|| left.pop()).flatten().map(|(_, command)| command)
            };
            let mut world = interrupted(Hold::NONE, &before, by).await;
            world.writer.limits =
                FanOutLimits { page: 1, segment: 1, segments: 2, ..FanOutLimits::default() };
            world.done(&[delete("star", "live")]).await;
            assert_eq!(work_off(&world).await, 2);
            assert_eq!(entries(&world).await, 0, "{viewer}, {range}");
        }
    }
}

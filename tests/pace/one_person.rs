//! One person repeats a command. Whoever comes after them waits no longer than if there were nothing to do.

use std::time::Duration;

use fanout_writer::Shares;
use serde_json::{Value, json};
use shared::platform::runtime::hold::Hold;
use tests::{NOW, World, follow, publish, unfollow};

use crate::support::{first_receives, work_off, world};

/// How often the command comes.
const TIMES: usize = 2_000;
/// Sizes on both sides of each threshold of a follow.
const SIZES: [usize; 5] = [0, 1, 40, 100, 101];

/// The seconds that all of these commands, and one of somebody else after them, keep eight writers.
async fn seconds(before: &[Value], commands: impl Iterator<Item = Value>) -> f64 {
    let (mut world, _) = world();
    world.writer.hold = Hold::default();
    for some in before.chunks(10) {
        world.done(some).await;
    }
    world.writer.shares = Shares::default();
    let commands = commands.take(TIMES).chain([follow("carol", "carl", NOW)]);
    let took = work_off(&world, first_receives(commands)).await;
    assert_eq!(followees(&world, "carol").await, ["carl"]);
    took
}

async fn followees(world: &World, viewer: &str) -> Vec<String> {
    let (status, _, body) = world.get(&format!("/v1/viewers/{viewer}/following"), "").await;
    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().unwrap().iter();
    items.map(|item| item["viewer_id"].as_str().unwrap().to_owned()).collect()
}

fn at(second: usize) -> String {
    format!(
        "2026-11-20T11:{:02}:{:02}.{:03}Z",
        second / 60_000,
        second / 1_000 % 60,
        second % 1_000
    )
}

fn posts(size: usize) -> Vec<Value> {
    (0..size).map(|n| publish("anna", &format!("a{n}"), &at(n))).collect()
}

/// A second is a twentieth of what it took while each batch of repetitions brought everything in again.
#[tokio::test(start_paused = true)]
async fn a_follow_that_is_repeated_keeps_nobody_waiting() {
    for size in SIZES {
        let again = || std::iter::repeat(follow("bob", "anna", NOW));
        let took = seconds(&posts(size), again()).await;
        assert!(took < 1.0, "{size} activities: {took} s");
        let before: Vec<_> =
            posts(size).into_iter().chain([follow("bob", "anna", &at(0))]).collect();
        let took = seconds(&before, std::iter::repeat(unfollow("bob", "anna", NOW))).await;
        assert!(took < 1.0, "{size} activities, unfollow: {took} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_mind_that_is_repeated_keeps_nobody_waiting() {
    for size in SIZES {
        let turns = (0..).map(|n| match n % 2 {
            0 => follow("bob", "anna", &at(n)),
            _ => unfollow("bob", "anna", &at(n)),
        });
        let took = seconds(&posts(size), turns).await;
        assert!(took < 2.0, "{size} activities: {took} s");
    }
}

/// Commands about different things are not merged. They go back to the queue, in a message group of their person.
#[tokio::test(start_paused = true)]
async fn likes_of_many_activities_keep_nobody_waiting() {
    let likes = (0..).map(|n| {
        json!({"type": "like.created", "viewer_id": "bob", "activity_id": format!("x{n}"), "at": NOW})
    });
    let took = seconds(&[], likes).await;
    assert!(Duration::from_secs_f64(took) < Duration::from_secs(5), "{took} s");
}

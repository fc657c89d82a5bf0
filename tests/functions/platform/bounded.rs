//! No page is read until nothing changes: it is of one moment within a number of calls that is known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::{Value, json};
use shared::command::Command;
use shared::platform::runtime::hold::Hold;
use tests::{follow, publish, unfollow};

use crate::platform::overtaking::{Asked, command, page_among};

fn instant(minute: usize) -> String {
    format!("2026-11-20T11:{minute:02}:00.000Z")
}

fn edit(minute: usize) -> Value {
    json!({"type": "activity.updated", "activity_id": "a1", "actor_id": "anna",
        "at": instant(minute), "payload": minute})
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["activity_id"].as_str().unwrap()).collect()
}

/// Bob's timeline of anna's four activities.
fn before() -> Vec<Value> {
    let publishes = (0..4).map(|n| publish("anna", &format!("a{n}"), &instant(n)));
    publishes.chain([follow("bob", "anna", &instant(5)), edit(6)]).collect()
}

/// True if a request reads entries of a timeline.
fn reads_entries(request: &HttpRequest) -> bool {
    let is_query = request.headers().get("x-amz-target").is_some_and(|it| it.ends_with(".Query"));
    let body = request.body().bytes().unwrap_or_default();
    is_query && String::from_utf8_lossy(body).contains("nagare-timelines")
}

/// A page before each of whose readings of entries something happens, as long as it lasts. Returns how many there were.
async fn among(
    most: usize,
    what: impl Fn(usize) -> Command + Send + Sync + 'static,
) -> (Value, usize) {
    let readings = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&readings);
    let before = before();
    let asked = Asked { before: &before, path: "/v1/timelines/bob", query: "", hold: Hold::NONE };
    let page = page_among(asked, move |request| {
        let is_due = reads_entries(request) && counted.fetch_add(1, SeqCst) < most;
        is_due.then(|| what(counted.load(SeqCst)))
    });
    let page = page.await;
    (page, readings.load(SeqCst))
}

#[tokio::test(start_paused = true)]
async fn what_is_edited_before_every_reading_is_on_the_page() {
    let (page, readings) = among(1_000, |n| command(&edit(6 + n))).await;
    assert!(readings <= 4, "{readings} readings");
    assert_eq!(ids(&page), ["a3", "a2", "a1", "a0"]);
    assert!(page["next_cursor"].is_null());
}

#[tokio::test(start_paused = true)]
async fn what_is_edited_once_is_on_the_page() {
    for most in 0..3 {
        let (page, readings) = among(most, |n| command(&edit(6 + n))).await;
        assert!(readings <= 4, "{readings} readings");
        assert_eq!(ids(&page), ["a3", "a2", "a1", "a0"], "{most} edits");
        assert!(page["next_cursor"].is_null());
    }
}

#[tokio::test(start_paused = true)]
async fn who_never_stops_to_follow_and_leave_is_answered_too() {
    let (page, readings) = among(1_000, |n| {
        let change = if n % 2 == 0 { follow } else { unfollow };
        command(&change("bob", "carl", &instant(6 + n)))
    })
    .await;
    assert!(readings <= 4, "{readings} readings");
    assert_eq!(ids(&page), ["a3", "a2", "a1", "a0"]);
    assert!(page["next_cursor"].is_null());
}

//! A post and a delete of the same message at once, one overtaking the other between any two calls.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fanout_writer::{Delivery, Writer};
use serde_json::Value;
use shared::command::Command;
use tests::{NOW, World, soon};

use super::{delete, ids, post};

/// Lets something else happen before a call of the tables.
#[derive(Debug, Clone)]
struct Interrupted {
    inside: SharedHttpConnector,
    /// Before which call, counted from 1; none if zero.
    before: Arc<AtomicUsize>,
    what: Arc<OnceLock<(Writer, Command)>>,
}

impl HttpConnector for Interrupted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let is_due = self.before.load(SeqCst) > 0 && self.before.fetch_sub(1, SeqCst) == 1;
        let Some((writer, command)) = self.what.get().filter(|_| is_due).cloned() else {
            return self.inside.call(request);
        };
        let inside = self.inside.clone();
        HttpConnectorFuture::new(async move {
            // Box: it calls through here again.
            let applied: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
                Box::pin(async move { writer.apply(command, Delivery::only(soon())).await });
            applied.await.unwrap();
            inside.call(request).await
        })
    }
}

fn command(value: &Value) -> Command {
    Command::parse(&value.to_string(), NOW.parse().unwrap()).unwrap()
}

/// Applies a command, and another one in full before its nth call. Returns what is shown then, and whether there was
/// such a call.
async fn overtaken(first: &Value, second: &Value, nth: usize) -> (Vec<String>, bool) {
    let (before, what) = (Arc::new(AtomicUsize::new(0)), Arc::new(OnceLock::new()));
    let (counter, other) = (Arc::clone(&before), Arc::clone(&what));
    let world = World::behind(move |inside| {
        SharedHttpConnector::new(Interrupted { inside, before: counter, what: other })
    });
    let _ = what.set((world.writer.clone(), command(second)));
    // What a writer knows of the room is not asked for again.
    world.done(&[post("r", "before", "bob", 0)]).await;
    before.store(nth, SeqCst);
    world.done(std::slice::from_ref(first)).await;
    let was_there = before.swap(0, SeqCst) == 0;
    let shown = ids(&world, "r", "").await;
    assert_eq!(shown, ids(&world, "r", "author=bob").await);
    (shown, was_there)
}

#[tokio::test]
async fn a_message_that_is_deleted_is_gone_whoever_overtakes_whom() {
    let (posted, deleted) = (post("r", "m", "bob", 1), delete("r", "m", "bob"));
    // A delete that finds no claim calls no more.
    for (first, second, least) in [(&posted, &deleted, 4), (&deleted, &posted, 2)] {
        let mut calls = 0;
        for nth in 1.. {
            let (shown, was_there) = overtaken(first, second, nth).await;
            if !was_there {
                break;
            }
            assert_eq!(shown, ["before"], "{second} before call {nth} of {first}");
            calls = nth;
        }
        assert!(calls >= least, "{calls} calls of {first}");
    }
}

/// The same post with another payload: one of both is shown, under its author and in its room.
#[tokio::test]
async fn one_of_two_payloads_is_shown_everywhere() {
    let first = post("r", "m", "bob", 1);
    let mut second = first.clone();
    second["payload"] = serde_json::json!("another");
    for nth in 1.. {
        let (shown, was_there) = overtaken(&first, &second, nth).await;
        assert_eq!(shown, ["m", "before"]);
        if !was_there {
            break;
        }
    }
}

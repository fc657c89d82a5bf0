//! One command overtaking another one, or a page, between any two calls of the tables.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fanout_writer::{Delivery, Writer};
use serde_json::Value;
use shared::command::Command;
use shared::platform::runtime::hold::Hold;
use tests::{NOW, World, soon};
use tokio::sync::Mutex;

/// Lets something else happen before calls of the tables.
#[derive(Clone)]
struct Interrupted {
    inside: SharedHttpConnector,
    writer: Arc<OnceLock<Writer>>,
    /// What happens before a call.
    by: Arc<By>,
    /// Of calls made at once, those that are interrupted are answered one after the other, so that something happens between them.
    turns: Arc<Mutex<()>>,
}

/// What happens before a call, if anything does.
type By = dyn Fn(&HttpRequest) -> Option<Command> + Send + Sync;

impl fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupted").finish_non_exhaustive()
    }
}

impl HttpConnector for Interrupted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let due = self.writer.get().and_then(|writer| Some((writer.clone(), (self.by)(&request)?)));
        let Some((writer, command)) = due else { return self.inside.call(request) };
        let (inside, turns) = (self.inside.clone(), Arc::clone(&self.turns));
        HttpConnectorFuture::new(async move {
            let _turn = turns.lock().await;
            let is_done_at_once = writer.hold == Hold::NONE;
            // Box: it calls through here again.
            let applied: Pin<Box<dyn Future<Output = _> + Send>> =
                Box::pin(async move { writer.apply(command, Delivery::only(soon())).await });
            let applied = tokio::spawn(applied);
            if is_done_at_once {
                applied.await.unwrap().unwrap();
            } else {
                // As far as it comes without time passing: nobody else has anything to do, so the turns are its own.
                for _ in 0..1_000 {
                    tokio::task::yield_now().await;
                }
            }
            inside.call(request).await
        })
    }
}

/// A world after some commands, in which from then on something happens before calls.
pub(crate) async fn interrupted(
    hold: Hold,
    before: &[Value],
    by: impl Fn(&HttpRequest) -> Option<Command> + Send + Sync + 'static,
) -> World {
    let holding = |mut world: World| {
        world.writer.hold = hold;
        world
    };
    interrupted_in(holding, before, by).await
}

/// The same in a world that is changed at its beginning.
pub(crate) async fn interrupted_in(
    changed: impl FnOnce(World) -> World,
    before: &[Value],
    by: impl Fn(&HttpRequest) -> Option<Command> + Send + Sync + 'static,
) -> World {
    let writer = Arc::new(OnceLock::new());
    let interrupted = Arc::clone(&writer);
    let world = changed(World::behind(move |inside| {
        let turns = Arc::default();
        let by = Arc::new(by);
        SharedHttpConnector::new(Interrupted { inside, writer: interrupted, by, turns })
    }));
    world.done(before).await;
    let _ = writer.set(world.writer.clone());
    world
}

/// A command before the nth call, and how many calls are left until that one: zero once it is made.
pub(crate) fn before_call(
    nth: usize,
    command: Command,
) -> (impl Fn(&HttpRequest) -> Option<Command> + Send + Sync, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(nth));
    let calls = Arc::clone(&left);
    let by = move |_: &HttpRequest| {
        let is_due = calls.load(SeqCst) > 0 && calls.fetch_sub(1, SeqCst) == 1;
        is_due.then(|| command.clone())
    };
    (by, left)
}

pub(crate) fn command(value: &Value) -> Command {
    Command::parse(&value.to_string(), NOW.parse().unwrap()).unwrap()
}

/// After some commands, applies another one, and one more in full before its nth call. Returns what comes of that, and
/// whether there was such a call.
pub(crate) async fn overtaken(
    before: &[Value],
    first: &Value,
    second: &Value,
    nth: usize,
) -> (World, bool) {
    let (by, left) = before_call(nth, command(second));
    let world = interrupted(Hold::NONE, before, by).await;
    world.done(std::slice::from_ref(first)).await;
    let was_there = left.swap(0, SeqCst) == 0;
    (world, was_there)
}

/// A page to be read, after some commands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) before: &'a [Value],
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) hold: Hold,
}

/// Reads a page, and applies another command before its nth call: in full if nobody holds, otherwise until it waits.
/// Returns the page, if there was such a call.
pub(crate) async fn overtaken_page(asked: Asked<'_>, second: &Value, nth: usize) -> Option<Value> {
    let (by, left) = before_call(nth, command(second));
    let page = page_among(asked, by).await;
    (left.load(SeqCst) == 0).then_some(page)
}

/// Reads a page, and lets something happen before its calls.
pub(crate) async fn page_among(
    asked: Asked<'_>,
    by: impl Fn(&HttpRequest) -> Option<Command> + Send + Sync + 'static,
) -> Value {
    let mut world = interrupted(asked.hold, asked.before, by).await;
    world.reader.hold = asked.hold;
    let (status, _, page) = world.get(asked.path, asked.query).await;
    assert_eq!(status, 200, "{page}");
    page
}

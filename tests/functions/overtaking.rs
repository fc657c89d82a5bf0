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
use shared::runtime::hold::Hold;
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
        let Some((writer, command)) = self.writer.get().cloned().zip((self.by)(&request)) else {
            return self.inside.call(request);
        };
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

/// A world in which something happens before calls.
fn interrupted(
    hold: Hold,
    by: impl Fn(&HttpRequest) -> Option<Command> + Send + Sync + 'static,
) -> World {
    let writer = Arc::new(OnceLock::new());
    let interrupted = Arc::clone(&writer);
    let mut world = World::behind(move |inside| {
        let turns = Arc::default();
        let by = Arc::new(by);
        SharedHttpConnector::new(Interrupted { inside, writer: interrupted, by, turns })
    });
    world.writer.hold = hold;
    let _ = writer.set(world.writer.clone());
    world
}

/// A command before one call, and the calls that are left until that one: none is chosen if it is zero.
fn before_one_call(
    command: Command,
) -> (impl Fn(&HttpRequest) -> Option<Command> + Send + Sync, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(0));
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
    let (by, left) = before_one_call(command(second));
    let world = interrupted(Hold::NONE, by);
    world.done(before).await;
    left.store(nth, SeqCst);
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
    /// How long writers and readers hold.
    pub(crate) hold: Hold,
}

/// Reads a page, and applies another command before its nth call: in full if nobody holds, otherwise until it waits.
/// Returns the page, if there was such a call.
pub(crate) async fn overtaken_page(asked: Asked<'_>, second: &Value, nth: usize) -> Option<Value> {
    let (by, left) = before_one_call(command(second));
    let world = interrupted(asked.hold, by);
    let page = read(world, asked, || left.store(nth, SeqCst)).await;
    (left.load(SeqCst) == 0).then_some(page)
}

/// Reads a page, and lets something happen before calls once it is read.
pub(crate) async fn page_among(
    asked: Asked<'_>,
    by: impl Fn(&HttpRequest) -> Option<Command> + Send + Sync + 'static,
) -> Value {
    let begun = Arc::new(AtomicUsize::new(0));
    let is_begun = Arc::clone(&begun);
    let by = move |request: &HttpRequest| (is_begun.load(SeqCst) > 0).then(|| by(request))?;
    let world = interrupted(asked.hold, by);
    read(world, asked, || begun.store(1, SeqCst)).await
}

async fn read(mut world: World, asked: Asked<'_>, begin: impl FnOnce()) -> Value {
    world.reader.hold = asked.hold;
    world.done(asked.before).await;
    begin();
    let (status, _, page) = world.get(asked.path, asked.query).await;
    assert_eq!(status, 200, "{page}");
    page
}

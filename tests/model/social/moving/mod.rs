//! Lists whose rows move while they are read, with slow calls: each page is of one moment.
//!
//! Time is simulated. Each call of a table takes as long as a [`Case`] says, and commands are applied one after the other, each
//! once the one before is in effect. Meanwhile a client walks through the list again and again. On each walk
//!
//! * every row that is in the list throughout is found once, and no row twice;
//! * a page that is not full is the last one, unless rows and records of the list both move all the time;
//! * numbers that the commands write in turn are consecutive, because the page is of one moment.

mod lists;

use std::collections::BTreeSet;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::Value;
use shared::platform::runtime::hold::Hold;
use tests::World;
use tokio::time::sleep;

use crate::platform::seeds::variable;

/// Walks through each list.
const WALKS: usize = 8;
/// The most commands while a list of views is read: each of them may make it longer.
const MOST_FOLDED: usize = 200;

tokio::task_local! {
    /// Set for those whose calls are slow.
    static IS_SLOW: ();
}

/// Delays calls, half before and half after each.
#[derive(Debug)]
struct Slow {
    inside: SharedHttpConnector,
    micros: Arc<AtomicU64>,
}

impl HttpConnector for Slow {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if IS_SLOW.try_with(|()| ()).is_err() {
            return self.inside.call(request);
        }
        let half = Duration::from_micros(self.micros.load(SeqCst) / 2);
        let inside = self.inside.clone();
        HttpConnectorFuture::new(async move {
            sleep(half).await;
            let answer = inside.call(request).await;
            sleep(half).await;
            answer
        })
    }
}

/// Reads the number that a command has written into an item.
type Number = fn(&Value) -> Option<u64>;

/// A list whose rows move.
struct Moving {
    name: &'static str,
    path: &'static str,
    /// Parameters besides `limit`.
    query: &'static str,
    /// What happens before it is read.
    before: Vec<Value>,
    /// The n-th command while it is read, or several that come at once.
    moves: fn(usize) -> Value,
    /// True if views are folded after each command.
    is_projected: bool,
    /// The member of an item that names it.
    id: &'static str,
    /// The items that are in it throughout.
    throughout: BTreeSet<String>,
    /// True if a moved item goes to the front, where a walk that has passed the front does not look again.
    moves_to_front: bool,
    /// True if rows and records both move all the time, so that a page may end early.
    may_end_early: bool,
    /// The number that a command has written into an item, and how many items have one.
    numbers: Option<(Number, usize)>,
}

/// How slow calls are, how long the commands pause, and the most items of a page.
#[derive(Debug, Clone, Copy)]
struct Case {
    call: u64,
    /// True if the calls of commands are as slow as those of the reader.
    has_slow_writers: bool,
    pause: u64,
    limit: usize,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, has_slow_writers, pause, limit } = self;
        let writers = if *has_slow_writers { "slow" } else { "fast" };
        write!(f, "calls of {call} ms, {writers} writers, a pause of {pause} ms, limit={limit}")
    }
}

/// Commands one after the other, twenty a second, and one a second.
fn cases() -> impl Iterator<Item = Case> {
    let writers = [(true, 0), (false, 20), (true, 1_000)];
    [10, 40].into_iter().flat_map(move |call| {
        writers.into_iter().flat_map(move |(has_slow_writers, pause)| {
            [2, 100].map(|limit| Case { call, has_slow_writers, pause, limit })
        })
    })
}

/// Walks through a list while its rows move; what is wrong.
async fn wrong(list: &Moving, case: Case) -> Vec<String> {
    let micros = Arc::new(AtomicU64::new(0));
    let delay = Arc::clone(&micros);
    let mut world =
        World::behind(|inside| SharedHttpConnector::new(Slow { inside, micros: delay }));
    (world.writer.hold, world.reader.hold) = (Hold::default(), Hold::default());
    lists::prepare(&world).await;
    world.done(&list.before).await;
    if list.is_projected {
        lists::project(&world).await;
    }
    micros.store(case.call * 1_000, SeqCst);
    let moving = async {
        let most = if list.is_projected { MOST_FOLDED } else { usize::MAX };
        for n in 0..most {
            let commands = match (list.moves)(n) {
                Value::Array(commands) => commands,
                command => vec![command],
            };
            for command in commands {
                world.done(&[command]).await;
                if list.is_projected {
                    lists::project(&world).await;
                }
            }
            sleep(Duration::from_millis(case.pause)).await;
        }
        pending().await
    };
    let walking = async {
        let mut wrong = Vec::new();
        let walks = if list.is_projected { WALKS / 2 } else { WALKS };
        for _ in 0..walks {
            // The walks begin at different phases of the movement.
            sleep(Duration::from_millis(fastrand::u64(..130))).await;
            wrong.extend(walk(&world, list, case.limit).await);
        }
        wrong
    };
    let moving = async {
        match case.has_slow_writers {
            true => IS_SLOW.scope((), moving).await,
            false => moving.await,
        }
    };
    tokio::select! {
        () = moving => unreachable!("it has no end"),
        wrong = IS_SLOW.scope((), walking) => wrong,
    }
}

/// One walk; what is wrong with it.
async fn walk(world: &World, list: &Moving, limit: usize) -> Vec<String> {
    let mut query = format!("limit={limit}{}", list.query);
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    loop {
        let (status, _, page) = world.get(list.path, &query).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap();
        found.extend(items.iter().map(|item| item[list.id].as_str().unwrap().to_owned()));
        if let Some((number, all)) = list.numbers {
            let numbers: BTreeSet<_> = items.iter().filter_map(number).collect();
            let span = numbers.last().zip(numbers.first()).map_or(0, |(last, first)| last - first);
            if numbers.len() == all && span != all as u64 - 1 {
                wrong.push(format!("numbers of no moment {numbers:?}"));
            }
        }
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        if items.len() < limit && !list.may_end_early {
            wrong.push(format!("{} of {limit} and a cursor", items.len()));
        }
        if found.len() > 10_000 {
            wrong.push("a walk without end".to_owned());
            break;
        }
        query = format!("limit={limit}&cursor={cursor}");
    }
    let each: BTreeSet<_> = found.iter().cloned().collect();
    // A walk of several pages finds what has moved to the front where it is.
    let may_have_moved = list.moves_to_front && each.len() > limit;
    if each.len() < found.len() && !may_have_moved {
        wrong.push(format!("twice in {found:?}"));
    }
    let missing: Vec<_> = list.throughout.difference(&each).collect();
    if !missing.is_empty() && !may_have_moved {
        wrong.push(format!("lacks {missing:?}"));
    }
    wrong
}

/// `NAGARE_MODEL_LIST=likes` reads one list, and says what each case has.
#[tokio::test(start_paused = true)]
async fn pages_are_of_one_moment_while_rows_move() {
    let only = variable("NAGARE_MODEL_LIST");
    let mut all = Vec::new();
    for list in lists::all() {
        if only.as_deref().is_some_and(|only| only != list.name) {
            continue;
        }
        // To fold takes long.
        for case in cases().filter(|case| !list.is_projected || case.call == 40) {
            let wrong = wrong(&list, case).await;
            if let Some(first) = wrong.first() {
                all.push(format!("{}, {case}: {} times, {first}", list.name, wrong.len()));
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

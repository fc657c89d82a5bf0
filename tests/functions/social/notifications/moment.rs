//! A page of notifications is of one moment, whatever is liked and read between its calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use fastrand::Rng;
use serde_json::{Value, json};
use tests::{World, publish};

const ACTIVITIES: usize = 7;

tokio::task_local! {
    /// Set for the reader, between whose calls something happens.
    static IS_READER: ();
}

/// The notifications so far, and the next commands.
struct Feed {
    random: Rng,
    /// Commands that come before a call, at most.
    most: usize,
    /// Whether marks may leave some likes unread.
    is_partial: bool,
    /// The number of likes of each activity, and how many are read.
    activities: BTreeMap<String, (u64, u64)>,
    notifications: BTreeSet<String>,
    /// Those that were liked while they were unread, so that they have moved.
    moved: BTreeSet<String>,
    count: usize,
}

impl Feed {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        // With long ids the inbox has no room for all.
        let length = [2, 100][random.usize(0..2)];
        let activity = |n| (format!("a{n}{}", "x".repeat(length - 2)), (0, 0));
        Self {
            most: random.usize(1..7),
            is_partial: random.bool(),
            activities: (0..ACTIVITIES).map(activity).collect(),
            notifications: BTreeSet::new(),
            moved: BTreeSet::new(),
            count: 0,
            random,
        }
    }

    fn id(&self, activity: &str) -> String {
        format!("like:{}:{activity}", self.activities[activity].1)
    }

    fn next(&mut self) -> Value {
        self.count += 1;
        let n = self.random.usize(0..ACTIVITIES);
        let activity = self.activities.keys().nth(n).unwrap().clone();
        let (likes, read) = self.activities[&activity];
        let id = self.id(&activity);
        if likes > read && self.random.bool() {
            let least = if self.is_partial { 1 } else { likes - read };
            let through = self.random.u64(least..=likes - read);
            self.activities.insert(activity.clone(), (likes, read + through));
            if read + through < likes {
                self.notifications.insert(self.id(&activity));
            }
            let read = json!({"notification_id": id, "through": through});
            return json!({"type": "notifications.read", "viewer_id": "anna", "read": [read]});
        }
        self.activities.insert(activity.clone(), (likes + 1, read));
        if !self.notifications.insert(id.clone()) {
            self.moved.insert(id);
        }
        let (minute, tenth) = (self.count / 600, self.count % 600);
        let at = format!("2026-11-20T11:{minute:02}:{:02}.{}00Z", tenth / 10, tenth % 10);
        json!({"type": "like.created", "viewer_id": format!("v{}", self.count), "activity_id": activity, "at": at})
    }
}

struct Interrupted {
    inside: SharedHttpConnector,
    world: Arc<OnceLock<Arc<World>>>,
    feed: Arc<Mutex<Feed>>,
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupted").finish_non_exhaustive()
    }
}

impl HttpConnector for Interrupted {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inside = self.inside.clone();
        let world = self.world.get().filter(|_| IS_READER.try_with(|()| ()).is_ok()).cloned();
        let Some(world) = world else { return inside.call(request) };
        let feed = Arc::clone(&self.feed);
        HttpConnectorFuture::new(async move {
            happen(&world, &feed).await;
            inside.call(request).await
        })
    }
}

/// Applies some commands between two calls of the reader.
async fn happen(world: &Arc<World>, feed: &Arc<Mutex<Feed>>) {
    let commands: Vec<_> = {
        let mut feed = feed.lock().unwrap();
        let most = feed.most;
        let number = feed.random.usize(0..=most);
        (0..number).map(|_| feed.next()).collect()
    };
    // In a task of its own, whose calls nothing interrupts.
    let world = Arc::clone(world);
    let done = tokio::spawn(async move {
        for command in commands {
            world.done(&[command]).await;
            world.project("a").await;
        }
    });
    done.await.unwrap();
}

async fn page(world: &World, query: &str) -> Value {
    let path = "/v1/notifications/anna";
    let (status, _, page) = IS_READER.scope((), world.get(path, query)).await;
    assert_eq!(status, 200, "{page}");
    page
}

fn ids(items: &[Value]) -> Vec<String> {
    items.iter().map(|item| item["notification_id"].as_str().unwrap().to_owned()).collect()
}

/// All notifications of a page, which has all of them.
fn check(page: &Value, before: &BTreeSet<String>, seed: u64) {
    let items = page["items"].as_array().unwrap();
    assert_eq!(page["next_cursor"], Value::Null, "seed {seed}");
    let found = ids(items);
    let each: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!(each.len(), found.len(), "seed {seed}: twice in {found:?}");
    let missing: Vec<_> = before.difference(&each).collect();
    assert!(missing.is_empty(), "seed {seed}: lacks {missing:?}");
    assert!(items.is_sorted_by(|a, b| a["last_at"].as_str() >= b["last_at"].as_str()));
    let unread = items.iter().filter(|item| item["state"] == "unread");
    let unread: u64 = unread.map(|item| item["count"].as_u64().unwrap()).sum();
    assert_eq!(page["unread_count"], unread, "seed {seed}");
    // The notifications of an activity have all of its likes up to some moment, each once.
    let mut likes = BTreeMap::<&str, BTreeMap<u64, u64>>::new();
    for item in items {
        let id = item["notification_id"].as_str().unwrap();
        let behind = id.split(':').nth(1).unwrap().parse().unwrap();
        let of = likes.entry(item["activity_id"].as_str().unwrap()).or_default();
        of.insert(behind, item["count"].as_u64().unwrap());
    }
    for (activity, counts) in likes {
        let mut next = 0;
        for (behind, count) in counts {
            assert_eq!(behind, next, "seed {seed}: {activity}");
            next += count;
        }
    }
}

async fn run(seed: u64) {
    let feed = Arc::new(Mutex::new(Feed::new(seed)));
    let shared = Arc::new(OnceLock::new());
    let (of_feed, of_world) = (Arc::clone(&feed), Arc::clone(&shared));
    let world = Arc::new(World::behind(|inside| {
        SharedHttpConnector::new(Interrupted { inside, world: of_world, feed: of_feed })
    }));
    let activities: Vec<_> = feed.lock().unwrap().activities.keys().cloned().collect();
    for activity in &activities {
        world.done(&[publish("anna", activity, "2026-11-20T10:00:00.000Z")]).await;
    }
    for _ in 0..30 {
        let command = feed.lock().unwrap().next();
        world.done(&[command]).await;
        world.project("a").await;
    }
    assert!(shared.set(Arc::clone(&world)).is_ok());
    for _ in 0..4 {
        let before = feed.lock().unwrap().notifications.clone();
        check(&page(&world, "limit=100").await, &before, seed);
    }
    // A walk finds all that stay where they are, and a mark of some likes moves a notification.
    let (before, is_partial) = {
        let mut feed = feed.lock().unwrap();
        feed.moved.clear();
        (feed.notifications.clone(), feed.is_partial)
    };
    let (mut found, mut query) = (Vec::new(), "limit=3".to_owned());
    for _ in 0..200 {
        let page = page(&world, &query).await;
        found.extend(ids(page["items"].as_array().unwrap()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        query = format!("limit=3&cursor={cursor}");
    }
    if is_partial {
        return;
    }
    let each: BTreeSet<_> = found.iter().cloned().collect();
    assert_eq!(each.len(), found.len(), "seed {seed}: twice in {found:?}");
    let moved = feed.lock().unwrap().moved.clone();
    let missing: Vec<_> = before.difference(&each).filter(|id| !moved.contains(*id)).collect();
    assert!(missing.is_empty(), "seed {seed}: lacks {missing:?}");
}

#[tokio::test]
async fn a_page_is_of_one_moment_whatever_happens_between_its_calls() {
    for seed in 0..12 {
        run(seed).await;
    }
}

//! What grows has a bound, whatever one person repeats: transactions, blocks.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::stream_source;
use serde_json::{Value, json};
use shared::platform::dynamo::limits::item_bytes;
use tests::{World, publish, soon};

use crate::platform::projecting::{everything, project, records};

const AT: &str = "2026-11-20T11:00:00.000Z";

fn like(viewer: &str, activity: &str) -> Value {
    json!({"type": "like.created", "viewer_id": viewer, "activity_id": activity, "at": AT})
}

/// Notes how many items each transaction has.
#[derive(Debug)]
struct Weighing {
    inside: SharedHttpConnector,
    most: Arc<Mutex<usize>>,
}

impl HttpConnector for Weighing {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body: Value =
            serde_json::from_slice(request.body().bytes().unwrap()).unwrap_or(Value::Null);
        let items = body["TransactItems"].as_array().map_or(0, Vec::len);
        let mut most = self.most.lock().unwrap();
        *most = items.max(*most);
        self.inside.call(request)
    }
}

fn weighing() -> (World, Arc<Mutex<usize>>) {
    let most = Arc::<Mutex<usize>>::default();
    let noted = Arc::clone(&most);
    let world = World::behind(|inside| SharedHttpConnector::new(Weighing { inside, most: noted }));
    (world, most)
}

#[tokio::test]
async fn many_activities_and_many_marks_of_one_actor_are_in_no_large_transaction() {
    let (world, most) = weighing();
    let activities: Vec<_> = (0..59).map(|n| format!("live-{n}")).collect();
    world.done(&activities.iter().map(|id| publish("anna", id, AT)).collect::<Vec<_>>()).await;
    for n in 0..42 {
        world.done(&[like(&format!("v{n}"), "live-7")]).await;
    }
    world.project("a").await;
    let (likes, first) = (activities.iter().map(|id| like("eve", id)), records(&world).len());
    world.done(&likes.collect::<Vec<_>>()).await;
    let read = |through| json!({"notification_id": "like:0:live-7", "through": through});
    let mark =
        |read: &[Value]| json!({"type": "notifications.read", "viewer_id": "anna", "read": read});
    world.done(&(1..42).map(|through| mark(&[read(through)])).collect::<Vec<_>>()).await;
    world.done(&[mark(&(1..=42).map(read).collect::<Vec<_>>())]).await;
    project(&world, "a", &records(&world)[first..]).await;
    assert!(*most.lock().unwrap() <= 50, "{most:?}");
    let (_, _, page) = world.get("/v1/notifications/anna", "limit=100").await;
    let items = page["items"].as_array().unwrap();
    assert_eq!((&page["unread_count"], items.len()), (&json!(59), 60), "{page}");
    let read: Vec<_> = items.iter().filter(|item| item["state"] == "read").collect();
    assert_eq!((read.len(), &read[0]["count"]), (1, &json!(42)));
}

/// What a later version adds to a view stays there while this one folds into it.
#[tokio::test]
async fn attributes_that_nobody_knows_survive() {
    let world = World::new();
    let open = json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": "2026-11-20T10:00:00.000Z", "closes_at": "2026-11-20T12:00:00.000Z"});
    let boss =
        json!({"type": "battle.opened", "battle_id": "p", "actor_id": "anna", "hp": 100, "at": AT});
    let say = |viewer: &str| {
        let vote = json!({"type": "vote.cast", "poll_id": "p", "viewer_id": viewer, "choice": "red", "at": AT});
        let hit = json!({"type": "battle.hit", "battle_id": "p", "hit_id": viewer, "viewer_id": viewer,
            "damage": 1, "at": AT});
        [like(viewer, "p"), vote, hit]
    };
    world.done(&[publish("anna", "p", AT), open, boss]).await;
    world.done(&say("bob")).await;
    world.project("a").await;
    let keys = [
        ("activity#p", "likes"),
        ("poll#p", "poll"),
        ("battle#p", "battle"),
        ("notifications#anna", "inbox"),
    ];
    for (pk, sk) in keys {
        let request = json!({"TableName": "nagare-views", "Key": {"pk": {"S": pk}, "sk": {"S": sk}},
            "UpdateExpression": "SET later = :v", "ConditionExpression": "attribute_exists(version)",
            "ExpressionAttributeValues": {":v": {"M": {"x": {"L": [{"N": "1"}]}}}}});
        let (status, answer) = world.engine.call("UpdateItem", request.to_string().as_bytes());
        assert_eq!(status, 200, "{pk}: {answer}");
    }
    world.done(&say("eve")).await;
    world.project("a").await;
    let views = everything(world.tables.views.table()).await;
    for (pk, sk) in keys {
        let is_it = |item: &&shared::platform::dynamo::item::Item| {
            item["pk"].as_s().unwrap() == pk && item["sk"].as_s().unwrap() == sk
        };
        let view = views.iter().find(is_it).unwrap();
        assert!(view.contains_key("later"), "{pk} {view:?}");
    }
    let (_, _, poll) = world.get("/v1/polls/p", "").await;
    assert_eq!(poll["votes"], 2);
}

/// Votes for a poll that nobody has opened wait in blocks, none of which is larger than blocks may be.
#[tokio::test]
async fn votes_that_wait_are_in_blocks_of_a_bounded_size() {
    let world = World::new();
    for round in 0..4 {
        for n in 0..300 {
            let at = format!("2026-11-20T11:{:02}:{:02}.{round:03}Z", n / 60, n % 60);
            let choice = ["red", "blue"][n % 2];
            world
                .done(&[json!({"type": "vote.cast", "poll_id": "p", "viewer_id": "bob", "choice": choice, "at": at})])
                .await;
        }
        let fresh = records(&world).split_off(round * 300);
        for batch in fresh.chunks(100) {
            let batch = stream_source::event("a", batch).unwrap();
            let answer = world.fold(batch, soon()).await.unwrap();
            assert_eq!(answer.batch_item_failures, []);
        }
    }
    let views = everything(world.tables.views.table()).await;
    assert!(views.iter().all(|item| item_bytes(item) <= 128 * 1024));
    let open = json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": "2026-11-20T11:00:00.000Z", "closes_at": "2026-11-20T11:05:00.000Z"});
    world.done(&[open]).await;
    project(&world, "a", &records(&world)[1_200..]).await;
    let (_, _, poll) = world.get("/v1/polls/p", "viewer=bob").await;
    assert_eq!((&poll["vote"], &poll["votes"]), (&json!("blue"), &json!(1)), "{poll}");
    assert_eq!(poll["choices"][1]["votes"], 1);
    assert_eq!(world.take_dead_letters().await.len(), 0);
}

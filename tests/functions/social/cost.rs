//! What a page costs does not depend on how many the viewer follows.

use shared::social::follows::Follows;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use futures::{StreamExt, stream};
use shared::platform::paging::INLINE;
use shared::platform::register::Register;
use shared::platform::values::{ActorId, ViewerId};
use shared::social::follows::FollowChange;
use tests::{NOW, World, publish};

/// Records the operation of each call.
#[derive(Debug)]
struct CountingConnector {
    inside: SharedHttpConnector,
    calls: Arc<Mutex<Vec<String>>>,
}

impl HttpConnector for CountingConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        self.calls.lock().unwrap().push(operation.to_owned());
        self.inside.call(request)
    }
}

async fn follow_up_to(world: &World, from: usize, to: usize) {
    let changed_at = NOW.parse().unwrap();
    let follows = (from..to).map(|n| FollowChange {
        follower_id: ViewerId::new("bob").unwrap(),
        followee_id: ActorId::new(format!("actor-{n}")).unwrap(),
        state: Register { on: true, changed_at },
    });
    let recorded = stream::iter(follows).map(|follow| async move {
        Follows::new(&world.tables.ledger)
            .record_edge(&follow, NOW.parse().unwrap())
            .await
            .unwrap();
    });
    recorded.buffer_unordered(64).collect::<()>().await;
}

#[tokio::test]
async fn a_page_is_one_query_and_at_most_two_batch_gets_and_then_one_of_each() {
    let calls = Arc::default();
    let world = World::behind(|inside| {
        SharedHttpConnector::new(CountingConnector { inside, calls: Arc::clone(&calls) })
    });
    let mut following = 0;
    for follows in [30, 300, 3_000, 30_000] {
        follow_up_to(&world, following, follows).await;
        following = follows;
        // Activities of a hundred and twenty different actors, or of as many as there are.
        for n in 0..120 {
            let actor = format!("actor-{}", n * 7_919 % follows);
            let at = format!("2026-11-20T11:{:02}:{:02}.{:03}Z", n / 60, n % 60, follows / 100);
            world.done(&[publish(&actor, &format!("a-{follows}-{n}"), &at)]).await;
        }
        // Beside the query one call says who is hidden and what has changed. What was read once is kept. What was shown
        // is stored if the cursors have no room for it: the activities are seconds apart.
        for (limit, records) in [(1, 1), (20, 1), (100, 1), (100, 0), (20, 0)] {
            calls.lock().unwrap().clear();
            let ids = world.ids("bob", &format!("limit={limit}")).await;
            assert_eq!(ids.len(), limit);
            let calls = calls.lock().unwrap();
            let count = |name: &str| calls.iter().filter(|call| *call == name).count();
            assert_eq!(count("Query"), 1, "{follows} follows, {limit} items: {calls:?}");
            assert_eq!(count("BatchGetItem"), 1 + records, "{follows}, {limit}: {calls:?}");
            assert_eq!(
                count("PutItem"),
                usize::from(limit > INLINE),
                "{follows}, {limit}: {calls:?}"
            );
            let counted = ["Query", "BatchGetItem", "PutItem"].map(count);
            assert_eq!(calls.len(), counted.iter().sum::<usize>(), "{calls:?}");
        }
    }
}

//! What is in the tables from the start: timelines, and what they refer to.

use nagare::Failure;
use nagare_local::engine::Engine;
use nagare_local::schema;
use nagare_operator::progress;
use serde_json::{Value, json};
use shared::platform::values::{ActorId, Retention, Timestamp, ViewerId};
use shared::social::follows::keys;

use super::super::dataset::{self, Dataset};

/// Items that go in at once.
const PAGE: usize = 2_500;

/// Puts activities into the ledger, and for each number a viewer who follows that many actors, with the
/// timeline that results.
pub(super) fn timelines(
    engine: &Engine,
    data: Dataset,
    numbers_of_follows: &[u64],
) -> Result<(), Failure> {
    let viewers =
        numbers_of_follows.iter().map(|follows| Ok((*follows, dataset::viewer(*follows)?)));
    let viewers: Vec<(u64, ViewerId)> = viewers.collect::<Result<_, Failure>>()?;
    let mut ledger = Loader::new(engine, schema::names().ledger);
    let mut timelines = Loader::new(engine, schema::names().timelines);
    for (follows, viewer) in &viewers {
        for n in 0..*follows {
            ledger.put(edge(viewer, &dataset::actor_id(n)?, data.now))?;
        }
    }
    let bar = progress::bar(data.activities, "activities");
    for n in 0..data.activities {
        let activity = data.activity(n)?;
        let expires_at = Retention::default().expires_at(activity.sort_key.published_at);
        for (_, viewer) in viewers.iter().filter(|(follows, _)| activity.actor < *follows) {
            timelines.put(activity.entry(viewer, expires_at))?;
        }
        ledger.put(activity.record())?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    ledger.flush()?;
    timelines.flush()
}

/// An edge as [`Follows::record`](shared::social::follows::Follows::record) writes it.
pub(super) fn edge(viewer: &ViewerId, actor: &ActorId, at: Timestamp) -> Value {
    let key = keys::edge(viewer, actor);
    json!({
        "pk": {"S": key.pk},
        "sk": {"S": key.sk},
        "follower_id": {"S": viewer.as_str()},
        "followee_id": {"S": actor.as_str()},
        "following": {"BOOL": true},
        "changed_at": {"S": at.to_string()},
    })
}

/// Puts items into one table, many at once.
struct Loader<'a> {
    engine: &'a Engine,
    table: String,
    page: Vec<Value>,
}

impl<'a> Loader<'a> {
    fn new(engine: &'a Engine, table: String) -> Self {
        Self { engine, table, page: Vec::with_capacity(PAGE) }
    }

    fn put(&mut self, item: Value) -> Result<(), Failure> {
        self.page.push(item);
        if self.page.len() == PAGE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let loaded = self.engine.import(&self.table, std::mem::take(&mut self.page));
        loaded.map_err(|e| Failure::Unreachable(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_smithy_runtime_api::client::http::SharedHttpConnector;
    use shared::platform::dynamo::Dynamo;
    use shared::platform::ledger::Ledger;
    use shared::platform::register::Register;
    use shared::platform::runtime::hold::Hold;
    use shared::social::follows::{FollowChange, Follows};

    use super::*;
    use nagare_local::connector::{self, InProcess};
    use nagare_local::sqs::{Queues, Wire};

    #[tokio::test]
    async fn an_edge_is_what_the_writer_records() {
        let engine = Engine::in_memory().expect("tables");
        let queues = Queues::in_memory(Vec::new(), Arc::new(|| 0)).expect("queues");
        let inside = InProcess::new(engine.clone(), Wire::new(queues, "http://queue.local"));
        let client = connector::dynamodb(SharedHttpConnector::new(inside));
        let ledger = Ledger::new(Dynamo::new(client).table(&schema::names().ledger));
        let follows = Follows::new(&ledger);
        let (viewer, actor) =
            (ViewerId::new("bob").expect("an id"), ActorId::new("anna").expect("an id"));
        let at = Timestamp::parse("2026-11-20T12:00:00Z").expect("an instant");
        let stored = || {
            let key = keys::edge(&viewer, &actor);
            let get = json!({"TableName": schema::names().ledger, "Key": {"pk": {"S": key.pk}, "sk": {"S": key.sk}}});
            let (_, answer) = engine.call("GetItem", get.to_string().as_bytes());
            serde_json::from_str::<Value>(&answer).expect("JSON")["Item"].clone()
        };

        let state = Register { on: true, changed_at: at };
        let change =
            FollowChange { follower_id: viewer.clone(), followee_id: actor.clone(), state };
        let retention = Retention::default();
        let recorded = follows.record(&change, at, retention, Hold::NONE).await;
        assert_eq!(recorded.expect("recorded").edge.state, state);
        let recorded = stored();
        engine.import(&schema::names().ledger, vec![edge(&viewer, &actor, at)]).expect("loaded");
        let loaded = stored();

        assert_eq!(loaded, recorded);
        assert_eq!(loaded["following"], json!({"BOOL": true}));
    }
}

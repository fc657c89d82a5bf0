//! The followers of the actor that the benchmarks publish as: the ones that `nagare-bench fanout` writes
//! to. There may be millions of them, more than the embedded tables hold. So only the sort keys of their
//! edges are kept, and a page is generated when it is requested.

use nagare::Failure;
use nagare_operator::progress;
use serde_json::{Value, json};
use shared::platform::dynamo::Limits;
use shared::platform::values::{ActorId, Timestamp, ViewerId};
use shared::social::follows::keys;

use super::super::{ACTOR, follower};

#[derive(Debug)]
pub(super) struct FollowersPartition {
    partition: String,
    /// The sort keys of the edges, in order.
    sort_keys: Vec<Box<str>>,
    /// The size of every edge as DynamoDB counts it, in bytes, without its sort key and its follower.
    bytes: usize,
}

impl FollowersPartition {
    pub(super) fn new(count: u64) -> Result<Self, Failure> {
        let actor = ActorId::new(ACTOR).map_err(|e| Failure::Usage(e.to_string()))?;
        let bar = progress::bar(count, "follows");
        let sort_key = |n| {
            bar.inc(1);
            let viewer = ViewerId::new(follower(n)).map_err(|e| Failure::Usage(e.to_string()))?;
            Ok(keys::edge(&viewer, &actor).sk.into_boxed_str())
        };
        let mut sort_keys = (0..count).map(sort_key).collect::<Result<Vec<_>, Failure>>()?;
        sort_keys.sort_unstable();
        bar.finish_and_clear();
        let partition = keys::followers(&actor);
        let names = ["pk", "sk", "follower_id", "followee_id", "following", "changed_at"];
        let names: usize = names.map(str::len).iter().sum();
        let instant = Timestamp::LAST.to_string();
        let bytes = names + partition.len() + ACTOR.len() + 1 + instant.len();
        Ok(Self { partition, sort_keys, bytes })
    }

    /// The answer to a query for these followers. None for any other query.
    pub(super) fn answer(&self, body: &[u8]) -> Option<String> {
        self.edges(body).or_else(|| self.listed(body))
    }

    /// The answer to the query of a page of the list, none of whom has left.
    fn listed(&self, body: &[u8]) -> Option<String> {
        let query: Value = serde_json::from_slice(body).ok()?;
        let says =
            |pointer, text: &str| query.pointer(pointer).and_then(Value::as_str) == Some(text);
        let is_list = says("/KeyConditionExpression", "pk = :pk")
            && says("/ExpressionAttributeValues/:pk/S", &self.partition)
            && says("/FilterExpression", "following = :yes")
            && says("/ExpressionAttributeNames/#since", "changed_at");
        let limit = query.get("Limit").filter(|_| is_list)?.as_u64()?;
        let start = query.pointer("/ExclusiveStartKey/sk/S").and_then(Value::as_str).unwrap_or("");
        let first = self.sort_keys.partition_point(|sort_key| **sort_key <= *start);
        let rest = &self.sort_keys[first..];
        let found = &rest[..rest.len().min(usize::try_from(limit).ok()?)];
        let since = Timestamp::LAST.to_string();
        let items = found.iter().map(|sk| json!({"sk": {"S": sk}, "changed_at": {"S": since}}));
        let items: Vec<_> = items.collect();
        let mut answer = json!({"Count": found.len(), "ScannedCount": found.len(), "Items": items});
        if let Some(last) = found.last().filter(|_| found.len() as u64 == limit) {
            answer["LastEvaluatedKey"] = json!({"pk": {"S": self.partition}, "sk": {"S": last}});
        }
        Some(answer.to_string())
    }

    /// The answer to the query of a fan-out, which reads a range of edges; or only those of former followers, of whom there are none.
    fn edges(&self, body: &[u8]) -> Option<String> {
        let query: Value = serde_json::from_slice(body).ok()?;
        let text = |pointer: &str| query.pointer(pointer).and_then(Value::as_str);
        let value = |name: &str| text(&format!("/ExpressionAttributeValues/:{name}/S"));
        let reads_edges = text("/ProjectionExpression") == Some("sk, following");
        if !reads_edges || value("pk") != Some(&*self.partition) {
            return None;
        }
        let (first, last) = (value("first")?, value("last")?);
        let start = text("/ExclusiveStartKey/sk/S").unwrap_or("");
        let limit = query["Limit"].as_u64().unwrap_or(u64::MAX);
        let (mut read, mut bytes, mut reached, mut items) = (0, 0, None, String::new());
        let begin = self.sort_keys.partition_point(|key| **key < *first || **key <= *start);
        for key in self.sort_keys[begin..].iter().take_while(|key| ***key <= *last) {
            let follower = key.split_once('#').map_or("", |(_, follower)| follower);
            bytes += self.bytes + key.len() + follower.len();
            if read == limit || (read > 0 && bytes > Limits::DYNAMODB.page_bytes) {
                break;
            }
            read += 1;
            reached = Some(key);
            if query.get("FilterExpression").is_none() {
                let comma = if items.is_empty() { "" } else { "," };
                items += &format!(r#"{comma}{{"sk":{{"S":"{key}"}},"following":{{"BOOL":true}}}}"#);
            }
        }
        let count = if items.is_empty() { 0 } else { read };
        let mut answer = format!(r#"{{"Count":{count},"ScannedCount":{read},"Items":[{items}]"#);
        let is_cut = read == limit || bytes > Limits::DYNAMODB.page_bytes;
        if let Some(reached) = reached.filter(|_| is_cut) {
            let key = json!({"pk": {"S": self.partition}, "sk": {"S": reached}});
            answer += &format!(r#","LastEvaluatedKey":{key}"#);
        }
        Some(answer + "}")
    }
}

#[cfg(test)]
mod tests {

    use aws_smithy_runtime_api::client::http::{
        HttpConnector, HttpConnectorFuture, SharedHttpConnector,
    };
    use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
    use aws_smithy_runtime_api::http::StatusCode;
    use aws_smithy_types::body::SdkBody;
    use fastrand::Rng;
    use shared::platform::dynamo::Dynamo;
    use shared::platform::ledger::Ledger;
    use shared::social::follows::{FollowerRange, Follows};

    use super::super::load::edge;
    use super::*;
    use nagare_local::engine::Engine;
    use nagare_local::{connector, schema};

    /// Answers from the tables, and asserts that the generated followers answer the same.
    #[derive(Debug)]
    struct Compared(FollowersPartition, Engine);

    impl HttpConnector for Compared {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            let Self(followers, engine) = self;
            let query = request.body().bytes().expect("a body");
            let (status, stored) = engine.call("Query", query);
            let generated = followers.answer(query).expect("a query for them");
            // The embedded tables count one more item as scanned on a page that ends by its bytes. DynamoDB does not.
            let [read, expected] = [&generated, &stored].map(|text| {
                let mut answer: Value = serde_json::from_str(text).expect("JSON");
                answer.as_object_mut().and_then(|answer| answer.remove("ScannedCount"));
                answer
            });
            assert_eq!(read, expected, "{request:?}");
            let status = StatusCode::try_from(status).expect("a status");
            HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(stored))))
        }
    }

    /// Whatever is queried, the answer is the one that the tables would give.
    #[tokio::test]
    async fn they_are_read_as_from_the_tables() {
        const COUNT: u64 = 10_000;
        let engine = Engine::in_memory().expect("tables");
        let (actor, at) = (ActorId::new(ACTOR).expect("an id"), Timestamp::LAST);
        let viewer = |n| ViewerId::new(follower(n)).expect("an id");
        let edges = (0..COUNT).map(|n| edge(&viewer(n), &actor, at)).collect();
        engine.import(&schema::names().ledger, edges).expect("loaded");
        let compared = Compared(FollowersPartition::new(COUNT).expect("followers"), engine);
        let client = connector::dynamodb(SharedHttpConnector::new(compared));
        let ledger = Ledger::new(Dynamo::new(client).table(&schema::names().ledger));
        let follows = Follows::new(&ledger);
        let mut random = Rng::with_seed(1);
        for _ in 0..50 {
            let ranges = FollowerRange::split(random.usize(1..4));
            let range = ranges[random.usize(0..ranges.len())];
            let [first, last] = range.bounds();
            let after = keys::edge(&viewer(random.u64(0..COUNT)), &actor).sk;
            let after = (random.bool() && (&first..&last).contains(&&after)).then_some(after);
            let limit = if random.bool() { random.u16(1..3_000) } else { u16::MAX };
            let page = follows.edges(&actor, range, after.as_deref(), limit).await;
            assert!(!page.expect("a page").edges.is_empty());
            let former = follows.former_followers(&actor, &first, &last).await;
            assert_eq!(former.expect("pages"), []);
            let (after, limit) = (viewer(random.u64(0..COUNT)), random.usize(1..101));
            let list = follows.followers(&actor, Some(&after), limit).await;
            assert!(list.expect("a page").listed.len() <= limit);
        }
    }
}

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::platform::dynamo::Dynamo;
use crate::platform::dynamo::tests::{Wiretap, run};
use crate::platform::ledger::Ledger;

const TABLE: &str = "ledger";

fn follows(tap: &Wiretap) -> Follows {
    Follows::new(&Ledger::new(Dynamo::new(tap.client()).table(TABLE)))
}

fn json_of(request: &HttpRequest) -> Value {
    serde_json::from_slice(request.body().bytes().unwrap()).unwrap()
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// The body of the request that the SDK sends for this selection.
fn in_the_sdks_words(tap: &Wiretap, asked: &EdgeSelection<'_>) -> Value {
    let pk = keys::followers(asked.followee);
    let mut query = tap
        .client()
        .query()
        .table_name(TABLE)
        .consistent_read(true)
        .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
        .projection_expression("sk, following")
        .expression_attribute_values(":pk", s(&pk))
        .expression_attribute_values(":first", s(asked.first))
        .expression_attribute_values(":last", s(asked.last))
        .set_limit(asked.limit.map(i32::from));
    if let Some(after) = asked.after {
        query = query.exclusive_start_key("pk", s(&pk)).exclusive_start_key("sk", s(after));
    }
    if asked.former {
        query = query
            .filter_expression("following = :no")
            .expression_attribute_values(":no", AttributeValue::Bool(false));
    }
    run(query.send()).unwrap();
    json_of(&tap.request())
}

proptest! {
    #[test]
    fn asks_as_the_sdk_would(
        followee in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]",
        [first, last] in [".{0,40}", ".{0,40}"],
        after in proptest::option::of(".{0,40}"),
        limit in proptest::option::of(any::<u16>()),
        former in any::<bool>(),
    ) {
        let followee = &ActorId::new(followee).unwrap();
        let (first, last, after) = (first.as_str(), last.as_str(), after.as_deref());
        let asked = EdgeSelection { followee, first, last, after, limit, former };
        let tap = Wiretap::answering(json!({"Items": []}));
        run(follows(&tap).query_edges(&asked)).unwrap();
        let request = tap.request();
        let target = request.headers().get("x-amz-target").unwrap();
        prop_assert_eq!(target, "DynamoDB_20120810.Query");
        prop_assert_eq!(json_of(&request), in_the_sdks_words(&tap, &asked));
    }

    #[test]
    fn reads_every_edge(
        edges in proptest::collection::vec(("[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", any::<bool>()), 0..20),
        more in any::<bool>(),
    ) {
        let actor = ActorId::new("anna").unwrap();
        let edges = edges.into_iter().map(|(follower, following)| {
            let follower = ViewerId::new(follower).unwrap();
            let sort_key = keys::edge(&follower, &actor).sk;
            Edge { follower, following, sort_key }
        });
        let edges: Vec<_> = edges.collect();
        let items = edges.iter().map(|edge| {
            json!({"sk": {"S": edge.sort_key}, "following": {"BOOL": edge.following}})
        });
        let mut answer = json!({"Items": items.collect::<Vec<_>>(), "Count": edges.len()});
        if more {
            answer["LastEvaluatedKey"] = json!({"pk": {"S": "p"}, "sk": {"S": "0000#last"}});
        }
        let next = more.then(|| "0000#last".to_owned());
        let tap = Wiretap::answering(answer);
        let range = FollowerRange::ALL;
        let page = run(follows(&tap).edges(&actor, range, None, 100)).unwrap();
        prop_assert_eq!(page, EdgePage { edges, next });
    }
}

#[test]
fn what_is_no_edge_says_where() {
    let actor = ActorId::new("anna").unwrap();
    let sk = keys::edge(&ViewerId::new("bob").unwrap(), &actor).sk;
    let cases = [
        (json!({"following": {"BOOL": true}}), "attribute sk: expected a string"),
        (json!({"sk": {"N": "1"}}), "attribute sk: expected a string"),
        (json!({"sk": {"S": "nobody"}}), "attribute sk: expected an edge"),
        (json!({"sk": {"S": sk}, "following": {"S": "yes"}}), "expected true or false"),
    ];
    for (item, problem) in cases {
        let tap = Wiretap::answering(json!({"Items": [item]}));
        let page = run(follows(&tap).edges(&actor, FollowerRange::ALL, None, 100));
        let error = page.unwrap_err();
        assert!(matches!(error, DynamoError::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

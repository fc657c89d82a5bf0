//! Reads the followers of an actor page by page with a [request template](crate::platform::dynamo): a fan-out to a million reads a million
//! edges, and the SDK would make a map of each.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::{FollowerRange, Follows, keys};
use crate::platform::dynamo::item::corrupt;
use crate::platform::dynamo::{Attribute, DynamoError, read_answer};
use crate::platform::values::{ActorId, ViewerId};

/// One edge, seen from the followee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The viewer who follows, or followed.
    pub follower: ViewerId,
    /// False after an unfollow.
    pub following: bool,
    /// The edge's sort key in the ledger, to continue after.
    pub sort_key: String,
}

/// Some edges, in the order of their sort keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgePage {
    /// The edges, including those of former followers.
    pub edges: Vec<Edge>,
    /// Where to continue, if there is more.
    pub next: Option<String>,
}

/// The edges of one followee to read.
struct EdgeSelection<'a> {
    followee: &'a ActorId,
    first: &'a str,
    last: &'a str,
    after: Option<&'a str>,
    limit: Option<u16>,
    /// Only former followers.
    former: bool,
}

impl Follows {
    /// Reads at most `limit` edges of one followee in a range, after a sort key if one is given.
    pub async fn edges(
        &self,
        followee: &ActorId,
        range: FollowerRange,
        after: Option<&str>,
        limit: u16,
    ) -> Result<EdgePage, DynamoError> {
        let [first, last] = &range.bounds();
        let asked =
            EdgeSelection { followee, first, last, after, limit: Some(limit), former: false };
        self.query_edges(&asked).await
    }

    /// Reads the former followers among the edges from one sort key to another, both included. DynamoDB filters, so the response is
    /// short, whatever the number of edges.
    pub async fn former_followers(
        &self,
        followee: &ActorId,
        first: &str,
        last: &str,
    ) -> Result<Vec<Edge>, DynamoError> {
        let (mut found, mut next) = (Vec::new(), None);
        loop {
            let after = next.as_deref();
            let asked = EdgeSelection { followee, first, last, after, limit: None, former: true };
            let page = self.query_edges(&asked).await?;
            found.extend(page.edges);
            next = page.next;
            if next.is_none() {
                return Ok(found);
            }
        }
    }

    /// One step through the former followers of a range, after a sort key if one is given. A step reads a megabyte of edges, so it may
    /// find none and not be the last.
    pub async fn former_page(
        &self,
        followee: &ActorId,
        range: FollowerRange,
        after: Option<&str>,
    ) -> Result<EdgePage, DynamoError> {
        let [first, last] = &range.bounds();
        let asked = EdgeSelection { followee, first, last, after, limit: None, former: true };
        self.query_edges(&asked).await
    }

    async fn query_edges(&self, asked: &EdgeSelection<'_>) -> Result<EdgePage, DynamoError> {
        let table = self.ledger.table();
        let body = asked.body(table.name());
        let read = |answer: &Bytes| read_answer::<EdgesAnswer<'_>>(answer)?.page(table.name());
        table.call("Query", body, read).await
    }
}

impl EdgeSelection<'_> {
    fn body(&self, table: &str) -> String {
        let pk = keys::followers(self.followee);
        let mut query = json!({
            "TableName": table,
            "ConsistentRead": true,
            "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
            "ProjectionExpression": "sk, following",
            "ExpressionAttributeValues": {
                ":pk": {"S": pk},
                ":first": {"S": self.first},
                ":last": {"S": self.last},
            },
        });
        if let Some(limit) = self.limit {
            query["Limit"] = json!(limit);
        }
        if let Some(after) = self.after {
            query["ExclusiveStartKey"] = json!({"pk": {"S": pk}, "sk": {"S": after}});
        }
        if self.former {
            query["FilterExpression"] = json!("following = :no");
            query["ExpressionAttributeValues"][":no"] = json!({"BOOL": false});
        }
        query.to_string()
    }
}

#[derive(Deserialize)]
struct EdgesAnswer<'a> {
    #[serde(rename = "Items", borrow)]
    items: Vec<EdgeItem<'a>>,
    #[serde(rename = "LastEvaluatedKey", borrow)]
    last: Option<EdgeItem<'a>>,
}

#[derive(Deserialize)]
struct EdgeItem<'a> {
    #[serde(borrow)]
    sk: Option<Attribute<'a>>,
    #[serde(borrow)]
    following: Option<Attribute<'a>>,
}

impl EdgesAnswer<'_> {
    fn page(self, table: &str) -> Result<EdgePage, DynamoError> {
        let edges = self.items.into_iter().map(|item| item.edge(table));
        let next =
            self.last.map(|last| sort_key(last.sk, table).map(Cow::into_owned)).transpose()?;
        Ok(EdgePage { edges: edges.collect::<Result<_, _>>()?, next })
    }
}

impl EdgeItem<'_> {
    fn edge(self, table: &str) -> Result<Edge, DynamoError> {
        let sort_key = sort_key(self.sk, table)?;
        let following = match self.following {
            None => false,
            Some(Attribute::Truth(following)) => following,
            Some(_) => return Err(corrupt(table, &sort_key, "following", "true or false")),
        };
        let follower = keys::follower_of(&sort_key);
        let follower = follower.ok_or_else(|| corrupt(table, &sort_key, "sk", "an edge"))?;
        Ok(Edge { follower, following, sort_key: sort_key.into_owned() })
    }
}

fn sort_key<'a>(sk: Option<Attribute<'a>>, table: &str) -> Result<Cow<'a, str>, DynamoError> {
    match sk {
        Some(Attribute::Text(sort_key)) => Ok(sort_key),
        _ => Err(corrupt(table, "", "sk", "a string")),
    }
}

#[cfg(test)]
mod tests {
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
}

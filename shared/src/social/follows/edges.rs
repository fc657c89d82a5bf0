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
        let read = |answer: &Bytes| read_answer::<Answer<'_>>(answer)?.page(table.name());
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
struct Answer<'a> {
    #[serde(rename = "Items", borrow)]
    items: Vec<Item<'a>>,
    #[serde(rename = "LastEvaluatedKey", borrow)]
    last: Option<Item<'a>>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    sk: Option<Attribute<'a>>,
    #[serde(borrow)]
    following: Option<Attribute<'a>>,
}

impl Answer<'_> {
    fn page(self, table: &str) -> Result<EdgePage, DynamoError> {
        let edges = self.items.into_iter().map(|item| item.edge(table));
        let next =
            self.last.map(|last| sort_key(last.sk, table).map(Cow::into_owned)).transpose()?;
        Ok(EdgePage { edges: edges.collect::<Result<_, _>>()?, next })
    }
}

impl Item<'_> {
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
mod tests;

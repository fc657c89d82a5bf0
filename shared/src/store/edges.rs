//! The followers of an actor, read page by page over the [`Line`](super::line): a fan-out to a million
//! reads a million edges, each of which the SDK would make a map of.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::item::corrupt;
use super::line::read;
use super::{Deadline, Store, StoreError};
use crate::id::{ActorId, ViewerId};
use crate::keys::{self, FollowerRange};

/// One edge, seen from the followee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Who follows, or followed.
    pub follower: ViewerId,
    /// False once they ceased to.
    pub following: bool,
    /// The edge's sort key in the ledger: the place to go on from.
    pub place: String,
}

/// Some edges, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgePage {
    /// The edges, those of former followers included.
    pub edges: Vec<Edge>,
    /// Where to go on, if there is more.
    pub next: Option<String>,
}

/// Which edges of one followee are asked for.
struct Asked<'a> {
    followee: &'a ActorId,
    first: &'a str,
    last: &'a str,
    after: Option<&'a str>,
    limit: Option<u16>,
    /// Only those who ceased to follow.
    former: bool,
}

impl Store {
    /// Reads at most `limit` edges of one followee in a range, beyond a place if one is given.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn edges(
        &self,
        followee: &ActorId,
        range: FollowerRange,
        after: Option<&str>,
        limit: u16,
        deadline: Deadline,
    ) -> Result<EdgePage, StoreError> {
        let [first, last] = &range.bounds();
        let asked = Asked { followee, first, last, after, limit: Some(limit), former: false };
        self.query_edges(&asked, deadline).await
    }

    /// Reads who of the edges from one place to another (both included) does not follow now.
    /// DynamoDB filters: the answer is short, whatever the number of edges.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn former_followers(
        &self,
        followee: &ActorId,
        first: &str,
        last: &str,
        deadline: Deadline,
    ) -> Result<Vec<Edge>, StoreError> {
        let (mut found, mut next) = (Vec::new(), None);
        loop {
            let after = next.as_deref();
            let asked = Asked { followee, first, last, after, limit: None, former: true };
            let page = self.query_edges(&asked, deadline).await?;
            found.extend(page.edges);
            next = page.next;
            if next.is_none() {
                return Ok(found);
            }
        }
    }

    /// One step through the edges of a range that are not followed now, beyond a place if one is
    /// given. A step looks at a megabyte of edges, so it may find none of them and not be the last.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn former_page(
        &self,
        followee: &ActorId,
        range: FollowerRange,
        after: Option<&str>,
        deadline: Deadline,
    ) -> Result<EdgePage, StoreError> {
        let [first, last] = &range.bounds();
        let asked = Asked { followee, first, last, after, limit: None, former: true };
        self.query_edges(&asked, deadline).await
    }

    async fn query_edges(
        &self,
        asked: &Asked<'_>,
        deadline: Deadline,
    ) -> Result<EdgePage, StoreError> {
        let table = &self.tables.ledger;
        let body = asked.body(table);
        self.attempt(deadline, || async {
            let answer = self.line().await?.call("Query", body.clone()).await?;
            // Read here already: half an answer is asked for again.
            read::<Answer<'_>>(&answer)?.page(table)
        })
        .await
    }
}

impl Asked<'_> {
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

/// An attribute of any type; those that no edge has are not looked into.
#[derive(Deserialize)]
enum Attribute<'a> {
    #[serde(rename = "S", borrow)]
    Text(Cow<'a, str>),
    #[serde(rename = "BOOL")]
    Truth(bool),
    #[serde(alias = "N", alias = "B", alias = "SS", alias = "NS", alias = "BS")]
    #[serde(alias = "M", alias = "L", alias = "NULL")]
    Other(IgnoredAny),
}

impl Answer<'_> {
    fn page(self, table: &str) -> Result<EdgePage, StoreError> {
        let edges = self.items.into_iter().map(|item| item.edge(table));
        let next = self.last.map(|last| place(last.sk, table).map(Cow::into_owned)).transpose()?;
        Ok(EdgePage { edges: edges.collect::<Result<_, _>>()?, next })
    }
}

impl Item<'_> {
    fn edge(self, table: &str) -> Result<Edge, StoreError> {
        let place = place(self.sk, table)?;
        let following = match self.following {
            None => false,
            Some(Attribute::Truth(following)) => following,
            Some(_) => return Err(corrupt(table, &place, "following", "true or false")),
        };
        let follower = keys::follower_of(&place);
        let follower = follower.ok_or_else(|| corrupt(table, &place, "sk", "an edge"))?;
        Ok(Edge { follower, following, place: place.into_owned() })
    }
}

fn place<'a>(sk: Option<Attribute<'a>>, table: &str) -> Result<Cow<'a, str>, StoreError> {
    match sk {
        Some(Attribute::Text(place)) => Ok(place),
        _ => Err(corrupt(table, "", "sk", "a string")),
    }
}

#[cfg(test)]
mod tests;

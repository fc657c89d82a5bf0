//! The followers of the actor that the benchmarks publish as: those that `nagare bench fanout` writes
//! to. There may be millions of them, more than the embedded tables hold, so of their edges only the
//! places are kept, and a page is made when it is asked for.

use serde_json::value::RawValue;
use shared::{ActorId, Timestamp, ViewerId, keys};

use super::super::super::{Failure, progress};
use super::super::{ACTOR, follower};
use crate::stack::engine::edges::EdgesQuery;

/// What an edge says of following.
const FOLLOWING: &str = r#"{"BOOL":true}"#;

pub(super) struct Followers {
    partition: String,
    /// The sort keys of the edges, in their order.
    places: Vec<Box<str>>,
    following: Box<RawValue>,
}

impl Followers {
    pub(super) fn new(count: u64) -> Result<Self, Failure> {
        let actor = ActorId::new(ACTOR).map_err(|e| Failure::Usage(e.to_string()))?;
        let bar = progress::bar(count, "follows");
        let place = |n| {
            bar.inc(1);
            let viewer = ViewerId::new(follower(n)).map_err(|e| Failure::Usage(e.to_string()))?;
            Ok(keys::edge(&viewer, &actor).sk.into_boxed_str())
        };
        let mut places = (0..count).map(place).collect::<Result<Vec<_>, Failure>>()?;
        places.sort_unstable();
        bar.finish_and_clear();
        let following = RawValue::from_string(FOLLOWING.to_owned());
        let following = following.map_err(|e| Failure::Usage(e.to_string()))?;
        Ok(Self { partition: keys::followers(&actor), places, following })
    }

    /// The answer to a query, if it asks for them.
    pub(super) fn answer(&self, body: &[u8]) -> Option<String> {
        let query = EdgesQuery::read(body)?;
        if query.partition() != self.partition {
            return None;
        }
        let first = self.places.partition_point(|place| query.is_before(place));
        let mut page = query.page();
        for place in self.places[first..].iter().take_while(|place| !query.is_behind(place)) {
            if !page.add(place, Some(&self.following), self.bytes(place)) {
                break;
            }
        }
        page.print().ok()
    }

    /// What DynamoDB counts of an edge: names and values.
    fn bytes(&self, place: &str) -> usize {
        let names = ["pk", "sk", "follower_id", "followee_id", "following", "changed_at"];
        let names: usize = names.map(str::len).iter().sum();
        let follower = place.split_once('#').map_or("", |(_, follower)| follower);
        let instant = Timestamp::LAST.to_string();
        let values = self.partition.len() + place.len() + follower.len() + ACTOR.len();
        names + values + 1 + instant.len()
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use serde_json::json;
    use shared::keys::FollowerRange;

    use super::super::load::edge;
    use super::*;
    use crate::stack::engine::Engine;
    use crate::stack::schema;

    /// As if they were in the tables.
    #[test]
    fn they_are_read_as_from_the_tables() {
        const COUNT: u64 = 10_000;
        let ledger = schema::tables().ledger;
        let engine = Engine::in_memory().expect("tables");
        let (actor, at) = (ActorId::new(ACTOR).expect("an id"), Timestamp::LAST);
        let viewer = |n| ViewerId::new(follower(n)).expect("an id");
        let edges = (0..COUNT).map(|n| edge(&viewer(n), &actor, at)).collect();
        engine.import(&ledger, edges).expect("loaded");
        let followers = Followers::new(COUNT).expect("followers");
        let mut random = Rng::with_seed(1);
        for _ in 0..50 {
            let ranges = FollowerRange::split(random.usize(1..4));
            let [first, last] = ranges[random.usize(0..ranges.len())].bounds();
            let pk = json!({"S": keys::followers(&actor)});
            let values = json!({":pk": pk, ":first": {"S": first}, ":last": {"S": last}});
            let mut query = json!({
                "TableName": ledger,
                "ConsistentRead": true,
                "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
                "ProjectionExpression": "sk, following",
                "ExpressionAttributeValues": values,
            });
            if random.bool() {
                query["Limit"] = random.u16(1..3_000).into();
            }
            if random.bool() {
                query["FilterExpression"] = "following = :no".into();
                query["ExpressionAttributeValues"][":no"] = json!({"BOOL": false});
            }
            if random.bool() {
                let after = keys::edge(&viewer(random.u64(0..COUNT)), &actor).sk;
                if (first..last).contains(&after) {
                    query["ExclusiveStartKey"] = json!({"pk": pk, "sk": {"S": after}});
                }
            }
            let body = query.to_string();
            let stored = engine.call("Query", body.as_bytes());
            assert_eq!(followers.answer(body.as_bytes()), Some(stored.1), "{query}");
        }
    }
}

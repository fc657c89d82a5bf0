//! The embedded tables take a fast path for the most frequent calls. Random calls, of the shapes that
//! the store sends and of some that it does not, must get the answers that the engine itself gives.

mod control;
mod limits;
mod transactions;

use dynoxide::Database;
use dynoxide::actions::create_table::CreateTableRequest;
use fastrand::Rng;
use nagare_local::engine::Engine;
use nagare_local::engine::stream::StreamRecord;
use nagare_local::schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const SEEDS: u64 = 60;
const STEPS: usize = 80;

#[test]
fn shorter_ways_answer_as_the_long_ones_do() {
    for seed in 0..SEEDS {
        let (engine, reference) = (Engine::in_memory().unwrap(), reference());
        let mut random = Rng::with_seed(seed);
        for step in 0..STEPS {
            let (operation, request) = call(&mut random);
            let ours = ours(&engine, operation, &request);
            let theirs = theirs(&reference, operation, request.clone());
            assert_eq!(ours, theirs, "seed {seed}, step {step}: {operation} {request}");
        }
        assert_eq!(our_stream(&engine), their_stream(&reference), "seed {seed}");
    }
}

/// The changes of facts: the keys of a row, the row before and after.
type Changes = Vec<[Value; 3]>;

fn our_stream(engine: &Engine) -> Changes {
    let records = engine.stream_behind(0, usize::MAX).unwrap();
    let numbers: Vec<_> = records.iter().map(|record| record.number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let image = |json: &str| serde_json::from_str(json).unwrap();
    let images = |json: Option<Box<RawValue>>| json.map_or(Value::Null, |json| image(json.get()));
    let change = |record: StreamRecord| {
        [image(record.keys.get()), images(record.before), images(record.after)].map(with_sorted_set)
    };
    records.into_iter().map(change).collect()
}

fn their_stream(database: &Database) -> Changes {
    let streams = answer(json!({}), |q| database.list_streams(q)).unwrap();
    let arn = &streams["Streams"][0]["StreamArn"];
    let described = answer(json!({"StreamArn": arn}), |q| database.describe_stream(q)).unwrap();
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let request = json!({"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let begin = answer(request, |q| database.get_shard_iterator(q)).unwrap();
    let request = json!({"ShardIterator": begin["ShardIterator"], "Limit": 1_000});
    let records = answer(request, |q| database.get_records(q)).unwrap();
    let records = records["Records"].as_array().unwrap().iter();
    let images = ["Keys", "OldImage", "NewImage"];
    let image = |record: &Value, image| with_sorted_set(record["dynamodb"][image].clone());
    records.map(|record| images.map(|it| image(record, it))).collect()
}

/// The same row with its set of numbers sorted, because sets have no order.
fn with_sorted_set(mut row: Value) -> Value {
    if let Some(numbers) = row.pointer_mut("/other/NS").and_then(Value::as_array_mut) {
        numbers.sort_by_key(|number| number.as_str().unwrap().to_owned());
    }
    row
}

/// The queries of a fan-out, over more followers than DynamoDB puts into one page.
#[test]
fn followers_are_read_as_the_engine_reads_them() {
    const EDGES: usize = 1_000;
    let (engine, reference) = (Engine::in_memory().unwrap(), reference());
    let ledger = schema::names().ledger;
    let mut random = Rng::with_seed(1);
    for n in 0..EDGES {
        let mut edge = json!({"pk": {"S": "followers#a"}, "sk": {"S": format!("{n:04}#é\"x")}});
        let following = [json!({"BOOL": true}), json!({"BOOL": false}), json!({"S": "no"})];
        if random.u8(0..20) > 0 {
            edge["following"] = random.choice(following).unwrap();
        }
        edge["changed_at"] = json!({"S": "x".repeat(random.usize(0..4_000))});
        let put = json!({"TableName": ledger, "Item": edge});
        assert!(ours(&engine, "PutItem", &put).is_ok());
        assert!(theirs(&reference, "PutItem", put).is_ok());
    }
    let mut cut = 0;
    for _ in 0..300 {
        let request = followers(&mut random, &ledger, EDGES);
        let [ours, theirs] =
            [ours(&engine, "Query", &request), theirs(&reference, "Query", request.clone())];
        // The engine also counts the item that no longer fitted into the page.
        let without_counter = |answer: Result<Value, String>| {
            answer.map(|mut answer| {
                cut += usize::from(answer["ScannedCount"] != request["Limit"]);
                answer["ScannedCount"].take();
                answer
            })
        };
        let [ours, theirs] = [ours, theirs].map(without_counter);
        assert_eq!(ours, theirs, "{request}");
    }
    assert!(cut > 0, "no page was full");
}

fn followers(random: &mut Rng, ledger: &str, edges: usize) -> Value {
    let mut sort_key = || format!("{:04}", random.usize(0..edges));
    let (first, last, start) = (sort_key(), sort_key(), sort_key());
    let values = json!({
        ":pk": {"S": random.choice(["followers#a", "followers#b"])},
        ":first": {"S": first},
        ":last": {"S": last},
    });
    let mut request = json!({
        "TableName": ledger,
        "ConsistentRead": true,
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :first AND :last",
        "ProjectionExpression": "sk, following",
        "ExpressionAttributeValues": values,
    });
    if random.bool() {
        request["Limit"] = random.choice([1, 10, 100, 1_000, 70_000]).into();
    }
    if random.bool() {
        request["FilterExpression"] = "following = :no".into();
    }
    if request.get("FilterExpression").is_some() != (random.u8(0..20) == 0) {
        request["ExpressionAttributeValues"][":no"] = json!({"BOOL": random.u8(0..10) == 0});
    }
    if random.bool() {
        request["ExclusiveStartKey"] = json!({"pk": {"S": "followers#a"}, "sk": {"S": start}});
    }
    request
}

/// The engine as its library has it, with the same tables.
fn reference() -> Database {
    let (made, database) = (Engine::in_memory().unwrap(), Database::memory().unwrap());
    let tables = schema::names();
    for name in [&tables.timelines, &tables.ledger, &tables.facts] {
        let (_, described) = made.call("DescribeTable", &body(&json!({"TableName": name})));
        let described: Value = serde_json::from_str(&described).unwrap();
        let mut definition = json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST"});
        for part in ["KeySchema", "AttributeDefinitions", "StreamSpecification"] {
            definition[part] = described["Table"][part].clone();
        }
        if let Some(indexes) = described["Table"]["GlobalSecondaryIndexes"].as_array() {
            definition["GlobalSecondaryIndexes"] = indexes.iter().map(index).collect();
        }
        let request: CreateTableRequest = serde_json::from_value(definition).unwrap();
        database.create_table(request).unwrap();
    }
    database
}

fn index(described: &Value) -> Value {
    let parts = ["IndexName", "KeySchema", "Projection"];
    parts.iter().map(|part| ((*part).to_owned(), described[part].clone())).collect()
}

fn ours(engine: &Engine, operation: &str, request: &Value) -> Result<Value, String> {
    let (status, answer) = engine.call(operation, &body(request));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    if status == 200 { Ok(answer) } else { Err(answer["__type"].as_str().unwrap().to_owned()) }
}

fn theirs(database: &Database, operation: &str, request: Value) -> Result<Value, String> {
    match operation {
        "BatchWriteItem" => answer(request, |q| database.batch_write_item(q)),
        "DeleteItem" => answer(request, |q| database.delete_item(q)),
        "GetItem" => answer(request, |q| database.get_item(q)),
        "PutItem" => answer(request, |q| database.put_item(q)),
        "Query" => answer(request, |q| database.query(q)),
        "Scan" => answer(request, |q| database.scan(q)),
        "UpdateItem" => answer(request, |q| database.update_item(q)),
        other => panic!("{other} is not compared"),
    }
}

fn answer<Q: DeserializeOwned, A: Serialize>(
    request: Value,
    call: impl FnOnce(Q) -> Result<A, dynoxide::DynoxideError>,
) -> Result<Value, String> {
    let answered = call(serde_json::from_value(request).unwrap());
    let answered = answered.map(|answer| serde_json::to_value(&answer).unwrap());
    answered.map_err(|error| {
        let error: Value = serde_json::from_str(&error.to_json()).unwrap();
        error["__type"].as_str().unwrap().to_owned()
    })
}

fn body(request: &Value) -> Vec<u8> {
    request.to_string().into_bytes()
}

/// A call on few keys, so that calls collide.
fn call(random: &mut Rng) -> (&'static str, Value) {
    let tables = schema::names();
    let (ledger, facts) = (tables.ledger, tables.facts);
    let either = if random.u8(0..3) == 0 { &facts } else { &ledger };
    match random.u8(0..100) {
        0..25 => ("PutItem", put(random, either)),
        25..35 => ("UpdateItem", update(random, either)),
        35..40 => ("UpdateItem", counting(random, either)),
        40..45 => ("UpdateItem", owner(random, &facts)),
        45..60 => ("Query", query(random, &ledger)),
        60..75 => ("BatchWriteItem", json!({"RequestItems": {tables.timelines: batch(random)}})),
        75..80 => ("Scan", json!({"TableName": random.choice([ledger, facts, tables.timelines])})),
        80..85 => ("Scan", json!({"TableName": ledger, "IndexName": "by_follower"})),
        85..92 => ("GetItem", get(random, either)),
        _ => ("DeleteItem", json!({"TableName": either, "Key": key(random)})),
    }
}

fn get(random: &mut Rng, table: &str) -> Value {
    let mut get = json!({"TableName": table, "Key": key(random)});
    if random.bool() {
        get["ConsistentRead"] = random.bool().into();
    }
    match random.u8(0..20) {
        0 => get["Key"]["sk"] = json!({"N": "1"}),
        1 => get["Key"]["sk"] = json!({"S": ""}),
        2 => get["Key"]["more"] = json!({"S": "x"}),
        3 => get["TableName"] = "no-such-table".into(),
        4 => get["ProjectionExpression"] = "changed_at".into(),
        5 => get["Key"]["pk"] = json!({"S": "é\"\\"}),
        _ => {}
    }
    get
}

fn key(random: &mut Rng) -> Value {
    json!({"pk": {"S": pk(random)}, "sk": {"S": digit(random)}})
}

fn pk(random: &mut Rng) -> String {
    format!("followers#{}", digit(random))
}

fn digit(random: &mut Rng) -> String {
    random.u8(0..4).to_string()
}

fn put(random: &mut Rng, table: &str) -> Value {
    let mut item = key(random);
    let at = json!({"S": digit(random)});
    item["changed_at"] = at.clone();
    item["following"] = json!({"BOOL": random.bool()});
    let others = [
        json!({"N": "01.50"}),
        json!({"NS": ["2", "1.0"]}),
        json!({"SS": ["b", "a"]}),
        json!({"L": [{"NULL": true}, {"M": {"n": {"N": "-0"}}}]}),
    ];
    if random.u8(0..4) == 0 {
        item["other"] = random.choice(others).unwrap();
    }
    if random.u8(0..4) > 0 {
        item["follower_id"] = json!({"S": digit(random)});
        item["followee_id"] = json!({"S": digit(random)});
    }
    if random.u8(0..20) == 0 {
        // Refused: an index key of another type, or a key that is missing.
        if random.bool() {
            item["follower_id"] = json!({"N": "1"});
        } else {
            item.as_object_mut().unwrap().remove("sk");
        }
    }
    let mut request = json!({"TableName": table, "Item": item});
    let conditions = [
        None,
        Some(("attribute_not_exists(pk)", false)),
        Some(("attribute_exists(pk)", false)),
        Some(("attribute_not_exists(changed_at) AND attribute_exists(pk)", false)),
        Some(("attribute_not_exists(changed_at) OR changed_at < :at", true)),
        Some(("changed_at < :at OR attribute_not_exists(changed_at)", true)),
        Some(("attribute_not_exists(#at) OR changed_at < :at", true)),
        Some(("attribute_not_exists(#at)", false)),
        Some(("#at = :at", true)),
        Some(("#at >= :at AND (following = :at OR attribute_exists(#at))", true)),
        Some(("#at <> :at", true)),
    ];
    if let Some((condition, valued)) = random.choice(conditions).unwrap() {
        request["ConditionExpression"] = condition.into();
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        if valued {
            request["ExpressionAttributeValues"] = json!({":at": at});
        }
        if condition.contains('#') && random.u8(0..9) > 0 {
            request["ExpressionAttributeNames"] = json!({"#at": "changed_at"});
        }
    }
    if random.u8(0..5) == 0 {
        request["ReturnValues"] = "ALL_OLD".into();
    }
    request
}

/// An update as the store writes an item; or one that is a little different.
fn update(random: &mut Rng, table: &str) -> Value {
    let mut values = json!({":0": {"S": digit(random)}, ":1": {"BOOL": random.bool()}});
    let mut names = json!({"#0": "changed_at", "#1": "following"});
    let mut expression = "SET #0=:0,#1=:1".to_owned();
    if random.u8(0..4) > 0 {
        expression.push_str(",#2=:2,#3=:3");
        let id = json!({"S": digit(random)});
        let of_another_type = json!({"N": "1"});
        values[":2"] = if random.u8(0..20) == 0 { of_another_type } else { id };
        values[":3"] = json!({"S": digit(random)});
        (names["#2"], names["#3"]) = (json!("follower_id"), json!("followee_id"));
    }
    if random.u8(0..3) == 0 {
        expression.push_str(" REMOVE #4");
        let removed = ["joining", "joining", "joining", "pk", "following"];
        names["#4"] = random.choice(removed).unwrap().into();
    }
    match random.u8(0..20) {
        // Each is refused: a key, an attribute twice, placeholders that are not there or not used.
        0 => names["#0"] = "sk".into(),
        1 => names["#0"] = "following".into(),
        2 => expression.push_str(",#9"),
        3 => values[":9"] = json!({"S": "x"}),
        4 => values[":0"] = json!({"SS": []}),
        _ => {}
    }
    let mut request =
        json!({"TableName": table, "Key": key(random), "UpdateExpression": expression});
    let conditions = [
        None,
        Some("attribute_not_exists(pk)"),
        Some("attribute_exists(pk)"),
        Some("attribute_not_exists(changed_at) OR changed_at < :at"),
        Some("attribute_not_exists(#at) OR #at < :at"),
    ];
    if let Some(condition) = random.choice(conditions).unwrap() {
        request["ConditionExpression"] = condition.into();
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
        if condition.contains('#') {
            names["#at"] = "changed_at".into();
        }
        if condition.contains(":at") {
            values[":at"] = json!({"S": digit(random)});
        }
    }
    let answers = [None, Some("NONE"), Some("NONE"), Some("ALL_NEW")];
    if let Some(answer) = random.choice(answers).unwrap() {
        request["ReturnValues"] = answer.into();
    }
    request["ExpressionAttributeNames"] = names;
    request["ExpressionAttributeValues"] = values;
    request
}

/// An update that counts, where two marks say so.
fn counting(random: &mut Rng, table: &str) -> Value {
    let condition = "(#left < :at OR #left = :yes) AND (attribute_not_exists(#joined) OR #joined < :at) \
                     OR attribute_not_exists(#left) AND #joined <= :at";
    let mut values = json!({":at": {"S": digit(random)}, ":none": {"N": "0"}, ":one": {"N": "1"}});
    values[":yes"] = json!({"BOOL": true});
    let mut request = json!({
        "TableName": table,
        "Key": key(random),
        "UpdateExpression": "SET #count = if_not_exists(#count, :none) + :one, #left = :at REMOVE #other",
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {"#left": "left", "#joined": "joined", "#count": "count", "#other": "other"},
        "ExpressionAttributeValues": values,
        "ReturnValues": random.choice(["NONE", "ALL_NEW"]),
    });
    match random.u8(0..8) {
        0 => request["ExpressionAttributeNames"]["#joined"] = "changed_at".into(),
        1 => request["ExpressionAttributeNames"]["#other"] = "count".into(),
        2 => request["ExpressionAttributeNames"]["#count"] = "changed_at".into(),
        3 => request["ConditionExpression"] = condition.replace(" OR ", " or ").into(),
        4..6 => {
            request["ConditionExpression"] = "attribute_not_exists(#joined) OR #left = :yes".into();
        }
        _ => {}
    }
    request
}

/// An update that records the actor of an activity.
fn owner(random: &mut Rng, table: &str) -> Value {
    let conditions =
        ["attribute_not_exists(actor)", "attribute_not_exists(actor) OR deleted <> :deleted"];
    json!({
        "TableName": table,
        "Key": key(random),
        "UpdateExpression": "SET actor = :actor, deleted = :deleted",
        "ConditionExpression": random.choice(conditions),
        "ExpressionAttributeValues": {":actor": {"S": digit(random)}, ":deleted": {"BOOL": random.bool()}},
    })
}

fn query(random: &mut Rng, table: &str) -> Value {
    let mut values = json!({":pk": {"S": pk(random)}});
    let mut condition = "pk = :pk".to_owned();
    if random.bool() {
        condition.push_str(" AND sk >= :from");
        values[":from"] = json!({"S": digit(random)});
    }
    if condition.len() == "pk = :pk".len() && random.bool() {
        condition.push_str(" AND sk BETWEEN :first AND :last");
        values[":first"] = json!({"S": digit(random)});
        let last = [json!({"S": digit(random)}), json!({"S": "~"}), json!({"N": "9"})];
        values[":last"] = random.choice(last).unwrap();
    }
    let mut request = json!({"TableName": table, "KeyConditionExpression": condition});
    if random.u8(0..3) == 0 {
        request["FilterExpression"] = "following = :no".into();
        values[":no"] = json!({"BOOL": false});
    }
    if random.u8(0..3) == 0 {
        request["Limit"] = random.u8(1..3).into();
    }
    request["ExpressionAttributeValues"] = values;
    request
}

fn batch(random: &mut Rng) -> Vec<Value> {
    let writes = (0..random.u8(1..5)).map(|_| {
        let (viewer, sort_key) = (json!({"S": digit(random)}), json!({"S": digit(random)}));
        if random.u8(0..6) == 0 {
            let key = json!({"viewer_id": viewer, "sort_key": sort_key});
            return json!({"DeleteRequest": {"Key": key}});
        }
        let mut item = json!({"viewer_id": viewer, "sort_key": sort_key});
        item["actor_id"] = json!({"S": digit(random)});
        item["expires_at"] = json!({"N": digit(random)});
        if random.u8(0..8) == 0 {
            item["more"] = json!({"NULL": true});
        }
        json!({"PutRequest": {"Item": item}})
    });
    writes.collect()
}

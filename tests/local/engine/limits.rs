//! Sizes and numbers: what is at a limit of DynamoDB is taken, and one beyond is refused.

use nagare_local::engine::Engine;
use nagare_local::schema;
use serde_json::{Value, json};
use shared::platform::dynamo::Limits;

const ITEM: usize = 400 * 1024;
const MB: usize = 1024 * 1024;

fn engine() -> Engine {
    Engine::in_memory().unwrap()
}

/// The answer, or the error's type and message.
fn call(engine: &Engine, operation: &str, request: &Value) -> Result<Value, String> {
    let (status, body) = engine.call(operation, request.to_string().as_bytes());
    let body: Value = serde_json::from_str(&body).unwrap();
    match status {
        200 => Ok(body),
        _ => Err(format!("{} {body}", body["__type"].as_str().unwrap())),
    }
}

#[track_caller]
fn taken(engine: &Engine, operation: &str, request: &Value) -> Value {
    call(engine, operation, request).unwrap()
}

/// Refused, with an error that says so.
#[track_caller]
fn refused(engine: &Engine, operation: &str, request: &Value, says: &str) {
    let error = call(engine, operation, request).unwrap_err();
    assert!(error.contains("Exception") && error.contains(says), "{error}");
}

fn text(text: impl Into<String>) -> Value {
    json!({"S": text.into()})
}

/// An item of the ledger that weighs `bytes` bytes.
fn weighing(sk: &str, bytes: usize) -> Value {
    let named = "pk".len() + "sk".len() + "p".len() + sk.len() + "x".len();
    json!({"pk": text("p"), "sk": text(sk), "x": text("x".repeat(bytes - named))})
}

/// An entry of a timeline that weighs `bytes` bytes.
fn entry(bytes: usize) -> Value {
    let named = "viewer_idsort_keyactor_idexpires_at".len() + "v".len() + "1".len() + 2;
    json!({"viewer_id": text("v"), "sort_key": text("1"), "expires_at": {"N": "1"},
        "actor_id": text("a".repeat(bytes - named))})
}

fn put(item: Value) -> Value {
    json!({"TableName": schema::names().ledger, "Item": item})
}

fn query(pk: &str) -> Value {
    json!({"TableName": schema::names().ledger, "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": text(pk)}})
}

fn update(sk: &str, expression: &str, value: Value) -> Value {
    json!({"TableName": schema::names().ledger, "Key": {"pk": text("p"), "sk": text(sk)},
        "UpdateExpression": expression, "ExpressionAttributeValues": {":v": value}})
}

fn transaction(actions: Vec<Value>) -> Value {
    json!({"TransactItems": actions})
}

#[test]
fn an_item_has_400_kb() {
    let (engine, says) = (engine(), "has exceeded the maximum allowed size");
    for (item, fits) in [(weighing("a", ITEM), true), (weighing("a", ITEM + 1), false)] {
        let mut new = put(item.clone());
        new["ConditionExpression"] = "attribute_not_exists(pk)".into();
        let calls = [
            ("PutItem", new),
            ("PutItem", put(item.clone())),
            ("TransactWriteItems", transaction(vec![json!({"Put": put(item.clone())})])),
            ("BatchWriteItem", batch(vec![item])),
        ];
        for (operation, request) in calls {
            match fits {
                true => drop(taken(&engine, operation, &request)),
                false => refused(&self::engine(), operation, &request, says),
            }
        }
    }
    let entries = |bytes| {
        json!({"RequestItems": {schema::names().timelines:
        [{"PutRequest": {"Item": entry(bytes)}}]}})
    };
    taken(&engine, "BatchWriteItem", &entries(ITEM));
    refused(&engine, "BatchWriteItem", &entries(ITEM + 1), says);
}

#[test]
fn an_update_leaves_at_most_400_kb() {
    let (engine, says) = (engine(), "Item size to update has exceeded the maximum allowed size");
    taken(&engine, "PutItem", &put(weighing("a", ITEM - 2)));
    refused(&engine, "UpdateItem", &update("a", "SET y = :v", text("12")), says);
    let action = json!({"Update": update("a", "SET y = :v", text("12"))});
    refused(&engine, "TransactWriteItems", &transaction(vec![action]), says);
    taken(&engine, "UpdateItem", &update("a", "SET y = :v", text("1")));
}

#[test]
fn an_expression_has_4_kb() {
    let engine = engine();
    let padded = |text: &str, bytes: usize| format!("{text}{}", " ".repeat(bytes - text.len()));
    let with = |mut request: Value, name: &str, text: &str| {
        request[name] = text.into();
        request
    };
    taken(&engine, "PutItem", &put(weighing("a", 100)));
    let new = |sk: &str| put(weighing(sk, 100));
    for bytes in [4_096, 4_097] {
        let condition = padded("attribute_not_exists(pk) OR attribute_exists(pk)", bytes);
        let requests = [
            ("PutItem", with(new(&bytes.to_string()), "ConditionExpression", &condition)),
            ("Query", with(query("nobody"), "KeyConditionExpression", &padded("pk = :pk", bytes))),
            ("Query", with(query("nobody"), "FilterExpression", &padded("x <> :pk", bytes))),
            ("Query", with(query("p"), "ProjectionExpression", &padded("pk", bytes))),
            ("UpdateItem", update("a", &padded("SET y = :v", bytes), text("1"))),
            (
                "Scan",
                with(
                    json!({"TableName": schema::names().views}),
                    "FilterExpression",
                    &padded("attribute_exists(pk)", bytes),
                ),
            ),
        ];
        for (operation, request) in requests {
            match bytes {
                4_096 => drop(taken(&engine, operation, &request)),
                _ => refused(&engine, operation, &request, "Expression size has exceeded"),
            }
        }
    }
}

#[test]
fn what_an_expression_is_given_has_2_mb() {
    let filtered = |bytes: usize| {
        let mut request = query("p");
        request["FilterExpression"] = "x = :v".into();
        let used = ":pk".len() + "p".len() + ":v".len();
        request["ExpressionAttributeValues"][":v"] = text("x".repeat(bytes - used));
        request
    };
    taken(&engine(), "Query", &filtered(2 * MB));
    refused(&engine(), "Query", &filtered(2 * MB + 1), "ExpressionAttributeValues exceeds");
    let placeholder = |bytes: usize| {
        let name = format!(":{}", "v".repeat(bytes - 1));
        json!({"TableName": schema::names().ledger, "KeyConditionExpression": format!("pk = {name}"),
            "ExpressionAttributeValues": {name: text("p")}})
    };
    taken(&engine(), "Query", &placeholder(255));
    refused(&engine(), "Query", &placeholder(256), "too long");
}

#[test]
fn an_expression_has_300_operators_and_in_100_operands() {
    let filtered = |filter: String| {
        let mut request = query("p");
        request["FilterExpression"] = filter.into();
        request
    };
    // 150 comparisons, and 149 times OR between them.
    let most = format!("NOT {}", vec!["x = :pk"; 150].join(" OR "));
    taken(&engine(), "Query", &filtered(most.clone()));
    let beyond = format!("NOT {most}");
    refused(&engine(), "Query", &filtered(beyond), "too many operators; operator count: 301");
    let among = |operands: usize| filtered(format!("x IN ({})", vec![":pk"; operands].join(", ")));
    taken(&engine(), "Query", &among(100));
    refused(&engine(), "Query", &among(101), "too many operands; number of operands: 101");
}

#[test]
fn a_transaction_has_100_items_and_4_mb() {
    let puts = |number: usize, bytes: usize| {
        let of = |n: usize| json!({"Put": put(weighing(&format!("{n:03}"), bytes))});
        (0..number).map(of).collect::<Vec<_>>()
    };
    taken(&engine(), "TransactWriteItems", &transaction(puts(100, 100)));
    refused(
        &engine(),
        "TransactWriteItems",
        &transaction(puts(101, 100)),
        "less than or equal to 100",
    );
    let large = |beyond: usize| {
        let mut puts = puts(10, ITEM);
        puts.push(json!({"Put": put(weighing("last", 4 * MB - 10 * ITEM + beyond))}));
        transaction(puts)
    };
    taken(&engine(), "TransactWriteItems", &large(0));
    refused(&engine(), "TransactWriteItems", &large(1), "4MB");
    let twice = vec![json!({"Put": put(weighing("a", 100))}); 2];
    refused(
        &engine(),
        "TransactWriteItems",
        &transaction(twice),
        "multiple operations on one item",
    );
}

#[test]
fn a_transaction_reads_100_items_and_4_mb() {
    let engine = engine();
    let key = |n: usize| {
        json!({"Get": {"TableName": schema::names().ledger,
        "Key": {"pk": text("p"), "sk": text(n.to_string())}}})
    };
    for n in 0..11 {
        taken(&engine, "PutItem", &put(weighing(&n.to_string(), ITEM)));
    }
    let gets = |number: usize| transaction((0..number).map(key).collect());
    taken(&engine, "TransactGetItems", &gets(10));
    refused(&engine, "TransactGetItems", &gets(11), "4MB");
    let absent = |number: usize| transaction((100..100 + number).map(key).collect());
    taken(&engine, "TransactGetItems", &absent(100));
    refused(&engine, "TransactGetItems", &absent(101), "less than or equal to 100");
}

fn batch(items: Vec<Value>) -> Value {
    let puts: Vec<_> =
        items.into_iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
    json!({"RequestItems": {schema::names().ledger: puts}})
}

#[test]
fn a_batch_writes_25_items_and_reads_100_or_16_mb() {
    let engine = engine();
    let items = |number: usize, bytes: usize| {
        (0..number).map(|n| weighing(&format!("{n:03}"), bytes)).collect::<Vec<_>>()
    };
    taken(&engine, "BatchWriteItem", &batch(items(25, 100)));
    refused(&engine, "BatchWriteItem", &batch(items(26, 100)), "less than or equal to 25");
    for item in items(41, ITEM) {
        taken(&engine, "PutItem", &put(item));
    }
    let keys = |number: usize| {
        let key = |n| json!({"pk": text("p"), "sk": text(format!("{n:03}"))});
        let keys: Vec<_> = (0..number).map(key).collect();
        json!({"RequestItems": {schema::names().ledger: {"Keys": keys}}})
    };
    let left = |number: usize| {
        let answer = taken(&engine, "BatchGetItem", &keys(number));
        let left = &answer["UnprocessedKeys"][&schema::names().ledger]["Keys"];
        left.as_array().map_or(0, Vec::len)
    };
    assert_eq!([left(40), left(41)], [0, 1], "41 of these have more than 16 MB");
    assert_eq!(left(100), 60, "what comes behind one that does not fit");
    refused(&engine, "BatchGetItem", &keys(101), "less than or equal to 100");
}

#[test]
fn keys_have_2_048_and_1_024_bytes() {
    let item =
        |pk: usize, sk: usize| put(json!({"pk": text("p".repeat(pk)), "sk": text("s".repeat(sk))}));
    let new = |pk: usize, sk: usize| {
        let mut request = item(pk, sk);
        request["ConditionExpression"] = "attribute_not_exists(pk)".into();
        request
    };
    for of in [&item as &dyn Fn(usize, usize) -> Value, &new] {
        taken(&engine(), "PutItem", &of(2_048, 1_024));
        refused(&engine(), "PutItem", &of(2_049, 1_024), "2048");
        refused(&engine(), "PutItem", &of(2_048, 1_025), "1024");
        refused(&engine(), "PutItem", &of(0, 1), "empty string value");
        refused(&engine(), "PutItem", &of(1, 0), "empty string value");
    }
    taken(&engine(), "Query", &query(&"p".repeat(2_048)));
    refused(&engine(), "Query", &query(&"p".repeat(2_049)), "2048");
    let edge = |follower: usize, followee: usize| {
        put(json!({"pk": text("p"), "sk": text("s"), "follower_id": text("f".repeat(follower)),
            "followee_id": text("f".repeat(followee))}))
    };
    taken(&engine(), "PutItem", &edge(2_048, 1_024));
    refused(&engine(), "PutItem", &edge(2_049, 1_024), "2048");
    refused(&engine(), "PutItem", &edge(2_048, 1_025), "1024");
}

#[test]
fn a_page_has_1_mb() {
    let (engine, table) = (engine(), schema::names().ledger);
    let rest = MB - 2 * ITEM;
    for (sk, bytes) in [("1", ITEM), ("2", ITEM), ("3", rest)] {
        taken(&engine, "PutItem", &put(weighing(sk, bytes)));
    }
    let pages = [("Query", query("p")), ("Scan", json!({"TableName": table}))];
    for (operation, request) in &pages {
        let page = taken(&engine, operation, request);
        assert_eq!((&page["Count"], page.get("LastEvaluatedKey")), (&json!(3), None));
    }
    taken(&engine, "PutItem", &put(weighing("3", rest + 1)));
    for (operation, request) in &pages {
        let page = taken(&engine, operation, request);
        assert_eq!((&page["Count"], &page["LastEvaluatedKey"]["sk"]), (&json!(2), &text("2")));
    }
}

#[test]
fn a_page_of_a_query_has_20_000_items() {
    let engine = engine();
    let items = (0..20_001).map(|n| json!({"pk": text("p"), "sk": text(format!("{n:05}"))}));
    engine.import(&schema::names().ledger, items.collect()).unwrap();
    let page = taken(&engine, "Query", &query("p"));
    assert_eq!((&page["Count"], &page["LastEvaluatedKey"]["sk"]), (&json!(20_000), &text("19999")));
}

#[test]
fn values_have_limits_of_their_own() {
    let with = |value: Value| put(json!({"pk": text("p"), "sk": text("s"), "x": value}));
    let nested = |levels: usize| (0..levels).fold(text("x"), |inside, _| json!({"L": [inside]}));
    taken(&engine(), "PutItem", &with(nested(31)));
    refused(&engine(), "PutItem", &with(nested(32)), "Nesting Levels");
    taken(&engine(), "PutItem", &with(json!({"N": "1".repeat(38)})));
    refused(&engine(), "PutItem", &with(json!({"N": "1".repeat(39)})), "38 significant digits");
    refused(&engine(), "PutItem", &with(json!({"N": "1e126"})), "Number overflow");
    refused(&engine(), "PutItem", &with(json!({"SS": []})), "empty");
    let named = |bytes: usize| with(json!({"M": {"n".repeat(bytes): text("x")}}));
    taken(&engine(), "PutItem", &named(65_535));
    refused(&engine(), "PutItem", &named(65_536), "Attribute name is too large");
    taken(&engine(), "UpdateItem", &update("a", "SET y = :v, z = :v", text("1")));
    refused(&engine(), "UpdateItem", &update("a", "SET y = :v, y.z = :v", text("1")), "overlap");
}

#[test]
fn a_request_has_16_mb() {
    let engine = engine();
    let request =
        json!({"TableName": schema::names().ledger, "Key": {"pk": text("p"), "sk": text("s")}});
    let request = request.to_string();
    let padded = |bytes: usize| format!("{request}{}", " ".repeat(bytes - request.len()));
    assert_eq!(engine.call("GetItem", padded(16 * MB).as_bytes()).0, 200);
    assert_eq!(engine.call("GetItem", padded(16 * MB + 1).as_bytes()).0, 400);
}

/// What tests shrink is refused by the same rules.
#[test]
fn limits_may_be_smaller() {
    let limits = Limits {
        item_bytes: 200,
        transaction_items: 2,
        transaction_bytes: 350,
        batch_write_items: 2,
        batch_get_items: 2,
        page_bytes: 250,
        expression_bytes: 40,
        ..Limits::DYNAMODB
    };
    let engine = engine().with_limits(limits).unwrap();
    let [one, two, three] = ["1", "2", "3"].map(|sk| put(weighing(sk, 100)));
    let [all, most] = [weighing("1", 201), weighing("1", 200)].map(put);
    refused(&engine, "PutItem", &all, "Item size");
    taken(&engine, "PutItem", &most);
    let actions =
        |puts: &[&Value]| transaction(puts.iter().map(|put| json!({"Put": put})).collect());
    refused(&engine, "TransactWriteItems", &actions(&[&one, &two, &three]), "equal to 2");
    refused(&engine, "TransactWriteItems", &actions(&[&most, &put(weighing("2", 151))]), "4MB");
    taken(&engine, "TransactWriteItems", &actions(&[&one, &two]));
    taken(&engine, "PutItem", &three);
    let items = ["4", "5", "6"].map(|sk| weighing(sk, 50));
    refused(&engine, "BatchWriteItem", &batch(items.to_vec()), "equal to 2");
    let long = update("1", "SET aaaaaaaaaaaaaaaa = :v, bbbbbbbbbbbbbb = :v", text("1"));
    refused(&engine, "UpdateItem", &long, "Expression size");
    // What an update makes of an item, alone and beside others.
    let grown = |bytes: usize| update("1", "SET y = :v", text("y".repeat(bytes)));
    refused(&engine, "UpdateItem", &grown(100), "Item size to update");
    let both = transaction(vec![json!({"Put": two}), json!({"Update": grown(100)})]);
    refused(&engine, "TransactWriteItems", &both, "ValidationError");
    taken(&engine, "UpdateItem", &grown(99));
    // Three items of 200, 100 and 100 bytes.
    let page = taken(&engine, "Query", &query("p"));
    assert_eq!((&page["Count"], &page["LastEvaluatedKey"]["sk"]), (&json!(1), &text("1")));
    let page = taken(&engine, "Scan", &json!({"TableName": schema::names().ledger}));
    assert_eq!(page["Count"], 1);
    let mut rest = query("p");
    rest["ExclusiveStartKey"] = json!({"pk": text("p"), "sk": text("1")});
    let page = taken(&engine, "Query", &rest);
    assert_eq!((&page["Count"], page.get("LastEvaluatedKey")), (&json!(2), None));
}

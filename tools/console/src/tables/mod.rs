//! Any table by key: what an item is, its attributes, and raw as DynamoDB has it.

mod meaning;

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use nagare_client::visible::visible_json;
use serde_json::{Map, json};

use super::prelude::*;
use crate::suggested::Suggestions;
use crate::suggestions;
use meaning::{SHELVES, Table};

const PAGE: i32 = 50;
/// Items that an export reads at once.
const EXPORT: i32 = 500;
/// Characters of a value in the table; raw has all.
const SHOWN: usize = 400;

type Item = HashMap<String, AttributeValue>;

/// What is looked at: a table, or a partition of it, from some sort keys on.
#[derive(Debug, Clone)]
struct Look {
    table: Table,
    /// All partitions, if there is none.
    pk: Option<String>,
    /// What sort keys begin with.
    sk: Option<String>,
}

impl Look {
    /// As a form says it: by key, or by what is looked for and an id.
    fn parse(fields: &Fields) -> Result<Option<Self>, Failure> {
        if let (Some(shelf), Some(id)) = (fields.get("what"), fields.get("id")) {
            let shelf = SHELVES.into_iter().find(|(name, ..)| *name == shelf);
            let none = || Failure::Usage("There is no such place.".to_owned());
            let (_, table, key) = shelf.ok_or_else(none)?;
            return Ok(Some(Self { table, pk: Some(key(id)?), sk: None }));
        }
        let Some(name) = fields.get("table") else { return Ok(None) };
        let table = Table::named(name);
        let table = table.ok_or_else(|| Failure::Usage("There is no such table.".to_owned()))?;
        let text = |name| fields.get(name).map(ToOwned::to_owned);
        Ok(Some(Self { table, pk: text("pk"), sk: text("sk") }))
    }

    /// Some items, and where to go on.
    async fn page(
        &self,
        console: &Console,
        limit: i32,
        after: Option<Item>,
    ) -> Result<(Vec<Item>, Option<Item>), Failure> {
        let name = self.table.stored(&console.remote)?;
        let client = console.remote.dynamodb();
        let [partition, sort] = self.table.keys();
        let refused = |why: String| Failure::Unreachable(format!("{name} cannot be read: {why}"));
        let (items, next) = match &self.pk {
            None => {
                let scan = client.scan().table_name(&name).limit(limit);
                let answer = scan.set_exclusive_start_key(after).send().await;
                let answer = answer.map_err(|e| refused(e.into_service_error().to_string()))?;
                (answer.items, answer.last_evaluated_key)
            }
            Some(pk) => {
                let query = client.query().table_name(&name).limit(limit);
                let query = query.set_exclusive_start_key(after);
                let query = query
                    .expression_attribute_names("#partition", partition)
                    .expression_attribute_values(":partition", AttributeValue::S(pk.clone()));
                let of_all = "#partition = :partition";
                let query = match &self.sk {
                    None => query.key_condition_expression(of_all),
                    Some(sk) => query
                        .key_condition_expression(format!("{of_all} AND begins_with(#sort, :sort)"))
                        .expression_attribute_names("#sort", sort)
                        .expression_attribute_values(":sort", AttributeValue::S(sk.clone())),
                };
                let answer = query.send().await;
                let answer = answer.map_err(|e| refused(e.into_service_error().to_string()))?;
                (answer.items, answer.last_evaluated_key)
            }
        };
        Ok((items.unwrap_or_default(), next))
    }

    /// What the address of it says.
    fn query(&self) -> Vec<(&'static str, String)> {
        let key = [("pk", self.pk.clone()), ("sk", self.sk.clone())];
        let key = key.into_iter().filter_map(|(name, text)| Some((name, text?)));
        [("table", self.table.name())].into_iter().chain(key).collect()
    }

    /// Where it goes on behind a key.
    fn behind(&self, key: &str) -> String {
        let query = self.query();
        let query = query.iter().map(|(name, value)| (*name, value.as_str()));
        named::address("tables", &query.chain([("after", key)]).collect::<Vec<_>>())
    }
}

pub(super) async fn view(State(console): Here, fields: Fields) -> Page {
    let shown = match Look::parse(&fields) {
        Ok(None) => suggested(&console).await,
        Ok(Some(look)) => layout::or_problem(found(&console, &look, &fields).await),
        Err(failure) => layout::problem(&failure),
    };
    let (of_periods, problem) = match of_periods(&console).await {
        Ok(tables) => (tables, html! {}),
        // The others can be chosen from.
        Err(failure) => (Vec::new(), layout::problem(&failure)),
    };
    let content = html! { (forms(&fields, &of_periods)) (problem) (shown) };
    layout::page(&console, Place::Tables, "Tables", content)
}

/// What is known, at one place where something of it is stored.
async fn suggested(console: &Console) -> Markup {
    let known = Suggestions::read(console).await;
    let kinds = [
        ("Timelines: ", &*known.followers, meaning::TIMELINE),
        ("Followers: ", &known.people, meaning::FOLLOWERS),
        ("Activities: ", &known.activities, meaning::ACTIVITY),
        ("Rooms: ", &known.rooms, meaning::ROOM),
        ("Polls: ", &known.polls, meaning::POLL),
        ("Battles: ", &known.battles, meaning::BATTLE),
        ("Tenants: ", &known.tenants, meaning::CUSTOMERS),
    ];
    let at = |shelf: &str, id: &str| named::address("tables", &[("what", shelf), ("id", id)]);
    html! {
        p class="quiet" { "Choose what to look at." }
        (suggestions::few(&kinds, at))
    }
}

async fn of_periods(console: &Console) -> Result<Vec<Table>, Failure> {
    let events = console.remote.events()?;
    Ok(Table::of_periods(&events.periods().newest_until(|_| false).await?))
}

fn forms(fields: &Fields, of_periods: &[Table]) -> Markup {
    let names: Vec<_> = Table::ALL.iter().chain(of_periods).map(|table| table.name()).collect();
    html! {
        form method="get" action="tables" class="row card" aria-label="Look up by id" {
            div class="field" {
                label for="what" { "Look up" }
                select #what name="what" {
                    @for (name, ..) in SHELVES { option value=(name) selected[fields.get("what") == Some(name)] { (name) } }
                }
            }
            (layout::input("id", "Id", fields.get("id"), true))
            button type="submit" { "Show" }
        }
        details class="card" open[fields.get("table").is_some()] {
            summary { "By key" }
            form method="get" action="tables" class="row" aria-label="Look up by key" {
                div class="field" {
                    label for="table" { "Table" }
                    select #table name="table" {
                        @for name in &names { option value=(name) selected[fields.get("table") == Some(name)] { (name) } }
                    }
                }
                (layout::input("pk", "Partition key (none: the whole table, page by page)", fields.get("pk"), false))
                (layout::input("sk", "Sort keys that begin with", fields.get("sk"), false))
                button type="submit" { "Show" }
            }
        }
    }
}

async fn found(console: &Console, look: &Look, fields: &Fields) -> Result<Markup, Failure> {
    let after = fields.get("after").map(start).transpose()?;
    let (items, next) = look.page(console, PAGE, after).await?;
    let next = next.map(|key| Value::Object(typed(&key)).to_string());
    let [partition, sort] = look.table.keys();
    let text = |item: &Item, name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default()
    };
    Ok(html! {
        p class="row" {
            span { strong { (look.table.name()) } @if let Some(pk) = &look.pk { ", partition " span class="code" { (pk) } } }
        }
        form method="post" action="export" class="row" {
            (layout::token(console)) (layout::hidden(&look.query()))
            button type="submit" class="second" { "Export all of it" }
            span class="quiet" { "One JSON object a line. It reads all of it, and costs that." }
        }
        @if items.is_empty() { p role="status" { "Nothing is stored there." } }
        ul class="entries" {
            @for item in &items {
                @let (pk, sk) = (text(item, partition), text(item, sort));
                li class="entry" {
                    strong { (look.table.meaning(&pk, &sk)) }
                    table {
                        tbody {
                            @for (name, value) in item.iter().collect::<BTreeMap<_, _>>() {
                                tr { th scope="row" { (name) } td class="code" { (short(&plain(value))) } }
                            }
                        }
                    }
                    details { summary { "Raw" } pre class="code" { (format!("{:#}", Value::Object(typed(item)))) } }
                }
            }
        }
        @if let Some(next) = &next {
            p { a rel="next" href=(look.behind(next)) { "More" } }
        }
    })
}

/// All items, a line each, read as they are taken.
pub(super) async fn export(State(console): Here, Wanted(fields): Wanted) -> Response {
    // The first page is read before the answer begins, so that what is not permitted is said as usual.
    let first = async {
        let look = Look::parse(&fields)?;
        let none = || Failure::Usage("Choose a table to export.".to_owned());
        let look = look.ok_or_else(none)?;
        let first = look.page(&console, EXPORT, None).await?;
        Ok::<_, Failure>((look, first))
    };
    let (look, first) = match first.await {
        Ok(found) => found,
        Err(failure) => return layout::failed(&console, Place::Tables, "Not exported", &failure),
    };
    let name = format!("attachment; filename=\"nagare-{}.jsonl\"", look.table.name());
    let pages = stream::try_unfold((Some(first), None), move |(read, next)| {
        let (console, look) = (Arc::clone(&console), look.clone());
        async move {
            let (items, next) = match (read, next) {
                (Some(read), _) => read,
                (None, None) => return Ok(None),
                (None, next) => {
                    look.page(&console, EXPORT, next).await.map_err(std::io::Error::other)?
                }
            };
            let lines: String = items.iter().map(line).collect();
            Ok::<_, std::io::Error>(Some((lines, (None, next))))
        }
    });
    let headers = [(CONTENT_TYPE, "application/x-ndjson".to_owned()), (CONTENT_DISPOSITION, name)];
    (headers, Body::from_stream(pages)).into_response()
}

/// A value as people read it.
fn plain(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!(text),
        AttributeValue::N(number) => json!(number),
        AttributeValue::Bool(truth) => json!(truth),
        AttributeValue::Null(_) => Value::Null,
        AttributeValue::B(bytes) => json!(format!("{} bytes", bytes.as_ref().len())),
        AttributeValue::Ss(texts) | AttributeValue::Ns(texts) => json!(texts),
        AttributeValue::Bs(all) => json!(format!("{} texts of bytes", all.len())),
        AttributeValue::L(all) => all.iter().map(plain).collect(),
        AttributeValue::M(all) => {
            Value::Object(all.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        _ => json!("of a type that is not known"),
    }
}

/// A value as DynamoDB's JSON has it.
fn raw(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Bool(truth) => json!({ "BOOL": truth }),
        AttributeValue::Null(truth) => json!({ "NULL": truth }),
        AttributeValue::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(all) => {
            json!({ "BS": all.iter().map(|bytes| STANDARD.encode(bytes)).collect::<Vec<_>>() })
        }
        AttributeValue::L(all) => json!({ "L": all.iter().map(raw).collect::<Vec<_>>() }),
        AttributeValue::M(all) => json!({ "M": typed(all) }),
        _ => Value::Null,
    }
}

fn typed(item: &Item) -> Map<String, Value> {
    let sorted: BTreeMap<_, _> = item.iter().collect();
    sorted.into_iter().map(|(name, value)| (name.clone(), raw(value))).collect()
}

/// An item on a line of its own, as JSON that steers no terminal.
fn line(item: &Item) -> String {
    format!("{}\n", visible_json(&Value::Object(typed(item)).to_string()))
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Where to go on, as an address says it: texts alone, since all keys are texts.
fn start(text: &str) -> Result<Item, Failure> {
    let wrong = || Failure::Usage("after: expected a key, as the link \"More\" has it".to_owned());
    let key: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(text).map_err(|_| wrong())?;
    let each = key
        .into_iter()
        .map(|(name, mut value)| Some((name, AttributeValue::S(value.remove("S")?))));
    each.collect::<Option<Item>>().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn where_to_go_on_survives_an_address() {
        let key = Item::from([
            ("pk".to_owned(), AttributeValue::S("a#1".to_owned())),
            ("sk".to_owned(), AttributeValue::S("\"<&".to_owned())),
        ]);
        let text = Value::Object(typed(&key)).to_string();
        assert_eq!(start(&text).unwrap(), key);
        assert!(start("[]").is_err());
    }

    #[test]
    fn values_are_read_and_kept() {
        let list = AttributeValue::L(vec![
            AttributeValue::N("1.50".to_owned()),
            AttributeValue::Bool(true),
        ]);
        assert_eq!(plain(&list), json!(["1.50", true]));
        assert_eq!(raw(&list), json!({"L": [{"N": "1.50"}, {"BOOL": true}]}));
        assert_eq!(short(&json!("é".repeat(SHOWN + 1))).chars().count(), SHOWN + 1);
    }
}

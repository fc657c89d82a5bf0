//! Rules and their alerts: each once, whatever dies; listed as the definitions in force ask for.

mod folded;
mod superseded;

use std::collections::BTreeSet;

use function_http::Authorization;
use nagare_local::faults::Fault;
use serde_json::{Value, json};
use shared::history::events::{Customer, PeriodLength};
use shared::history::summaries::{CustomerSummary, Snapshot};
use shared::history::tenants::{Customers, Decided, Definitions, Rules, When};
use shared::platform::values::{CustomerId, EventName, TenantId, Timestamp};
use tests::World;

use crate::platform::blows::{Blow, Steps};

const PATH: &str = "/v1/tenants/acme/alerts";

fn defined(rule: &str, at: &str, when: &Value) -> Value {
    let at = format!("2026-11-20T{at}:00Z");
    json!({"type": "rule.defined", "tenant_id": "acme", "rule_id": rule, "at": at, "when": when})
}

fn deleted(rule: &str, at: &str) -> Value {
    let at = format!("2026-11-20T{at}:00Z");
    json!({"type": "rule.deleted", "tenant_id": "acme", "rule_id": rule, "at": at})
}

fn logins(count: u64, within: &str) -> Value {
    json!({"event": "login", "count": count, "within": within})
}

fn customer(id: &str) -> Customer {
    let (tenant_id, customer_id) = (TenantId::new("acme"), CustomerId::new(id));
    Customer { tenant_id: tenant_id.unwrap(), customer_id: customer_id.unwrap() }
}

fn on(customer: &Customer, summary: &CustomerSummary) -> Snapshot {
    Snapshot { customer: customer.clone(), summary: summary.clone(), life: 0 }
}

/// What a customer did: logins at these instants.
fn summary(at: &[&str]) -> CustomerSummary {
    let mut summary = CustomerSummary::default();
    let login = EventName::new("login").unwrap();
    at.iter().for_each(|at| summary.count(&login, at.parse().unwrap()));
    summary
}

fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

fn login() -> BTreeSet<EventName> {
    BTreeSet::from([EventName::new("login").unwrap()])
}

fn rules(world: &World) -> Rules {
    Rules::new(&world.writer.ledger, &world.writer.views)
}

async fn decide(world: &World, id: &str, summary: &CustomerSummary) {
    let rules = rules(world);
    for rule in rules.counting(&tenant(), &login()).await.unwrap() {
        let decided = rules.decide(&rule, &on(&customer(id), summary), world.clock.now()).await;
        assert_eq!(decided.unwrap(), Decided::Done);
    }
}

async fn listed(world: &World, query: &str) -> Vec<Value> {
    let (status, _, body) = world.get(PATH, query).await;
    assert_eq!(status, 200, "{body}");
    body["items"].as_array().unwrap().clone()
}

fn said(alerts: &[Value]) -> BTreeSet<String> {
    let said: BTreeSet<_> = alerts
        .iter()
        .map(|it| format!("{} {}", it["rule_id"], it["period"]).replace('"', ""))
        .collect();
    assert_eq!(said.len(), alerts.len(), "one is listed twice: {alerts:?}");
    said
}

async fn in_force(world: &World) -> Vec<(String, String)> {
    let definitions = Definitions::new(&world.writer.ledger);
    let rules = definitions.in_force(&customer("c").tenant_id).await.unwrap().rules;
    rules.into_iter().map(|it| (it.rule_id.to_string(), it.when.to_string())).collect()
}

#[tokio::test]
async fn the_latest_definition_wins_whatever_the_order() {
    let commands = [
        defined("a", "11:00", &logins(1, "day")),
        defined("a", "11:01", &logins(2, "day")),
        defined("a", "11:01", &logins(3, "day")),
        defined("b", "11:02", &logins(1, "ever")),
        deleted("b", "11:02"),
    ];
    for turn in 0..commands.len() {
        let world = World::new();
        let mut commands = commands.to_vec();
        commands.rotate_left(turn);
        if turn % 2 == 1 {
            commands.reverse();
        }
        world.done(&commands).await;
        world.done(&commands).await;
        let greatest = When::parse(&logins(3, "day").to_string()).unwrap().to_string();
        assert_eq!(in_force(&world).await, [("a".to_owned(), greatest)], "{turn}");
    }
}

#[tokio::test]
async fn a_tenant_has_room_for_so_many_rules() {
    let world = World::new();
    let rules = (0..100).map(|nth| defined(&format!("r{nth}"), "11:00", &logins(1, "day")));
    world.done(&rules.collect::<Vec<_>>()).await;
    let letters = async || world.dead_letters().await.len();
    assert_eq!(letters().await, 0);
    let more = defined("more", "11:00", &logins(1, "day"));
    world.write(&[&more.to_string()], 1).await;
    assert_eq!(letters().await, 1);
    assert_eq!(in_force(&world).await.len(), 100);
    // One that is there may be defined again, and one that was deleted makes room.
    world.done(&[defined("r1", "11:01", &logins(2, "day")), deleted("r2", "11:01"), more]).await;
    assert_eq!(in_force(&world).await.len(), 100);
}

#[tokio::test]
async fn what_is_said_of_a_customer_last_is_kept() {
    let world = World::new();
    let update = |minute: u8, name: &str| {
        let at = format!("2026-11-20T11:0{minute}:00Z");
        json!({"type": "customer.updated", "tenant_id": "acme", "customer_id": "c-9", "at": at, "payload": {"name": name}})
    };
    world.done(&[update(2, "b"), update(1, "c"), update(2, "a")]).await;
    let customers = Customers::new(&world.writer.ledger);
    let kept = customers.get(&customer("c-9")).await.unwrap().unwrap();
    assert_eq!(kept.payload.as_json(), r#"{"name":"b"}"#);
    let (page, more) = customers.page(&customer("c").tenant_id, None, 1).await.unwrap();
    assert_eq!((page[0].0.as_str(), page.len()), ("c-9", 1));
    let after = customers.page(&customer("c").tenant_id, Some(&page[0].0), 1).await.unwrap();
    assert!(after.0.is_empty() && more, "{after:?}");
}

#[tokio::test]
async fn a_count_that_is_reached_gives_one_alert_for_each_period() {
    let world = World::new();
    let rules = [("day", "d"), ("week", "w"), ("month", "m"), ("ever", "e")];
    world.done(&rules.map(|(within, id)| defined(id, "11:00", &logins(2, within)))).await;
    let mut at = vec!["2026-11-02T00:00:00Z", "2026-11-08T23:59:59.999Z"];
    decide(&world, "c-9", &summary(&at)).await;
    let week = ["e ever", "m 2026-11", "w 2026-W45"].map(ToOwned::to_owned);
    assert_eq!(said(&listed(&world, "").await), BTreeSet::from(week.clone()));
    at.extend(["2026-11-02T10:00:00Z", "2026-10-31T23:59:59Z", "2026-11-01T00:00:00Z"]);
    decide(&world, "c-9", &summary(&at)).await;
    decide(&world, "c-9", &summary(&at)).await;
    let alerts = listed(&world, "").await;
    let expected = week.into_iter().chain(["d 2026-11-02", "w 2026-W44"].map(ToOwned::to_owned));
    assert_eq!(said(&alerts), expected.collect());
    let first = &alerts[0];
    assert_eq!(first["decided_on"], json!({"events": 2}));
    assert_eq!((&first["state"], &first["customer_id"]), (&json!("unread"), &json!("c-9")));
    assert!(first["decided_at"].as_str().unwrap().starts_with("2026-11-20T"), "{first}");
    assert!(first["alert_id"].as_str().unwrap().len() == 32 && first.get("day").is_none());
    // Nothing of another tenant.
    assert_eq!(world.get("/v1/tenants/other/alerts", "").await.2["items"], json!([]));
}

#[tokio::test]
async fn alerts_of_what_is_no_longer_defined_are_passed() {
    let world = World::new();
    let once = summary(&["2026-11-02T00:00:00Z"]);
    world
        .done(&[
            defined("a", "11:00", &logins(1, "day")),
            defined("b", "11:00", &logins(1, "ever")),
        ])
        .await;
    decide(&world, "c-9", &once).await;
    world.done(&[deleted("b", "11:01"), defined("a", "11:01", &logins(1, "day"))]).await;
    assert_eq!(listed(&world, "").await, [] as [Value; 0]);
    let before = listed(&world, "").await;
    decide(&world, "c-9", &once).await;
    assert_eq!(said(&listed(&world, "").await), BTreeSet::from(["a 2026-11-02".to_owned()]));
    assert_eq!(before.len(), 0);
}

#[tokio::test]
async fn what_was_read_stays_read_and_pages_skip_nothing() {
    let mut world = World::new();
    world.done(&[defined("a", "11:00", &logins(1, "day"))]).await;
    let days = (1..=9).map(|day| format!("2026-11-0{day}T12:00:00Z")).collect::<Vec<_>>();
    let all = summary(&days.iter().map(String::as_str).collect::<Vec<_>>());
    decide(&world, "c-9", &all).await;
    let alerts = listed(&world, "").await;
    assert_eq!(alerts.len(), 9);
    let read = json!({"type": "alerts.read", "tenant_id": "acme",
        "read": [{"alert_id": alerts[3]["alert_id"]}, {"alert_id": "unknown"}]});
    world.done(&[read.clone(), read]).await;
    // Whoever has no memory of what was decided decides it again, and changes nothing.
    let forgotten =
        shared::history::tenants::keys::decided(&customer("c-9"), &"a".parse().unwrap());
    world.writer.ledger.clone().delete(forgotten).await.unwrap();
    decide(&world, "c-9", &all).await;
    let expected: Vec<_> =
        (0..9).filter(|nth| *nth != 3).map(|nth| alerts[nth]["alert_id"].clone()).collect();
    let (mut paged, mut query) = (Vec::new(), "state=unread&limit=3".to_owned());
    loop {
        let (_, _, page) = world.get(PATH, &query).await;
        paged.extend(page["items"].as_array().unwrap().iter().map(|it| it["alert_id"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("limit=3&cursor={next}");
        assert_eq!(world.get("/v1/tenants/other/alerts", &query).await.0, 400);
    }
    assert_eq!(paged, expected);
    assert_eq!(listed(&world, "").await[3]["state"], "read");
    assert_eq!(world.get(PATH, "state=read").await.2["parameter"], "state");
    world.set_authorization(Authorization::Jwt);
    assert_eq!(world.request("GET", PATH, "", Some("bob")).await.0, 403);
}

/// A decision that dies at any call, or whose call goes wrong, is made again. Returns how many calls there were.
async fn decided_twice(blow: Option<(usize, Blow)>) -> usize {
    let steps = Steps::with(blow);
    let world = World::behind(|inside| steps.before(inside));
    let counted = summary(&["2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"]);
    world.done(&[defined("a", "11:00", &logins(1, "day"))]).await;
    let before = steps.taken();
    let rules = rules(&world);
    for minute in 0..3 {
        world.set_clock(&format!("2026-11-20T12:0{minute}:00Z"));
        let on = on(&customer("c-9"), &counted);
        let decision = async {
            for rule in rules.counting(&tenant(), &login()).await? {
                let decided = rules.decide(&rule, &on, world.clock.now()).await?;
                assert_eq!(decided, Decided::Done);
            }
            Ok::<_, shared::history::tenants::DecideError>(())
        };
        tokio::select! {
            decided = decision => if decided.is_ok() { break },
            () = steps.died() => {}
        }
    }
    let alerts = listed(&world, "").await;
    let expected = ["a 2026-11-02", "a 2026-11-03"].map(ToOwned::to_owned);
    assert_eq!(said(&alerts), BTreeSet::from(expected), "{blow:?}");
    assert!(blow.is_none_or(|(at, _)| at >= before), "it struck the definition");
    steps.taken() - before
}

#[tokio::test]
async fn each_alert_comes_once_whatever_dies() {
    let calls = decided_twice(None).await;
    let setup = setup_calls().await;
    let blows = [
        Blow::DiesBefore,
        Blow::DiesAfter,
        Blow::Fails(Fault::LostAnswer),
        Blow::Fails(Fault::Denied),
    ];
    // The last two calls are those of the reader.
    assert!(calls >= 5, "{calls}");
    for blow in blows {
        for at in setup..setup + calls - 2 {
            decided_twice(Some((at, blow))).await;
        }
    }
}

async fn setup_calls() -> usize {
    let steps = Steps::with(None);
    let world = World::behind(|inside| steps.before(inside));
    world.done(&[defined("a", "11:00", &logins(1, "day"))]).await;
    steps.taken()
}

/// Events and definitions in any order, decided after each: what is listed is the recount.
#[tokio::test]
async fn what_is_listed_is_a_recount_of_the_commands() {
    for seed in 0..12 {
        let mut random = fastrand::Rng::with_seed(seed);
        let world = World::new();
        let (mut at, mut all) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            if random.bool() {
                let (day, hour) = (random.u8(1..20), random.u8(0..24));
                at.push(format!("2026-11-{day:02}T{hour:02}:00:00Z"));
            } else {
                let rule = random.choice(["a", "b"]).unwrap();
                let minute = format!("11:{:02}", random.u8(0..20));
                let within = random.choice(["day", "week", "month", "ever"]).unwrap();
                let command = match random.u8(0..4) {
                    0 => deleted(rule, &minute),
                    _ => defined(rule, &minute, &logins(random.u64(1..4), within)),
                };
                world.done(std::slice::from_ref(&command)).await;
                all.push(command);
            }
            decide(&world, "c-9", &summary(&at.iter().map(String::as_str).collect::<Vec<_>>()))
                .await;
        }
        let mut expected = BTreeSet::new();
        for rule in ["a", "b"] {
            let of_rule = all.iter().filter(|it| it["rule_id"] == rule);
            let wins = |it: &&Value| {
                let when =
                    it.get("when").map(|when| When::parse(&when.to_string()).unwrap().to_string());
                (it["at"].to_string(), when.is_none(), when)
            };
            let Some(when) = of_rule.max_by_key(wins).and_then(|it| it.get("when")) else {
                continue;
            };
            let within = when["within"].as_str().unwrap();
            let named = |at: &String| {
                let at: Timestamp = at.parse().unwrap();
                match within {
                    "ever" => "ever".to_owned(),
                    _ => within.parse::<PeriodLength>().unwrap().period_of(at).to_string(),
                }
            };
            for period in at.iter().map(named).collect::<BTreeSet<_>>() {
                let count = at.iter().filter(|at| named(at) == period).count() as u64;
                if count >= when["count"].as_u64().unwrap() {
                    expected.insert(format!("{rule} {period}"));
                }
            }
        }
        assert_eq!(said(&listed(&world, "limit=100").await), expected, "seed {seed}");
    }
}

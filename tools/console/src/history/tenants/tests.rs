#![allow(clippy::unwrap_used)]

use http::StatusCode;
use nagare_client::remote::Remote;
use nagare_client::running::Note;
use nagare_client::target::Target;
use shared::history::summaries::Summaries;
use shared::platform::dynamo::item::text;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::env;

use crate::console::Mode;
use crate::tests::{Fixture, HTML, account};

const CUSTOMER: &str = "/console/customer?tenant=acme&id=c-9";
const ALERTS: &str = "/console/tenant?id=acme&show=alerts";
const RULES: &str = "/console/tenant?id=acme&show=rules";

/// What somebody does, by the form: when, and as which event, is made for them.
async fn does(console: &Fixture, name: &str) {
    console
        .apply(&[
            ("type", "event.recorded"),
            ("f.tenant_id", "acme"),
            ("f.customer_id", "c-9"),
            ("f.name", name),
        ])
        .await;
}

async fn define(console: &Fixture, command: &str, more: &[(&str, &str)]) {
    let of = [("type", command), ("f.tenant_id", "acme")];
    console.apply(&[&of[..], more].concat()).await;
}

#[tokio::test]
async fn what_a_customer_did_is_shown_by_name_and_day_and_leads_on() {
    let console = Fixture::new(Mode::Write, None).await;
    let nobody = console.get(CUSTOMER).await.text;
    assert!(nobody.contains("Nothing is known of this customer yet."), "{nobody}");
    define(
        &console,
        "score.defined",
        &[
            ("f.score_id", "health"),
            ("f.base", "-7"),
            ("f.measures", r#"[{"event":"login","days":28,"points":20,"most":60}]"#),
        ],
    )
    .await;
    let payload = format!(r#"{{"name":"{HTML}"}}"#);
    let said = [("f.customer_id", "c-9"), ("f.payload", payload.as_str())];
    define(&console, "customer.updated", &said).await;
    for name in ["login", "login", "upload"] {
        does(&console, name).await;
    }
    let page = console.until(CUSTOMER, "3 events").await.text;
    // Two logins of 20 points each, and seven fewer.
    assert!(page.contains("33 of 100"), "{page}");
    assert!(page.contains("&lt;script&gt;") && !page.contains(HTML), "{page}");
    let today = Clock::system().now().to_string();
    let today = &today[.."2026-11-20".len()];
    for bar in [format!("<title>{today}: 3</title>"), format!("<title>{today}: 2</title>")] {
        assert!(page.contains(&bar), "{bar} in {page}");
    }
    for (link, says) in [
        ("name?tenant=acme&amp;name=login", "2 events in the last 60 days"),
        ("history?tenant=acme&amp;customer=c-9", "What it comes to"),
    ] {
        assert!(page.contains(link), "{link} in {page}");
        let led = console.get(&format!("/console/{}", link.replace("&amp;", "&"))).await.text;
        assert!(led.contains(says), "{led}");
    }
    let listed = console.get("/console/tenant?id=acme").await.text;
    let link = "customer?tenant=acme&amp;id=c-9";
    assert!(listed.contains(link) && listed.contains("health 33"), "{listed}");
    let names = console.get("/console/tenant?id=acme&show=names").await.text;
    assert!(names.contains("name?tenant=acme&amp;name=upload"), "{names}");
    let tenants = console.until("/console/tenants", "3 events").await.text;
    assert!(tenants.contains("/console/tenant?id=acme"), "{tenants}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn an_alert_is_unread_until_its_button_is_pressed() {
    let console = Fixture::new(Mode::Write, None).await;
    let when = r#"{"event":"login","count":1,"within":"ever"}"#;
    define(&console, "rule.defined", &[("f.rule_id", "activated"), ("f.when", when)]).await;
    does(&console, "login").await;
    let page = console.until(ALERTS, "Mark as read").await.text;
    assert!(page.contains("customer?tenant=acme&amp;id=c-9") && page.contains("activated"));
    let field = page.split("name=\"f.read\" value=\"").nth(1).unwrap();
    let read = field.split_once('"').unwrap().0.replace("&quot;", "\"");
    define(&console, "alerts.read", &[("f.read", &read)]).await;
    let unread = format!("{ALERTS}&state=unread");
    let page = console.get(&unread).await.text;
    assert!(!page.contains("activated") && page.contains("Nothing here."), "{page}");
    let page = console.get(ALERTS).await.text;
    assert!(page.contains("activated") && !page.contains("Mark as read"), "{page}");
    console.stack.shut_down().await;
}

/// An alert that somebody has listed by hand.
#[tokio::test]
async fn an_alert_that_nobody_asks_for_is_found_and_no_repair_is_offered() {
    let console = Fixture::new(Mode::Write, None).await;
    let when = r#"{"event":"login","count":1,"within":"ever"}"#;
    define(&console, "rule.defined", &[("f.rule_id", "activated"), ("f.when", when)]).await;
    does(&console, "login").await;
    let page = console.until(ALERTS, "Mark as read").await.text;
    assert!(page.contains("href=\"audit?tenant=acme\""), "{page}");
    let form = console.get("/console/audit?tenant=acme").await.text;
    assert!(
        form.contains("Compare what is filled in") && form.contains("value=\"acme\""),
        "{form}"
    );
    let audit = async |of: &[(&str, &str)]| console.submit("/console/audit", of).await.text;
    let right = audit(&[("tenant", "acme")]).await;
    assert!(right.contains("No difference: 1 compared."), "{right}");

    let tables = nagare_client::local_stack::dynamodb_over_http(
        console.stack.variable(env::DYNAMODB_ENDPOINT).unwrap(),
    );
    let ledger = console.stack.variable(env::LEDGER_TABLE).unwrap();
    let listed = tables.query().table_name(ledger).key_condition_expression("pk = :pk");
    let listed = listed.expression_attribute_values(":pk", text("tenant#acme#alerts"));
    let mut alert = listed.send().await.unwrap().items.unwrap().remove(0);
    let (at, _) = alert["sk"].as_s().unwrap().split_once('#').unwrap();
    let sk = text(format!("{at}#other"));
    alert.extend([("sk".to_owned(), sk), ("customer".to_owned(), text("c-8"))]);
    tables.put_item().table_name(ledger).set_item(Some(alert)).send().await.unwrap();
    let found = audit(&[("tenant", "acme")]).await;
    for said in ["1 difference in 1 compared", "other", "is listed, and not asked for"] {
        assert!(found.contains(said), "{said} in {found}");
    }
    assert!(
        found.contains("docs/OPERATIONS.md") && !found.contains("action=\"repair\""),
        "{found}"
    );
    let of_one = audit(&[("tenant", "acme"), ("customer", "c-9")]).await;
    assert!(of_one.contains("No difference: 1 compared."), "{of_one}");
    let of_whom = audit(&[("customer", "c-9")]).await;
    assert!(of_whom.contains("expected the tenant as well"), "{of_whom}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn rules_and_scores_are_listed_with_what_changes_and_deletes_them() {
    let console = Fixture::new(Mode::Write, None).await;
    define(&console, "rule.defined", &[("f.rule_id", "gone"), ("f.when", r#"{"silent_days":14}"#)])
        .await;
    let score = [
        ("f.score_id", "health"),
        ("f.base", "40"),
        ("f.measures", r#"[{"event":"login","days":28,"points":-3,"most":60}]"#),
        ("f.alert_below", "30"),
    ];
    define(&console, "score.defined", &score).await;
    let page = console.get(RULES).await.text;
    for said in ["14 days of silence", "40", " − 3 × ", "(at most 60)", "tells below 30"] {
        assert!(page.contains(said), "{said} in {page}");
    }
    // The link to change one fills in the form with what it says now.
    let link = page.split("href=\"").find(|it| {
        it.starts_with("commands?type=score.defined&amp;f.tenant_id=acme&amp;f.score_id")
    });
    let form = link.unwrap().split_once('"').unwrap().0.replace("&amp;", "&");
    let form = console.get(&format!("/console/{form}")).await.text;
    assert!(form.contains(r#"value="health""#) && form.contains("&quot;points&quot;:-3"), "{form}");
    let delete = [("f.rule_id", "gone"), ("back", "tenant?id=acme&show=rules")];
    define(&console, "rule.deleted", &delete).await;
    let page = console.get(RULES).await.text;
    assert!(!page.contains("14 days of silence") && page.contains("health"), "{page}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn a_console_that_only_looks_offers_no_change_of_a_tenant() {
    let console = Fixture::new(Mode::ReadOnly, Some(account())).await;
    for view in ["/console/tenants", "/console/tenant?id=acme", CUSTOMER, ALERTS, RULES] {
        let page = console.get(view).await;
        assert_eq!(page.status, StatusCode::OK, "{view}");
        assert!(!page.text.contains("role=\"alert\""), "{view}: {}", page.text);
        assert!(!page.text.contains("action=\"send\""), "{view}: {}", page.text);
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn what_no_tenant_has_says_so_in_its_place() {
    let console = Fixture::new(Mode::Write, None).await;
    for (view, says) in [
        ("/console/tenant?id=a%20b", "role=\"alert\""),
        ("/console/tenant?id=acme&show=secrets", "There is no such section."),
        ("/console/tenants?period=1999", "role=\"alert\""),
        ("/console/name?tenant=acme&name=login", "There is no event of this name yet."),
        ("/console/tenant?id=acme", "No customer of acme is known here."),
    ] {
        let page = console.get(view).await;
        assert_eq!(page.status, StatusCode::OK, "{view}");
        assert!(page.text.contains(says), "{view}: {}", page.text);
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn tenants_of_a_period_come_page_by_page_and_none_twice() {
    let console = Fixture::new(Mode::Write, None).await;
    for (tenant, customer) in [("c", "c-1"), ("a", "c-1"), ("b", "c-1"), ("a", "c-2")] {
        console
            .apply(&[
                ("type", "event.recorded"),
                ("f.tenant_id", tenant),
                ("f.customer_id", customer),
                ("f.name", "login"),
            ])
            .await;
    }
    let note = Note::new(console.stack.port(), console.stack.environment());
    let remote = Remote::connect(Target::Local(note)).await.unwrap();
    let summaries = Summaries::new(&remote.views().unwrap());
    let period = remote.event_settings().unwrap().period_of(Clock::system().now());
    let of = async |period, limit| {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = summaries.tenants(period, after.as_ref(), limit).await.unwrap();
            let tenants = page.tenants.iter();
            pages.push(tenants.map(|(tenant, n)| format!("{tenant} {n}")).collect::<Vec<_>>());
            after = page.next;
            if after.is_none() {
                return pages;
            }
        }
    };
    console.until("/console/tenants", "2 events").await;
    for tenant in ["b", "c"] {
        console.until("/console/tenants", &format!(">{tenant}</a>")).await;
    }
    assert_eq!(of(period, 2).await, [vec!["a 2", "b 1"], vec!["c 1"]]);
    assert_eq!(of(period, 3).await, [vec!["a 2", "b 1", "c 1"]]);
    assert_eq!(of(period.previous(), 2).await, [Vec::<String>::new()]);
    // The table of the period can be chosen, and says what is in it.
    let picker = console.get("/console/tables").await.text;
    assert!(picker.contains(&format!("<option value=\"events-{period}\">")), "{picker}");
    let table = format!("/console/tables?table=events-{period}&pk=a%23c-2");
    let table = console.get(&table).await.text;
    assert!(table.matches("of a#c-2, at ").count() == 1, "{table}");
    console.stack.shut_down().await;
}

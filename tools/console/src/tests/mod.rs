//! A console in front of a whole stack, asked as a browser asks.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod doors;

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use http::header::{CONTENT_SECURITY_POLICY, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use http::{Request, StatusCode};
use nagare_client::remote::Remote;
use nagare_client::running::Note;
use nagare_client::target::Target;
use nagare_local::{Stack, StackConfig};
use nagare_telemetry::LocalTelemetry;
use shared::platform::runtime::env;
use tower::ServiceExt;

use crate::access::Access;
use crate::account::Account;
use crate::address::PATH;
use crate::console::{Console, Mode};

pub(super) const HTML: &str = r#"<script>alert(1)</script>"#;

/// An account that there is not.
pub(super) fn account() -> Account {
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/nagare-commands";
    Account::of_queue(queue, None).unwrap()
}

/// A stack, and a console for it.
pub(super) struct Fixture {
    pub(super) stack: Stack,
    pub(super) telemetry: LocalTelemetry,
    router: Router,
    /// The printed address, below that of the port.
    door: String,
    /// What somebody's browser has who came by it.
    cookie: String,
    token: String,
}

/// An answer.
pub(super) struct Page {
    pub(super) status: StatusCode,
    location: String,
    cookie: String,
    policy: String,
    pub(super) text: String,
}

impl Fixture {
    pub(super) async fn new(mode: Mode, account: Option<Account>) -> Self {
        Self::of(
            |remote| Console {
                account,
                ..Console::new(remote, mode, Access::of_run(3000)).unwrap()
            },
            &LocalTelemetry::default(),
        )
        .await
    }

    /// A console in the process of its stack.
    pub(super) async fn inside() -> Self {
        let inside = LocalTelemetry::default();
        let console = |remote| {
            Console::new(remote, Mode::Write, Access::of_run(3000))
                .unwrap()
                .with_telemetry(inside.clone())
        };
        Self::of(console, &inside).await
    }

    async fn of(console: impl FnOnce(Remote) -> Console, telemetry: &LocalTelemetry) -> Self {
        let config = StackConfig { telemetry: telemetry.clone(), ..StackConfig::default() };
        let stack = Stack::start(config).await.unwrap();
        let note = Note::new(stack.port(), stack.environment());
        let console = console(Remote::connect(Target::Local(note)).await.unwrap());
        let (token, door) = (console.token.clone(), console.access.address(""));
        let (telemetry, router, cookie) = (telemetry.clone(), console.router(), String::new());
        let console = Self { stack, telemetry, router, door, cookie, token };
        let entered = console.get(&console.door).await;
        let cookie = entered.cookie.split(';').next().unwrap().to_owned();
        Self { cookie, ..console }
    }

    async fn writing() -> Self {
        Self::new(Mode::Write, None).await
    }

    async fn ask(&self, request: Request<Body>) -> Page {
        let Ok(answer) = self.router.clone().oneshot(request).await;
        let (head, body) = answer.into_parts();
        let text = |name| {
            head.headers.get(name).map(|it: &http::HeaderValue| it.to_str().unwrap().to_owned())
        };
        let [location, cookie, policy] = [LOCATION, SET_COOKIE, CONTENT_SECURITY_POLICY]
            .map(|name| text(name).unwrap_or_default());
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Page {
            status: head.status,
            location,
            cookie,
            policy,
            text: String::from_utf8(body.into()).unwrap(),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Page {
        self.ask(Request::get(path).header(COOKIE, &self.cookie).body(Body::empty()).unwrap()).await
    }

    pub(super) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.ask(Request::post(path).header(COOKIE, &self.cookie).body(Body::from(body)).unwrap())
            .await
    }

    /// The same with the token of this process.
    pub(super) async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let fields: Vec<_> =
            [("token", self.token.as_str())].into_iter().chain(fields.iter().copied()).collect();
        self.post(path, &fields).await
    }

    /// Asks until the answer says something.
    pub(super) async fn until(&self, path: &str, says: &str) -> Page {
        loop {
            let page = self.get(path).await;
            if page.text.contains(says) {
                return page;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Sends a command by its form, and waits until it is in effect.
    pub(super) async fn apply(&self, fields: &[(&str, &str)]) {
        let sent = self.submit("/console/send", fields).await;
        assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
        self.until(&sent.location, "applied in").await;
    }
}

fn publish(activity: &str) -> Vec<(&str, &str)> {
    vec![
        ("type", "activity.published"),
        ("f.activity_id", activity),
        ("f.actor_id", "anna"),
        ("f.kind", "live"),
    ]
}

const FOLLOW: [(&str, &str); 3] =
    [("type", "follow.created"), ("f.follower_id", "bob"), ("f.followee_id", "anna")];

#[tokio::test]
async fn pages_elsewhere_are_refused() {
    let console = Fixture::writing().await;
    for (origin, status) in [
        (None, StatusCode::OK),
        (Some("http://127.0.0.1:3000"), StatusCode::OK),
        (Some("http://127.0.0.1:5173"), StatusCode::FORBIDDEN),
        (Some("https://127.0.0.1:3000"), StatusCode::FORBIDDEN),
        (Some("http://evil.example"), StatusCode::FORBIDDEN),
        (Some("null"), StatusCode::FORBIDDEN),
    ] {
        let request = Request::get("/console/").header(HOST, "127.0.0.1:3000");
        let request = request.header(COOKIE, &console.cookie);
        let request =
            origin.into_iter().fold(request, |request, origin| request.header(ORIGIN, origin));
        let page = console.ask(request.body(Body::empty()).unwrap()).await;
        assert_eq!(page.status, status, "{origin:?}");
        assert!(page.policy.starts_with("default-src 'none'"), "{}", page.policy);
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn a_form_without_its_token_sends_nothing() {
    let console = Fixture::writing().await;
    let mut fields = FOLLOW.to_vec();
    assert_eq!(console.post("/console/send", &fields).await.status, StatusCode::FORBIDDEN);
    fields.push(("token", "00000000000000000000000000000000"));
    assert_eq!(console.post("/console/send", &fields).await.status, StatusCode::FORBIDDEN);
    assert!(console.get("/console/commands").await.text.contains("Nothing yet."));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn what_is_published_is_on_the_followers_timeline_as_text() {
    let console = Fixture::writing().await;
    console.apply(&FOLLOW).await;
    let payload = format!(r#"{{"title":"{HTML}"}}"#);
    let mut fields = publish("live-1");
    fields.push(("f.payload", &payload));
    console.apply(&fields).await;
    let page = console.get("/console/timeline?viewer=bob").await;
    assert!(page.text.contains("live-1") && !page.text.contains(HTML), "{}", page.text);
    assert!(page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.text.contains("<dt>read units</dt>"));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn a_read_only_console_changes_nothing() {
    let console = Fixture::new(Mode::ReadOnly, None).await;
    let refused = console.submit("/console/send", &FOLLOW).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.text.contains("nagare console --write"));
    let form = console.get("/console/commands").await.text;
    assert!(form.contains("<button type=\"submit\" disabled>"), "{form}");
    console.stack.shut_down().await;
}

/// Each change is asked about once more, with the account's number to be typed.
#[tokio::test]
async fn a_real_account_is_named_before_it_changes() {
    let account = account();
    let console = Fixture::new(Mode::Write, Some(account)).await;
    for answer in [None, Some("yes"), Some("123456789013")] {
        let mut fields = FOLLOW.to_vec();
        fields.extend(answer.map(|answer| ("confirmed", answer)));
        let asked = console.submit("/console/send", &fields).await;
        assert_eq!(asked.status, StatusCode::OK);
        assert!(asked.text.contains("This changes account 123456789012 in eu-west-1."));
    }
    assert!(console.get("/console/commands").await.text.contains("Nothing yet."));
    let mut fields = FOLLOW.to_vec();
    fields.push(("confirmed", "123456789012"));
    console.apply(&fields).await;
    console.stack.shut_down().await;
}

#[tokio::test]
async fn fields_that_are_wrong_are_named_and_kept() {
    let console = Fixture::writing().await;
    let hit = [
        ("type", "battle.hit"),
        ("f.battle_id", "dragon-1"),
        ("f.viewer_id", "bob"),
        ("f.damage", "a lot"),
    ];
    let page = console.submit("/console/send", &hit).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert!(page.text.contains("expected a whole number") && page.text.contains("value=\"a lot\""));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn a_bad_command_is_a_letter_that_can_be_sent_again_and_dropped() {
    let console = Fixture::writing().await;
    let bad = [("body", r#"{"type":"follow.created"}"#)];
    assert_eq!(console.submit("/console/send", &bad).await.status, StatusCode::BAD_REQUEST);
    let sent = console.submit("/console/send", &[bad[0], ("anyway", "true")]).await;
    let page = console.until(&sent.location, "dead letter (").await;
    let id = sent.location.split_once("id=").unwrap().1;
    assert!(page.text.contains(&format!("letter?id={id}")));
    let queues = console.get("/console/queues").await.text;
    assert!(queues.contains(id), "{queues}");
    assert_eq!(
        console.submit("/console/redrive", &[("id", id)]).await.status,
        StatusCode::SEE_OTHER
    );
    // It comes back under the same id.
    console.until(&format!("/console/letter?id={id}"), "follower_id").await;
    let asked = console.submit("/console/drop", &[("id", id)]).await;
    assert!(asked.text.contains("cannot be brought back"));
    loop {
        let fields = [("id", id), ("confirmed", "yes")];
        assert_eq!(console.submit("/console/drop", &fields).await.status, StatusCode::SEE_OTHER);
        if console.get("/console/queues").await.text.contains("There are none.") {
            break;
        }
    }
    console.stack.shut_down().await;
}

/// An entry that somebody took away by hand is found and put back.
#[tokio::test]
async fn what_is_missing_is_found_and_repaired() {
    let console = Fixture::writing().await;
    console.apply(&FOLLOW).await;
    console.apply(&publish("live-1")).await;
    let tables = nagare_client::local_stack::dynamodb_over_http(
        console.stack.variable(env::DYNAMODB_ENDPOINT).unwrap(),
    );
    let name = console.stack.variable(env::TIMELINES_TABLE).unwrap();
    let entry = tables.scan().table_name(name).send().await.unwrap().items.unwrap().remove(0);
    let key = |part: &str| entry[part].clone();
    let delete = tables.delete_item().table_name(name);
    let delete = delete.key("viewer_id", key("viewer_id")).key("sort_key", key("sort_key"));
    delete.send().await.unwrap();
    let found = console.submit("/console/audit", &[("viewer", "bob")]).await.text;
    assert!(found.contains("1 difference in 1 compared") && found.contains("missing"), "{found}");
    let fields = [("viewer", "bob"), ("confirmed", "yes")];
    let after = console.submit("/console/repair", &fields).await.text;
    assert!(after.contains("Repaired: 1") && after.contains("No difference"), "{after}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn an_export_has_every_item_once() {
    let console = Fixture::writing().await;
    console.apply(&FOLLOW).await;
    console.apply(&publish("live-1")).await;
    let name = console.stack.variable(env::LEDGER_TABLE).unwrap();
    let tables = nagare_client::local_stack::dynamodb_over_http(
        console.stack.variable(env::DYNAMODB_ENDPOINT).unwrap(),
    );
    let stored = tables.scan().table_name(name).send().await.unwrap().items.unwrap().len();
    let export = console.submit("/console/export", &[("table", "ledger")]).await.text;
    let lines: std::collections::BTreeSet<_> = export.lines().collect();
    assert_eq!((lines.len(), export.lines().count()), (stored, stored));
    assert!(export.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn every_view_of_the_menu_is_there() {
    let console = Fixture::writing().await;
    let start = console.get("/console/").await.text;
    let menu = start.split_once("<nav").unwrap().1.split_once("</nav>").unwrap().0;
    let addresses: Vec<_> =
        menu.split("href=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    assert!(addresses.len() >= 9);
    for address in addresses {
        let page = console.get(address).await;
        assert_eq!(page.status, StatusCode::OK, "{address}");
    }
    assert_eq!(console.get("/console/nowhere").await.status, StatusCode::NOT_FOUND);
    assert_eq!(console.get("/console").await.location, PATH);
    console.stack.shut_down().await;
}

#[test]
fn an_account_is_named_by_its_queue() {
    let named = |queue: &str, region| {
        Account::of_queue(queue, region).map(|account| (account.to_string(), account.domain))
    };
    let expected =
        |domain: &str| Some(("account 123456789012 in eu-west-1".to_owned(), domain.to_owned()));
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/nagare-commands";
    assert_eq!(named(queue, Some("us-east-1")), expected("eu-west-1.amazonaws.com"));
    let elsewhere = "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/123456789012/nagare-commands";
    assert_eq!(named(elsewhere, Some("eu-west-1")), expected("eu-west-1.amazonaws.com"));
    assert_eq!(named(elsewhere, None), None);
    let china = named("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", None).unwrap();
    assert_eq!(china.1, "cn-north-1.amazonaws.com.cn");
    for other in
        ["http://127.0.0.1:3002/000000000000/q", "https://sqs.eu-west-1.amazonaws.com/12/q", "q"]
    {
        assert_eq!(named(other, Some("eu-west-1")), None);
    }
}

//! The inside of a stack as its console shows it.

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use tower::ServiceExt;
use tracing::{info, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

use super::*;
use crate::client::remote::Remote;
use crate::client::target::Target;
use crate::console::{Account, Mode};
use crate::local::{Stack, StackConfig};
use crate::running::Note;

const HTML: &str = "<script>alert(1)</script>";

/// A console, with the inside of the stack or without.
struct Fixture {
    stack: Stack,
    inside: Inside,
    router: Router,
    token: String,
}

impl Fixture {
    async fn new(mode: Mode, account: Option<Account>, is_inside: bool) -> Self {
        let inside = Inside::default();
        let config = StackConfig { inside: inside.clone(), ..StackConfig::default() };
        let stack = Stack::start(config).await.unwrap();
        let note = Note::new(stack.port(), stack.environment());
        let remote = Remote::of(Target::Local(note)).await.unwrap();
        let console = Console::new(remote, mode).unwrap();
        let inside_of = is_inside.then(|| inside.clone());
        let console = Console { account, inside: inside_of, ..console };
        let token = console.token.clone();
        Self { stack, inside, router: console.router(), token }
    }

    async fn here() -> Self {
        Self::new(Mode::Write, None, true).await
    }

    async fn ask(&self, request: Request<Body>) -> (StatusCode, String) {
        let Ok(answer) = self.router.clone().oneshot(request).await;
        let (head, body) = answer.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (head.status, String::from_utf8(body.into()).unwrap())
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        self.ask(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// A page that is as it should be.
    async fn page(&self, path: &str) -> String {
        let (status, text) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        assert!(!text.contains(HTML) && !text.contains(" style="), "{path}: {text}");
        text
    }

    async fn set(&self, fields: &[(&str, &str)]) -> (StatusCode, String) {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.ask(Request::post("/console/faults").body(Body::from(body)).unwrap()).await
    }

    /// Says something as the functions do.
    fn say(&self, work: impl FnOnce()) {
        let layer = self.inside.journal.clone().with_filter(Journal::filter());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    }
}

fn applied(message_id: &str, activity_id: &str) {
    info!(target: "fanout_writer::log", activity_id, actor_id = "anna", message_id, "applied");
}

#[tokio::test]
async fn the_log_shows_what_the_address_asks_for() {
    let console = Fixture::here().await;
    console.say(|| {
        applied("m-1", "live-1");
        applied("m-2", "live-2");
        warn!(target: "fanout_writer::log", message_id = "m/3", actor_id = HTML, "refused: {HTML}");
    });
    let all = console.page("/console/log").await;
    assert!(all.contains("live-1") && all.contains("live-2") && all.contains("&lt;script&gt;"));
    assert!(all.contains(r#"href="/console/log/m%2F3""#) && all.contains("seen=3"), "{all}");
    let one = console.page("/console/log?about=live-1").await;
    assert!(one.contains("m-1") && !one.contains("m-2"), "{one}");
    let escaped = console.page("/console/log?text=%3Cscript%3Ealert(1)%3C/script%3E").await;
    assert!(escaped.contains("refused") && !escaped.contains("live-1"), "{escaped}");
    let none = console.page("/console/log?level=ERROR").await;
    assert!(none.contains("No line fits"), "{none}");
    let still = console.page("/console/log?about=live-1&paused=true").await;
    assert!(!still.contains("hx-get") && still.contains("Go on"), "{still}");
    let story = console.page("/console/log/m%2F3").await;
    assert!(story.contains("Message m/3") && story.contains("refused"), "{story}");
    assert!(console.page("/console/log/unknown").await.contains("No line is about it"));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn lines_are_made_again_when_there_are_new_ones_that_fit() {
    let console = Fixture::here().await;
    console.say(|| (0..60).for_each(|n| applied(&format!("m-{n}"), "live-1")));
    let newest = console.page("/console/log?about=live-1").await;
    assert_eq!(newest.matches("class=\"entry\"").count(), 50);
    assert!(newest.contains("log-lines?about=live-1&amp;seen=60"), "{newest}");
    assert!(newest.contains("log?about=live-1&amp;before=11"), "{newest}");
    let older = console.page("/console/log?about=live-1&before=11").await;
    assert_eq!(older.matches("class=\"entry\"").count(), 10);
    assert!(!older.contains("hx-get") && !older.contains("Older"), "{older}");
    let again = "/console/log-lines?about=live-1&seen=60";
    assert_eq!(console.get(again).await, (StatusCode::NO_CONTENT, String::new()));
    console.say(|| applied("m-61", "live-2"));
    assert_eq!(console.get(again).await.0, StatusCode::NO_CONTENT);
    console.say(|| applied("m-62", "live-1"));
    let region = console.page(again).await;
    assert!(region.starts_with("<section id=\"lines\"") && region.contains("m-62"), "{region}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn numbers_are_plotted_with_their_present_value_and_a_text() {
    let console = Fixture::here().await;
    let numbers = &console.inside.numbers;
    numbers.add("CommandsApplied", "", 90.0);
    numbers.add("EntriesWritten", "", 200.0);
    numbers.add("EntriesRepeated", "", 3.0);
    numbers.add("WriteUnits", "timelines", 200.0);
    numbers.add("PageLatency", "", 4.0);
    for path in ["/console/numbers", "/console/numbers-now"] {
        let page = console.page(path).await;
        assert!(
            page.contains(
                "Commands, a second, over the last hour. In the last minute: Commands 1.50"
            ),
            "{page}"
        );
        assert!(page.contains("aria-label") && page.contains("<path class=\"line-0\" d=\"M"));
        assert!(page.contains("1.015") && page.contains("timelines"), "sends an entry: {page}");
        assert!(page.contains("A month of hours like the last"));
    }
    let page = console.page("/console/numbers").await;
    assert!(page.contains("<details>") && page.contains("5 to 0"), "{page}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn faults_change_by_a_form_and_by_a_button() {
    let console = Fixture::here().await;
    let token = ("token", console.token.as_str());
    let faults = &console.inside.faults;
    let off = console.page("/console/faults").await;
    assert!(
        off.contains("Nothing goes wrong on purpose") && off.contains(r#"name="f.lost-answers""#)
    );

    let (status, _) =
        console.set(&[token, ("f.errors", "2%"), ("f.slow", "5ms"), ("f.cuts", "")]).await;
    assert_eq!(
        (status, faults.get().to_string()),
        (StatusCode::SEE_OTHER, "errors=2%,slow=5ms".to_owned())
    );
    faults.set("errors=2%,slow=5ms".parse().unwrap());
    let on = console.page("/console/faults").await;
    assert!(
        on.contains("nagare up --faults=errors=2%,slow=5ms") && on.contains(r#"value="2%""#),
        "{on}"
    );

    let (status, wrong) = console.set(&[token, ("f.errors", "2"), ("f.cuts", HTML)]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(wrong.contains("errors: expected a share from 0% to 100%") && !wrong.contains(HTML));
    assert_eq!(faults.get().to_string(), "errors=2%,slow=5ms");

    assert_eq!(console.set(&[("f.errors", "9%")]).await.0, StatusCode::FORBIDDEN, "no token");
    for (preset, settings) in [("duplicates=30%,late=30%", "duplicates=30%,late=30%"), ("off", "")]
    {
        assert_eq!(console.set(&[token, ("preset", preset)]).await.0, StatusCode::SEE_OTHER);
        assert_eq!(faults.get().to_string(), settings);
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn a_console_elsewhere_says_where_to_look() {
    let account = Account { id: "123456789012".to_owned(), region: "eu-west-1".to_owned() };
    for (account, says) in [(None, "at the port of its API"), (Some(account), "docs/")] {
        let console = Fixture::new(Mode::ReadOnly, account, false).await;
        for path in ["/console/log", "/console/log/m-1", "/console/numbers", "/console/faults"] {
            let page = console.page(path).await;
            assert!(page.contains("does not see this") && page.contains(says), "{path}: {page}");
        }
        for region in ["/console/log-lines", "/console/numbers-now"] {
            assert_eq!(console.get(region).await.0, StatusCode::NOT_FOUND);
        }
        assert_eq!(console.set(&[]).await.0, StatusCode::FORBIDDEN);
        console.stack.shut_down().await;
    }
}

#[tokio::test]
async fn presets_are_what_the_settings_take() {
    let console = Fixture::here().await;
    let page = console.page("/console/faults").await;
    let presets = page.split(r#"name="preset" value=""#).skip(1);
    let presets: Vec<_> = presets.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(presets.len(), 6, "{page}");
    for preset in presets.iter().filter(|preset| **preset != "off") {
        assert!(preset.parse::<crate::faults::Faults>().is_ok_and(|it| !it.is_off()), "{preset}");
    }
    console.stack.shut_down().await;
}

//! The inside of a stack as its console shows it.

use http::StatusCode;
use nagare_telemetry::journal::Journal;
use tracing::{info, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

use crate::console::Mode;
use crate::tests::{Fixture, HTML, Page, account};

impl Fixture {
    /// A page that is as it should be.
    async fn page(&self, path: &str) -> String {
        let Page { status, text, .. } = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        assert!(!text.contains(HTML) && !text.contains(" style="), "{path}: {text}");
        text
    }

    /// Says something as the functions do.
    fn say(&self, work: impl FnOnce()) {
        let layer = self.telemetry.journal.clone().with_filter(Journal::filter());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    }
}

fn applied(message_id: &str, activity_id: &str) {
    info!(target: "fanout_writer::log", activity_id, actor_id = "anna", message_id, "applied");
}

#[tokio::test]
async fn the_log_shows_what_the_address_asks_for() {
    let console = Fixture::inside().await;
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
    assert!(!still.contains("log-lines") && still.contains("Resume"), "{still}");
    let story = console.page("/console/log/m%2F3").await;
    assert!(story.contains("Message m/3") && story.contains("refused"), "{story}");
    assert!(console.page("/console/log/unknown").await.contains("No line is about it"));
    console.stack.shut_down().await;
}

#[tokio::test]
async fn lines_are_made_again_when_there_are_new_ones_that_fit() {
    let console = Fixture::inside().await;
    console.say(|| (0..60).for_each(|n| applied(&format!("m-{n}"), "live-1")));
    let newest = console.page("/console/log?about=live-1").await;
    assert_eq!(newest.matches("class=\"entry\"").count(), 50);
    assert!(newest.contains("log-lines?about=live-1&amp;seen=60"), "{newest}");
    assert!(newest.contains("log?about=live-1&amp;before=11"), "{newest}");
    let older = console.page("/console/log?about=live-1&before=11").await;
    assert_eq!(older.matches("class=\"entry\"").count(), 10);
    assert!(!older.contains("log-lines") && !older.contains("Older"), "{older}");
    let again = "/console/log-lines?about=live-1&seen=60";
    assert_eq!(console.get(again).await.status, StatusCode::NO_CONTENT);
    console.say(|| applied("m-61", "live-2"));
    assert_eq!(console.get(again).await.status, StatusCode::NO_CONTENT);
    console.say(|| applied("m-62", "live-1"));
    let region = console.page(again).await;
    assert!(region.starts_with("<section id=\"lines\"") && region.contains("m-62"), "{region}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn numbers_are_plotted_with_their_present_value_and_a_text() {
    let console = Fixture::inside().await;
    let numbers = &console.telemetry.numbers;
    numbers.add("CommandsApplied", "", 90.0);
    numbers.add("EntriesWritten", "", 200.0);
    numbers.add("EntriesRepeated", "", 3.0);
    numbers.add("WriteUnits", "timelines", 200.0);
    numbers.add("PageLatency", "", 4.0);
    for path in ["/console/numbers", "/console/numbers-now"] {
        let page = console.page(path).await;
        assert!(
            page.contains(
                "Commands, a second, over the last 2 minutes. In the last minute: Commands 1.50"
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
    let (console, path) = (Fixture::inside().await, "/console/faults");
    let faults = &console.telemetry.faults;
    let off = console.page(path).await;
    assert!(off.contains("No faults are injected"), "{off}");
    assert!(off.contains(r#"name="f.lost-answers""#), "{off}");

    let fields = [("f.errors", "2%"), ("f.slow", "5ms"), ("f.cuts", "")];
    assert_eq!(console.submit(path, &fields).await.status, StatusCode::SEE_OTHER);
    assert_eq!(faults.get().to_string(), "errors=2%,slow=5ms");
    let on = console.page(path).await;
    assert!(on.contains("nagare up --faults=errors=2%,slow=5ms"), "{on}");
    assert!(on.contains(r#"value="2%""#), "{on}");

    let wrong = console.submit(path, &[("f.errors", "2"), ("f.cuts", HTML)]).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(wrong.text.contains("errors: expected a share from 0% to 100%"), "{}", wrong.text);
    assert!(!wrong.text.contains(HTML), "{}", wrong.text);
    let forged = console.post(path, &[("f.errors", "9%")]).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN, "no token");
    assert_eq!(faults.get().to_string(), "errors=2%,slow=5ms");

    for (preset, settings) in [("duplicates=30%,late=30%", "duplicates=30%,late=30%"), ("off", "")]
    {
        let set = console.submit(path, &[("preset", preset)]).await;
        assert_eq!(
            (set.status, faults.get().to_string()),
            (StatusCode::SEE_OTHER, settings.into())
        );
    }
    console.stack.shut_down().await;
}

#[tokio::test]
async fn a_console_elsewhere_says_where_to_look() {
    let views = ["/console/log", "/console/log/m-1", "/console/numbers", "/console/faults"];
    let console = Fixture::new(Mode::ReadOnly, None).await;
    for path in views {
        let page = console.page(path).await;
        assert!(page.contains("does not see this") && page.contains("port of its API"), "{page}");
    }
    for region in ["/console/log-lines", "/console/numbers-now"] {
        assert_eq!(console.get(region).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(console.submit("/console/faults", &[]).await.status, StatusCode::FORBIDDEN);
    console.stack.shut_down().await;
}

#[tokio::test]
async fn an_account_has_its_own_place_for_this_and_no_faults_of_ours() {
    let console = Fixture::new(Mode::ReadOnly, Some(account())).await;
    for path in ["/console/log", "/console/log/m-1", "/console/numbers"] {
        let page = console.page(path).await;
        assert!(page.contains("CloudWatch has this") && page.contains("eu-west-1"), "{page}");
    }
    let page = console.page("/console/faults").await;
    assert!(page.contains("no such switch") && page.contains("docs/FAULTS.md"), "{page}");
    console.stack.shut_down().await;
}

#[tokio::test]
async fn presets_are_what_the_settings_take() {
    let console = Fixture::inside().await;
    let page = console.page("/console/faults").await;
    let presets = page.split(r#"name="preset" value=""#).skip(1);
    let presets: Vec<_> = presets.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(presets.len(), 6, "{page}");
    for preset in presets.iter().filter(|preset| **preset != "off") {
        assert!(
            preset.parse::<nagare_telemetry::faults::Faults>().is_ok_and(|it| !it.is_off()),
            "{preset}"
        );
    }
    console.stack.shut_down().await;
}

//! What the journal keeps, drops and finds.

use fanout_writer::{Disposition, Failure};
use shared::platform::dynamo::DynamoError;
use shared::platform::runtime::invocation::Invocation;
use shared::platform::values::ActivityId;
use tracing::{Level, error, info, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

use super::*;

/// The module of the writer's that logs.
const WRITER: &str = "fanout_writer::log";

/// The journal of what happens in `work`.
fn journal_of(journal: Journal, work: impl FnOnce()) -> Journal {
    let layer = journal.clone().with_filter(Journal::filter());
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::with_default(subscriber, work);
    journal
}

fn roomy(work: impl FnOnce()) -> Journal {
    journal_of(Journal::default(), work)
}

fn applied(message_id: &str, activity_id: &str, person: &str) {
    info!(target: WRITER, activity_id, viewer_id = person, message_id, "applied");
}

/// The numbers of the lines that fit, the newest first.
fn found(journal: &Journal, filter: Filter) -> Vec<u64> {
    journal.newest(&filter, None, 100).lines.iter().map(|line| line.number).collect()
}

#[test]
fn a_line_has_what_the_event_had() {
    let nothing: Option<&str> = None;
    let journal = roomy(|| {
        warn!(
            target: WRITER,
            message_id = "m-1",
            actor_id = "anna",
            reason = nothing,
            receives = 2_u32,
            duration_ms = 1.234_56,
            is_last = true,
            "retry later: {}",
            "throttled"
        );
    });
    let page = journal.newest(&Filter::default(), None, 10);
    let [line] = &*page.lines else { panic!("{page:?}") };
    assert_eq!((line.number, line.level(), line.target()), (1, Level::WARN, WRITER));
    assert_eq!((line.function(), line.message()), ("fanout_writer", "retry later: throttled"));
    assert_eq!(line.outcome(), "retry later");
    let fields: Vec<_> = line.fields().collect();
    let expected = [
        ("message_id", "m-1"),
        ("actor_id", "anna"),
        ("receives", "2"),
        ("duration_ms", "1.235"),
        ("is_last", "true"),
    ];
    assert_eq!(fields, expected);
    assert_eq!(line.people().collect::<Vec<_>>(), ["anna"]);
    assert_eq!((page.latest, page.older), (1, None));
}

#[test]
fn a_line_says_in_which_invocation_it_was_logged() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let journal = roomy(|| {
        let invocation = Invocation::new("id-1", Some("Root=1-5759e988-bd862e3fe1be46a994272793"));
        runtime.block_on(invocation.scope(async { applied("m-1", "live-1", "anna") }));
        applied("m-2", "live-1", "anna");
    });
    let lines = journal.newest(&Filter::default(), None, 10).lines;
    let ids: Vec<_> = lines.iter().map(|line| line.field("function_request_id")).collect();
    assert_eq!(ids, [None, Some("id-1")]);
    assert_eq!(lines[1].field("message_id"), Some("m-1"));
}

#[test]
fn keeps_what_functions_say_and_what_is_wrong_anywhere() {
    let journal = roomy(|| {
        info!(target: "dlq_alerter", "1");
        info!(target: "shared::platform::projection", "2");
        info!(target: "hyper::proto", "not kept");
        error!(target: "hyper::proto", "3");
        tracing::debug!(target: WRITER, "not kept");
    });
    let page = journal.newest(&Filter::default(), None, 10);
    assert_eq!(page.lines.iter().map(|line| line.message()).collect::<Vec<_>>(), ["3", "2", "1"]);
}

#[test]
fn long_values_are_cut_between_characters() {
    let (long, shown) = ("é".repeat(10_000), format!("{}…", "é".repeat(512)));
    let journal = roomy(|| error!(odd = format!("x{long}"), even = long, "{long}"));
    let page = journal.newest(&Filter::default(), None, 1);
    let line = &page.lines[0];
    assert_eq!((line.message(), line.field("even")), (&*shown, Some(&*shown)));
    assert_eq!(line.field("odd"), Some(&*format!("x{}…", "é".repeat(511))));
}

#[test]
fn the_oldest_lines_are_dropped_and_counted() {
    let few = Journal::new(Clock::system(), 10, BYTES);
    let few = journal_of(few, || (0..25).for_each(|n| info!(target: WRITER, n)));
    assert_eq!(few.counts(), (10, 15));
    assert_eq!(found(&few, Filter::default()), (16..=25).rev().collect::<Vec<_>>());

    let small = Journal::new(Clock::system(), LINES, 4_096);
    let small = journal_of(small, || {
        (0..100).for_each(|n| info!(target: WRITER, n, "{}", "x".repeat(500)));
    });
    let (kept, dropped) = small.counts();
    assert!((4..=7).contains(&kept), "{kept} lines of about 600 bytes");
    assert_eq!(kept + dropped, 100);
    let taken: usize = small.between(0..u64::MAX).iter().map(|line| line.bytes()).sum();
    assert_eq!((small.ring.lock().bytes, taken <= 4_096), (taken, true));
}

#[test]
fn a_million_lines_take_no_more_than_a_hundred_thousand() {
    let journal = roomy(|| {
        (0..1_000_000).for_each(|n| {
            applied("01JD5Q0Z7W3W0N0ZJ0Q9C6R4KX", "live-1", if n % 2 == 0 { "bob" } else { "eve" })
        });
    });
    assert_eq!(journal.counts(), (LINES as u64, 1_000_000 - LINES as u64));
    let ring = journal.ring.lock();
    let taken: usize = ring.lines.iter().map(|line| line.bytes()).sum();
    assert_eq!((ring.bytes, taken <= BYTES), (taken, true));
    assert!(ring.lines.capacity() < 2 * LINES, "{}", ring.lines.capacity());
}

#[test]
fn filters_by_what_a_line_is_about() {
    let journal = roomy(|| {
        applied("m-1", "live-1", "bob");
        info!(target: WRITER, follower_id = "bob", followee_id = "anna", message_id = "m-2", "applied");
        warn!(target: WRITER, activity_id = "live-2", actor_id = "anna", message_id = "m-3", "refused: no, bob");
        info!(target: "timeline_reader::log", viewer_id = "eve", status = 200, "served");
        error!(target: "projector", subject = "likes of live-1", "not folded: throttled");
        error!(target: "dlq_alerter", dead_letter = "m-3-1", message_id = "m-3", "dead letter");
        info!(target: WRITER, room_id = "anna-bob", author_id = "bob", "applied");
    });
    let text = |text: &str| Some(text.to_owned());
    let nothing = Filter::default;
    let cases = [
        (nothing(), vec![7, 6, 5, 4, 3, 2, 1]),
        (Filter { about: text("live-1"), ..nothing() }, vec![5, 1]),
        (Filter { about: text("live"), ..nothing() }, vec![]),
        (Filter { about: text("anna-bob"), ..nothing() }, vec![7]),
        (Filter { message: text("m-3"), ..nothing() }, vec![6, 3]),
        (Filter { message: text("m-3-1"), ..nothing() }, vec![6]),
        (Filter { person: text("bob"), ..nothing() }, vec![7, 2, 1]),
        (Filter { person: text("anna"), ..nothing() }, vec![3, 2]),
        (Filter { outcome: text("refused"), ..nothing() }, vec![3]),
        (Filter { level: Some(Level::WARN), ..nothing() }, vec![6, 5, 3]),
        (Filter { level: Some(Level::ERROR), ..nothing() }, vec![6, 5]),
        (Filter { function: text("timeline_reader"), ..nothing() }, vec![4]),
        (Filter { text: Some("NO, Bob".into()), ..nothing() }, vec![3]),
        (Filter { text: Some("throttled".into()), ..nothing() }, vec![5]),
        (Filter { text: Some("eve2".into()), ..nothing() }, vec![]),
        (Filter { person: text("bob"), outcome: text("served"), ..nothing() }, vec![]),
    ];
    for (filter, numbers) in cases {
        assert_eq!(found(&journal, filter.clone()), numbers, "{filter:?}");
    }
    let story: Vec<_> =
        journal.story("m-3", 10).iter().map(|line| line.outcome().to_owned()).collect();
    assert_eq!(story, ["refused", "dead letter"]);
}

#[test]
fn pages_show_every_line_once() {
    let journal = roomy(|| {
        (0..3_000).for_each(|n| applied(&format!("m-{n}"), "live-1", ["bob", "eve"][n % 2]));
    });
    let bobs = Filter { person: Some("bob".to_owned()), ..Filter::default() };
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = journal.newest(&bobs, before, 70);
        assert_eq!(page.latest, 3_000);
        seen.extend(page.lines.iter().map(|line| line.number));
        before = page.older;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, (1..=3_000).filter(|n| n % 2 == 1).rev().collect::<Vec<_>>());
}

#[test]
fn what_came_behind_a_number() {
    let journal = roomy(|| (0..30).for_each(|n| applied("m", "live-1", ["bob", "eve"][n % 2])));
    let bobs = Filter { person: Some("bob".to_owned()), ..Filter::default() };
    let behind = |number, limit| -> Vec<_> {
        journal.behind(number, &bobs, limit).lines.iter().map(|line| line.number).collect()
    };
    assert_eq!(behind(24, 10), [29, 27, 25]);
    assert_eq!(behind(0, 2), [29, 27]);
    assert_eq!(behind(30, 10), [0; 0]);
    assert_eq!(behind(u64::MAX, 10), [0; 0]);
}

#[test]
fn readers_and_writers_at_once() {
    let journal = Journal::new(Clock::system(), 1_000, BYTES);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let journal = journal.clone();
            scope.spawn(|| {
                journal_of(journal, || (0..2_000).for_each(|_| applied("m", "live-1", "bob")));
            });
        }
        for _ in 0..200 {
            let lines = journal.newest(&Filter::default(), None, 50).lines;
            assert!(lines.windows(2).all(|pair| pair[0].number > pair[1].number));
        }
    });
    assert_eq!(journal.counts(), (1_000, 5_000));
}

#[test]
fn every_end_of_a_command_is_among_the_outcomes() {
    let failure = || Failure::Conflict(ActivityId::new("live-1").unwrap());
    let slow = || Failure::Dynamo(DynamoError::Throttled);
    for disposition in [
        Disposition::Applied(None),
        Disposition::Split(2),
        Disposition::Continued,
        Disposition::Expired,
        Disposition::Suppressed,
        Disposition::Refused(failure()),
        Disposition::GivenUp(slow()),
        Disposition::Retry(slow(), None),
    ] {
        let text = disposition.text();
        let journal = roomy(|| info!(target: WRITER, "{text}"));
        let page = journal.newest(&Filter::default(), None, 1);
        assert!(OUTCOMES.contains(&page.lines[0].outcome()), "{text}");
    }
}

/// `cargo test -p nagare --release --lib what_a_line_costs -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn what_a_line_costs() {
    use std::time::Instant;
    const MANY: u32 = 300_000;
    let line = || {
        let nothing: Option<&str> = None;
        info!(
            target: WRITER,
            activity_id = "01JD5Q0Z7W3W0N0ZJ0Q9C6R4KX",
            actor_id = "anna",
            viewer_id = nothing,
            message_id = "0b7d6f0e-6f58-4a0e-9f0e-2f3c6a1b9d11",
            command = "activity.published",
            receives = 1,
            entries = 12,
            sends = 12,
            unprocessed = 0,
            retries = 0,
            duration_ms = 3.2,
            "applied"
        );
    };
    let begun = Instant::now();
    (0..MANY).for_each(|_| line());
    println!("without: {:?} a line", begun.elapsed() / MANY);
    let begun = Instant::now();
    let journal = roomy(|| (0..MANY).for_each(|_| line()));
    println!("with: {:?} a line", begun.elapsed() / MANY);
    let (kept, _) = journal.counts();
    println!("{kept} lines are kept, {} bytes each", journal.ring.lock().bytes as u64 / kept);
    for filter in [
        Filter { about: Some("nothing".to_owned()), ..Filter::default() },
        Filter { person: Some("nobody".to_owned()), ..Filter::default() },
        Filter { text: Some("nothing".into()), ..Filter::default() },
    ] {
        let begun = Instant::now();
        assert!(journal.newest(&filter, None, 10).lines.is_empty());
        println!("all looked at: {:?} ({filter:?})", begun.elapsed());
    }
}

//! A caller of the reader is answered in time where calls to the tables are not. Time is simulated, so
//! that a call that hangs costs nothing, and the seed decides which ones do.

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use nagare_local::faults::Faulty;
use shared::platform::runtime::deadline::Deadline;
use tests::{World, follow, publish};
use timeline_reader::PATIENCE;
use tokio::time::Instant;

const PAGES: usize = 10_000;

/// A world of which one call in a hundred is never answered, and in which bob's timeline has a page.
async fn hanging(seed: u64) -> World {
    let faults = format!("hangs=1%,seed={seed}").parse().unwrap();
    let world = World::behind(|inside| SharedHttpConnector::new(Faulty::new(faults, inside)));
    world.done(&[follow("bob", "anna", "2026-11-20T10:00:00Z")]).await;
    for n in 0..3 {
        let at = format!("2026-11-20T11:0{n}:00Z");
        world.done(&[publish("anna", &format!("a{n}"), &at)]).await;
    }
    world
}

#[tokio::test(start_paused = true)]
async fn of_ten_thousand_pages_at_most_one_is_refused_because_calls_hang() {
    let world = hanging(7).await;
    let (mut refused, mut tried_again) = (0, 0);
    for page in 0..PAGES {
        let begun = Instant::now();
        let path = "/v1/timelines/bob";
        let (status, _, body) = world.get_within(path, "limit=2", Deadline::after(PATIENCE)).await;
        assert!(begun.elapsed() <= PATIENCE, "page {page}: {:?}", begun.elapsed());
        assert!([200, 503].contains(&status), "page {page}: {body}");
        refused += usize::from(status == 503);
        tried_again += usize::from(begun.elapsed() >= PATIENCE / 10);
    }
    println!("{PAGES} pages: {tried_again} waited for a call that hung, {refused} refused");
    assert!(refused <= 1, "{refused} of {PAGES} pages refused");
    // Two calls a page.
    assert!((PAGES / 100..PAGES / 25).contains(&tried_again), "{tried_again} of {PAGES} waited");
}

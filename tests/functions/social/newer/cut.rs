//! Polls that pass so much that is hidden that their pages are cut: what arrives behind such a page is brought once the walk
//! has come to its end.

use serde_json::{Value, json};
use shared::platform::values::{ActorId, ViewerId};
use shared::social::timelines::EntryWrite;
use tests::{NOW, World, publish, soon, unfollow};

use super::{Client, ago, followed, one, published};

const MINUTE: i64 = 60_000;

/// Leaves entries behind of somebody whom bob has unfollowed.
async fn hide(world: &World, at: impl Iterator<Item = i64>) {
    world.done(&[unfollow("bob", "xaver", NOW)]).await;
    let (bob, actor) = (ViewerId::new("bob").unwrap(), ActorId::new("xaver").unwrap());
    let keys: Vec<_> = at.enumerate().map(|(n, at)| format!("{}#hidden-{n:05}", ago(at))).collect();
    let entries = keys.iter().map(|sort_key| EntryWrite::Put {
        viewer: &bob,
        sort_key,
        actor: &actor,
        expires_at: 2_000_000_000,
    });
    world.tables.timelines.write(entries, soon()).await.unwrap();
}

impl Client<'_> {
    /// Polls, and goes on until there is nothing more: what was shown, and on how many pages.
    async fn walk(&mut self, limit: usize) -> (Vec<String>, usize) {
        let (mut shown, mut pages) = (self.poll(limit).await, 1);
        while self.next.is_some() {
            // Both lead on.
            shown.extend(if pages % 2 == 0 {
                self.next(limit).await
            } else {
                self.poll(limit).await
            });
            pages += 1;
        }
        (shown, pages)
    }
}

#[tokio::test(start_paused = true)]
async fn what_arrives_behind_a_page_that_was_cut_is_brought_by_the_next_poll() {
    let world = followed(World::new()).await;
    one(&world, "seen", 30 * MINUTE).await;
    let mut client = Client::new(&world, "").await;
    hide(&world, (0..12_000).map(|n| 29 * MINUTE - 100 * n)).await;
    one(&world, "newer", 5 * MINUTE).await;
    // The first page is cut before it comes there.
    assert_eq!(client.poll(20).await, [""; 0]);
    assert!(client.next.is_some());
    // An hour behind what was shown by then, and more than an hour behind what will be.
    one(&world, "late", 29 * MINUTE).await;
    one(&world, "edge", 90 * MINUTE).await;
    one(&world, "beyond", 90 * MINUTE + 1).await;
    let (shown, pages) = client.walk(20).await;
    assert_eq!(shown, ["newer"]);
    assert!(pages > 1, "it passes what is hidden in {pages}");
    assert_eq!(client.walk(20).await.0, ["edge", "late"]);
    // From then on the hour is that of the newest.
    one(&world, "edge-again", 65 * MINUTE).await;
    one(&world, "beyond-again", 65 * MINUTE + 1).await;
    assert_eq!(client.walk(20).await.0, ["edge-again"]);
    assert_eq!(client.walk(20).await.0, [""; 0]);
}

/// A walk that has been cut goes on page by page, the full ones too, and passes what is hidden once.
#[tokio::test(start_paused = true)]
async fn a_walk_passes_what_is_hidden_once() {
    let world = followed(World::new()).await;
    one(&world, "below", 31 * MINUTE).await;
    published(&world, [("floor".to_owned(), 30 * MINUTE), ("newest".to_owned(), 30 * MINUTE)])
        .await;
    let mut client = Client::new(&world, "limit=2").await;
    assert_eq!(client.shown, ["newest", "floor"]);
    hide(&world, (0..12_000).map(|n| 29 * MINUTE - 100 * n)).await;
    let names = |prefix: &'static str| (0..30).map(move |n| format!("{prefix}{n:02}"));
    published(&world, names("a").zip((0..).map(|n| 5 * MINUTE - n))).await;
    let (shown, pages) = client.walk(3).await;
    assert_eq!(shown, names("a").collect::<Vec<_>>());
    assert!((11..20).contains(&pages), "{pages} pages");
    // The floor is where it was: what lies below is left to the pages of the newest.
    for (id, at) in [("low", 30), ("floor-late", 30), ("a-late", 30), ("lowest", 32)] {
        one(&world, id, at * MINUTE).await;
    }
    assert_eq!(client.walk(3).await.0, ["floor-late", "low"]);
    assert_eq!(client.walk(3).await.0, [""; 0]);
}

const LONG: usize = 128;

/// The longest ids beside the longest filter: a cursor has no room for the whole of both places then.
#[tokio::test(start_paused = true)]
async fn the_longest_cursors_of_walks() {
    let world = World::new();
    let kinds: Vec<_> = (0..10).map(|n| format!("{:k<15}", format!("kind{n}"))).collect();
    let tagged = async |activities: &[(&str, usize, i64)], kind: &str| {
        let commands = activities.iter().flat_map(|(name, n, at)| {
            let id = format!("{:x<LONG$}", format!("{name}{n:03}"));
            let mut it = publish("anna", &id, &ago(*at));
            it["kind"] = json!(kind);
            let tag =
                json!({"type": "tag.created", "activity_id": id, "tagged_id": "bob", "at": ago(0)});
            [it, tag]
        });
        let bodies: Vec<_> = commands.map(|it: Value| it.to_string()).collect();
        for batch in bodies.chunks(100) {
            let batch: Vec<_> = batch.iter().map(String::as_str).collect();
            assert_eq!(world.write(&batch, 1).await, [0_usize; 0]);
        }
    };
    let shown = &kinds[3];
    let before: Vec<_> = (0..8).map(|n| ("old", n, 50 * MINUTE - n as i64)).collect();
    tagged(&before, shown).await;
    let asked: String = kinds.iter().map(|kind| format!("&kind={kind}")).collect();
    let query = format!("from={}&to={}&limit=2{asked}", ago(90 * MINUTE), ago(-MINUTE));
    let mut client = Client::of(&world, "/v1/viewers/bob/tagged", &query).await;
    // All that is passed shares an instant.
    let hidden: Vec<_> = (0..900).map(|n| ("post", n, 40 * MINUTE)).collect();
    tagged(&hidden, "post").await;
    tagged(&[("new", 0, 30 * MINUTE)], shown).await;
    let names = |shown: Vec<String>| shown.iter().map(|id| id.replace('x', "")).collect::<Vec<_>>();
    client.poll(20).await;
    assert!(client.next.is_some());
    tagged(&[("late", 0, 41 * MINUTE)], shown).await;
    let (shown_now, pages) = client.walk(20).await;
    assert_eq!(names(shown_now), ["new000"]);
    assert!(pages > 2, "{pages} pages");
    assert_eq!(names(client.walk(20).await.0), ["late000"]);
    assert_eq!(names(client.walk(20).await.0), [""; 0]);
}

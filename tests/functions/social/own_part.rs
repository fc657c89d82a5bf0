//! A number and the caller's own part in it are of one moment, whatever of it is projected.

use std::collections::BTreeMap;

use futures::future::join;
use nagare_local::engine::stream::StreamRecord;
use proptest::prelude::*;
use serde_json::{Value, json};
use tests::{World, publish};

use crate::platform::projecting::{project, records};
use crate::platform::units::UnitCounter;

const AT: &str = "2026-11-20T11:00:00.000Z";
const VIEWERS: [&str; 5] = ["bob", "eve", "dan", "zoe", "ida"];
const CHOICES: [&str; 3] = ["red", "blue", "~"];

/// A second of the poll, which is open from the 10th to the 50th.
fn second(second: usize) -> String {
    format!("2026-11-20T11:00:{second:02}.000Z")
}

fn open() -> Value {
    json!({"type": "poll.opened", "poll_id": "p", "actor_id": "anna", "choices": ["red", "blue"],
        "opens_at": second(10), "closes_at": second(50), "payload": {}})
}

fn close(at: usize) -> Value {
    json!({"type": "poll.closed", "poll_id": "p", "actor_id": "anna", "at": second(at)})
}

fn vote(viewer: &str, choice: &str, at: usize) -> Value {
    let kind = if choice == "~" { "vote.withdrawn" } else { "vote.cast" };
    let mut vote = json!({"type": kind, "poll_id": "p", "viewer_id": viewer, "at": second(at)});
    if choice != "~" {
        vote["choice"] = json!(choice);
    }
    vote
}

fn like(viewer: &str, liked: bool, at: usize) -> Value {
    let kind = if liked { "like.created" } else { "like.deleted" };
    json!({"type": kind, "viewer_id": viewer, "activity_id": "a", "at": second(at)})
}

/// Likes, and whether the viewer is among them.
async fn likes(world: &World, viewer: &str) -> (u64, bool) {
    let (status, _, body) = world.get("/v1/activities/a", &format!("viewer={viewer}")).await;
    assert_eq!(status, 200, "{body}");
    (body["likes"]["count"].as_u64().unwrap(), body["likes"]["liked"].as_bool().unwrap())
}

/// The votes for red and blue, and which is the viewer's.
async fn votes(world: &World, viewer: &str) -> ([u64; 2], Option<String>) {
    let (status, _, body) = world.get("/v1/polls/p", &format!("viewer={viewer}")).await;
    assert_eq!(status, 200, "{body}");
    let sums = [0, 1].map(|place| body["choices"][place]["votes"].as_u64().unwrap());
    assert_eq!(body["votes"], sums[0] + sums[1]);
    (sums, body["vote"].as_str().map(ToOwned::to_owned))
}

/// Everything that was not handed over yet.
async fn project_rest(world: &World, seen: &mut usize) {
    let all = records(world);
    project(world, "s", &all[*seen..]).await;
    *seen = all.len();
}

#[tokio::test]
async fn a_like_counts_for_its_viewer_from_the_moment_it_is_on_record() {
    let (world, mut seen) = (World::new(), 0);
    world.done(&[publish("anna", "a", AT)]).await;
    world.done(&[like("eve", true, 1)]).await;
    project_rest(&world, &mut seen).await;
    for (liked, at) in [(true, 2), (false, 3), (true, 4)] {
        world.done(&[like("bob", liked, at)]).await;
        for is_projected in [false, true] {
            if is_projected {
                project_rest(&world, &mut seen).await;
            }
            assert_eq!(likes(&world, "bob").await, (1 + u64::from(liked), liked), "{at}");
        }
    }
    assert_eq!(likes(&world, "eve").await, (2, true));
}

/// Where very many have liked it since, a viewer is taken for one of them.
#[tokio::test]
async fn of_many_likes_a_viewer_s_own_is_one() {
    let (world, mut seen) = (World::new(), 0);
    world.done(&[publish("anna", "a", AT)]).await;
    world.done(&[like("bob", true, 1), like("eve", true, 1)]).await;
    for n in 0..40 {
        world.done(&[like(&format!("v{n}"), true, 2)]).await;
        project_rest(&world, &mut seen).await;
        assert_eq!(likes(&world, "bob").await, (3 + n, true));
        assert_eq!(likes(&world, &format!("v{n}")).await, (3 + n, true));
        assert_eq!(likes(&world, "nobody").await, (3 + n, false));
    }
}

/// Votes and likes of people who were never seen before, folded at once.
async fn crowd(world: &World, seen: &mut usize, people: std::ops::Range<usize>) {
    for n in people {
        let viewer = format!("crowd-{n}");
        world.done(&[vote(&viewer, "red", 20), like(&viewer, true, 20)]).await;
    }
    project_rest(world, seen).await;
}

/// A caller changes their mind, before and after it is folded, while a crowd pushes them off the list of the view.
#[tokio::test]
async fn the_sum_agrees_beyond_the_people_that_a_view_lists() {
    let (world, mut seen) = (World::new(), 0);
    world.done(&[publish("anna", "a", AT), open()]).await;
    crowd(&world, &mut seen, 0..30).await;
    let mut others = 30;
    let turns = ["red", "blue", "~", "blue", "red"];
    for (turn, choice) in turns.into_iter().enumerate() {
        let liked = turn % 2 == 0;
        let own = |choice: &str| choice == turns[turn];
        world.done(&[vote("bob", choice, 21 + turn), like("bob", liked, 21 + turn)]).await;
        for is_folded in [false, true] {
            let what = format!("{choice}, turn {turn}, folded: {is_folded}, {others} others");
            if is_folded {
                crowd(&world, &mut seen, others..others + 40).await;
                others += 40;
            }
            let count = others as u64;
            let sums = [count + u64::from(own("red")), u64::from(own("blue"))];
            let voted = (choice != "~").then(|| choice.to_owned());
            assert_eq!(votes(&world, "bob").await, (sums, voted), "{what}");
            assert_eq!(likes(&world, "bob").await, (count + u64::from(liked), liked), "{what}");
        }
    }
    // Of a page, counts and rows are read in other ways.
    world.done(&[like("bob", false, 40)]).await;
    let (status, _, body) =
        world.get("/v1/actors/anna/activities", "include=likes&viewer=bob").await;
    assert_eq!(
        (status, &body["items"][0]["likes"]),
        (200, &json!({"count": others, "liked": false}))
    );
}

/// What was counted of a caller is read once more only while the caller's row may not be folded.
#[tokio::test]
async fn a_row_that_is_an_hour_old_costs_no_further_read() {
    let counter = UnitCounter::new();
    let (world, mut seen) = (&counter.world, 0);
    world.done(&[publish("anna", "a", AT), open(), vote("bob", "red", 20)]).await;
    crowd(world, &mut seen, 0..80).await;
    let _ = counter.take_with_rounds();
    assert_eq!(votes(world, "bob").await, ([81, 0], Some("red".to_owned())));
    let young = counter.take_with_rounds().0;
    world.clock.set(world.clock.now().plus_millis(3_600_000));
    assert_eq!(votes(world, "bob").await, ([81, 0], Some("red".to_owned())));
    let old = counter.take_with_rounds().0;
    assert_eq!((young.reads, young.calls), (old.reads + 1.0, old.calls + 1));
}

/// Another version folds on, and carries the list along without changing it.
#[tokio::test]
async fn what_another_version_carried_along_is_not_believed() {
    let (world, mut seen) = (World::new(), 0);
    world.done(&[publish("anna", "a", AT)]).await;
    world.done(&[like("bob", true, 1), like("eve", true, 1)]).await;
    project_rest(&world, &mut seen).await;
    // It has counted that bob took his like back.
    world.done(&[like("bob", false, 2)]).await;
    let key = shared::social::likes::keys::count(&"a".parse().unwrap()).into_item();
    let table = world.tables.views.table();
    let mut view = table.get(key).await.unwrap().unwrap().item;
    let version: i64 = view["version"].as_n().unwrap().parse().unwrap();
    view.insert("version".to_owned(), shared::platform::dynamo::item::number(version + 1));
    view.insert("count".to_owned(), shared::platform::dynamo::item::number(1));
    table.put(view).await.unwrap();
    assert_eq!(likes(&world, "bob").await, (1, false));
    assert_eq!(likes(&world, "eve").await, (1, true));
}

#[tokio::test]
async fn a_vote_counts_for_its_viewer_from_the_moment_it_is_on_record() {
    let (world, mut seen) = (World::new(), 0);
    world.done(&[open()]).await;
    world.done(&[vote("eve", "red", 20)]).await;
    project_rest(&world, &mut seen).await;
    world.done(&[vote("bob", "blue", 20)]).await;
    assert_eq!(votes(&world, "bob").await, ([1, 1], Some("blue".to_owned())));
    assert_eq!(votes(&world, "eve").await, ([1, 0], Some("red".to_owned())));
    project_rest(&world, &mut seen).await;
    world.done(&[vote("bob", "red", 30)]).await;
    assert_eq!(votes(&world, "bob").await, ([2, 0], Some("red".to_owned())));
    project_rest(&world, &mut seen).await;
    // The end comes before what was counted of bob.
    world.done(&[close(25)]).await;
    project_rest(&world, &mut seen).await;
    assert_eq!(votes(&world, "bob").await, ([1, 1], Some("blue".to_owned())));
    assert_eq!(votes(&world, "eve").await, ([1, 1], Some("red".to_owned())));
}

#[derive(Debug, Clone)]
enum Step {
    Like {
        viewer: usize,
        liked: bool,
        at: usize,
    },
    Vote {
        viewer: usize,
        choice: usize,
        at: usize,
    },
    Project {
        shard: usize,
        count: usize,
    },
    /// So many people whom nobody has seen before are folded.
    Crowd(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..5_usize, any::<bool>(), 0..60_usize).prop_map(|(viewer, liked, at)| Step::Like {
            viewer,
            liked,
            at
        }),
        (0..5_usize, 0..3_usize, 5..55_usize).prop_map(|(viewer, choice, at)| Step::Vote {
            viewer,
            choice,
            at
        }),
        (0..3_usize, 1..6_usize).prop_map(|(shard, count)| Step::Project { shard, count }),
        (1..40_usize).prop_map(Step::Crowd),
    ]
}

/// What somebody's commands come to.
#[derive(Debug, Clone, Default)]
struct ViewerCommands {
    likes: Vec<(usize, bool)>,
    votes: Vec<(usize, usize)>,
}

impl ViewerCommands {
    fn likes(&self) -> bool {
        let latest = self.likes.iter().max_by_key(|(at, liked)| (*at, !liked));
        latest.is_some_and(|(_, liked)| *liked)
    }

    fn vote(&self) -> Option<usize> {
        let within = self.votes.iter().filter(|(at, _)| (10..50).contains(at));
        let latest = within.max_by_key(|(at, choice)| (*at, CHOICES[*choice]))?;
        Some(latest.1).filter(|choice| *choice < 2)
    }
}

/// A shard of each viewer: all changes of its rows.
fn shard_of(record: &StreamRecord) -> usize {
    let keys = record.keys.get();
    VIEWERS.iter().position(|viewer| keys.contains(&format!("#{viewer}\""))).map_or(0, |n| n % 3)
}

/// A change that is not projected yet: whose, and what they had said when it came.
type Behind = (StreamRecord, usize, ViewerCommands);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_number_has_the_caller_s_own_part_and_of_others_what_is_projected(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            world.done(&[publish("anna", "a", AT)]).await;
            world.done(&[open()]).await;
            project(&world, "first", &records(&world)).await;
            let mut seen = records(&world).len();
            let (mut waiting, mut strangers): ([Vec<Behind>; 3], usize) = Default::default();
            let (mut said, mut counted) = (vec![ViewerCommands::default(); 5], vec![ViewerCommands::default(); 5]);
            for step in &steps {
                match step {
                    Step::Like { viewer, liked, at } => {
                        said[*viewer].likes.push((*at, *liked));
                        world.done(&[like(VIEWERS[*viewer], *liked, *at)]).await;
                    }
                    Step::Vote { viewer, choice, at } => {
                        said[*viewer].votes.push((*at, *choice));
                        world.done(&[vote(VIEWERS[*viewer], CHOICES[*choice], *at)]).await;
                    }
                    Step::Project { shard, count } => {
                        let count = (*count).min(waiting[*shard].len());
                        let taken: Vec<_> = waiting[*shard].drain(..count).collect();
                        let batch: Vec<_> = taken.iter().map(|(record, ..)| record.clone()).collect();
                        if !batch.is_empty() {
                            project(&world, &shard.to_string(), &batch).await;
                        }
                        for (_, viewer, then) in taken {
                            counted[viewer] = then;
                        }
                    }
                    Step::Crowd(people) => {
                        for n in strangers..strangers + people {
                            let viewer = format!("crowd-{n}");
                            world.done(&[like(&viewer, true, 20), vote(&viewer, "red", 20)]).await;
                        }
                        strangers += people;
                        let all = records(&world);
                        project(&world, "crowd", &all[seen..]).await;
                        seen = all.len();
                    }
                }
                if let Step::Like { viewer, .. } | Step::Vote { viewer, .. } = step {
                    let all = records(&world);
                    let new = all[seen..].iter().cloned();
                    for record in new {
                        waiting[shard_of(&record)].push((record, *viewer, said[*viewer].clone()));
                    }
                    seen = all.len();
                }
                let mut shown = BTreeMap::new();
                for (number, viewer) in VIEWERS.iter().enumerate() {
                    let mut as_shown = counted.clone();
                    as_shown[number] = said[number].clone();
                    let crowd = strangers as u64;
                    let count = as_shown.iter().filter(|said| said.likes()).count() as u64 + crowd;
                    let mut sums = [0, 1].map(|choice| {
                        as_shown.iter().filter(|said| said.vote() == Some(choice)).count() as u64
                    });
                    sums[0] += crowd;
                    let vote = said[number].vote().map(|choice| CHOICES[choice].to_owned());
                    let (likes, votes) = join(likes(&world, viewer), votes(&world, viewer)).await;
                    shown.insert(viewer, (likes, votes.clone()));
                    assert_eq!(likes, (count, said[number].likes()), "{viewer}, {shown:?}");
                    assert_eq!(votes, (sums, vote), "{viewer}, {shown:?}");
                }
            }
        });
    }
}

/// A vote that comes before its poll waits; one that follows it may make a difference only to the end that the poll gets later.
#[tokio::test]
async fn what_overtook_a_waiting_vote_is_not_believed() {
    let (world, mut seen) = (World::new(), 0);
    for command in [close(11), vote("bob", "red", 11), open(), vote("bob", "red", 10)] {
        world.done(&[command]).await;
    }
    project_rest(&world, &mut seen).await;
    for viewer in ["bob", "eve"] {
        let vote = (viewer == "bob").then(|| "red".to_owned());
        assert_eq!(votes(&world, viewer).await, ([1, 0], vote), "{viewer}");
    }
}

/// A step of a poll that may be opened late and closed early.
#[derive(Debug, Clone)]
enum LateStep {
    Open,
    Close(usize),
    Vote {
        viewer: usize,
        choice: usize,
        at: usize,
    },
    /// Hands over the next changes of a shard, after some that it was handed before.
    Project {
        shard: usize,
        again: usize,
        count: usize,
    },
}

/// Three shards of voters; the poll itself is in the first.
const SHARDS: usize = 3;
/// More than a view lists.
const VOTERS: usize = 24;

fn late_step() -> impl Strategy<Value = LateStep> {
    let instant = || proptest::sample::select(vec![9_usize, 10, 11, 20, 30, 31, 49, 50]);
    prop_oneof![
        1 => Just(LateStep::Open),
        1 => instant().prop_map(LateStep::Close),
        30 => (0..VOTERS, 0..3_usize, instant())
            .prop_map(|(viewer, choice, at)| LateStep::Vote { viewer, choice, at }),
        12 => (0..SHARDS, 0..4_usize, 1..9_usize)
            .prop_map(|(shard, again, count)| LateStep::Project { shard, again, count }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn once_all_is_projected_everybody_is_shown_the_recount(
        few in 1..VOTERS,
        steps in proptest::collection::vec(late_step(), 1..120),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new();
            let (mut handed, mut seen) = ([0; SHARDS], 0);
            let mut shards: [Vec<StreamRecord>; SHARDS] = Default::default();
            let mut ends = vec![50];
            let mut voted = vec![ViewerCommands::default(); VOTERS];
            let rest = (0..SHARDS).map(|shard| LateStep::Project { shard, again: 0, count: 999 });
            for step in steps.into_iter().chain([LateStep::Open]).chain(rest) {
                match step {
                    LateStep::Open => world.done(&[open()]).await,
                    LateStep::Close(at) => {
                        ends.push(at);
                        world.done(&[close(at)]).await;
                    }
                    LateStep::Vote { viewer, choice, at } => {
                        let viewer = viewer % few;
                        voted[viewer].votes.push((at, choice));
                        world.done(&[vote(&format!("v{viewer}"), CHOICES[choice], at)]).await;
                    }
                    LateStep::Project { shard, again, count } => {
                        let end = (handed[shard] + count).min(shards[shard].len());
                        let batch = &shards[shard][handed[shard].saturating_sub(again)..end];
                        if !batch.is_empty() {
                            project(&world, &shard.to_string(), batch).await;
                        }
                        handed[shard] = end;
                    }
                }
                let all = records(&world);
                for record in &all[seen..] {
                    let keys = record.keys.get();
                    let of = |n: &usize| keys.contains(&format!("#v{n}\""));
                    shards[(0..VOTERS).find(of).unwrap_or(0) % SHARDS].push(record.clone());
                }
                seen = all.len();
            }
            let end = ends.into_iter().min().unwrap();
            let counting = |viewer: &ViewerCommands| {
                let votes = viewer.votes.iter().filter(|(at, _)| *at < end).copied().collect();
                ViewerCommands { votes, ..ViewerCommands::default() }.vote()
            };
            let count = |n| voted.iter().filter(|viewer| counting(viewer) == Some(n)).count() as u64;
            let sums = [count(0), count(1)];
            for (n, viewer) in voted.iter().enumerate() {
                let vote = counting(viewer).map(|choice| CHOICES[choice].to_owned());
                assert_eq!(votes(&world, &format!("v{n}")).await, (sums, vote), "v{n}");
            }
        });
    }
}

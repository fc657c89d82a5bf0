//! Which polls and battles there are: those that run, and those that ended lately.
//!
//! Nothing lists them, since nothing but their id leads to them. A local stack's facts are looked through, as far as that
//! is quick. On an account that would cost as much as the table is large: there it is those that were opened from this
//! console.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};
use shared::platform::dynamo::item::{self, Key, Row};
use shared::platform::dynamo::{DynamoError, Query, Table};
use shared::platform::values::Timestamp;
use shared::social::battles::{BattleRow, keys as battles};
use shared::social::polls::{PollRow, keys as polls};

use super::What;
use crate::prelude::*;

/// Of each kind, beside all that run.
const LISTED: usize = 20;
/// Of each kind, whose state is read: the latest.
const READ: usize = 200;
/// Facts that are looked through, in pages of as many as a call looks at.
const LOOKED_THROUGH: u64 = 20_000;
/// Read at once.
const AT_ONCE: usize = 8;

/// Something that was opened.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Opened {
    what: What,
    /// A poll when it opens.
    at: Reverse<Timestamp>,
    id: String,
}

/// What is known, each with how it stands.
pub(super) async fn list(console: &Console) -> Result<Markup, Failure> {
    let (mut all, is_cut) = match console.account {
        None => opened(console).await?,
        Some(_) => (opened_here(console), false),
    };
    all.extend(played(console, &all));
    all.sort();
    let (polls, battles) = all.into_iter().partition(|one| one.what == What::Poll);
    Ok(html! {
        @if console.account.is_some() {
            p class="quiet" { "Listed is what was opened from this console. To find all others, all facts of the account would have to be read." }
        }
        (of_kind(console, "Polls", polls).await?)
        (of_kind(console, "Battles", battles).await?)
        @if is_cut {
            p role="status" { "There are many facts, and the first " (LOOKED_THROUGH) " were looked through: what is not listed is found by its id." }
        }
    })
}

/// Ids of polls and of battles, the latest first.
pub(crate) async fn latest(console: &Console) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut all, _) = opened(console).await?;
    all.sort();
    let ids = |what| {
        let of = all.iter().filter(|one| one.what == what).take(LISTED);
        of.map(|one| one.id.clone()).collect()
    };
    Ok((ids(What::Poll), ids(What::Battle)))
}

async fn of_kind(console: &Console, title: &str, all: Vec<Opened>) -> Result<Markup, Failure> {
    let number = all.len();
    let reads = all.into_iter().take(READ).map(|one| read(console, one));
    let stand: Vec<_> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
    let mut stand: Vec<_> = stand.into_iter().flatten().collect();
    // A stable sort: the latest stay first within each.
    stand.sort_by_key(|(_, body)| rank(body));
    let run = stand.iter().take_while(|(_, body)| rank(body) == 0).count();
    stand.truncate(run.max(LISTED));
    Ok(html! {
        section class="card" aria-label=(title) {
            h2 { (title) }
            @if stand.is_empty() { p class="quiet" { "None is known." } }
            ul class="entries" { @for (opened, body) in &stand { (row(opened, body)) } }
            @if number > READ { p class="quiet" { "Those that run, and the latest others, of the " (READ) " that were opened last. There are " (number) "." } }
            @else if number > stand.len() { p class="quiet" { "Those that run, and the latest others, of " (number) "." } }
        }
    })
}

/// How it stands; nothing for what has not come in yet, or was erased.
async fn read(console: &Console, one: Opened) -> Result<Option<(Opened, Value)>, Failure> {
    let path = ["v1", one.what.folder(), &one.id];
    let read = console.reads.find(&path, &[]).await?;
    Ok(read.map(|read| (one, read.body)))
}

/// What runs comes before what will, and that before what has ended.
fn rank(body: &Value) -> usize {
    let state = body["state"].as_str().unwrap_or_default();
    ["open", "upcoming"].iter().position(|known| *known == state).unwrap_or(2)
}

fn row(opened: &Opened, body: &Value) -> Markup {
    html! {
        li class="entry" {
            div class="entry-head" {
                a href=(named::address(opened.what.name(), &[("id", &opened.id)])) { (opened.id) }
                span class="tag" { (text(body, "state")) }
                @match opened.what {
                    What::Poll => {
                        span { (layout::counted(number(body, "votes"), "vote", "votes")) }
                        span class="quiet" { @if text(body, "state") == "closed" { "closed " } @else { "closes " } (named::when(text(body, "closes_at"))) }
                    },
                    What::Battle => {
                        span { (number(body, "hp_left")) " of " (number(body, "hp")) " hit points left" }
                        span class="quiet" { "opened " (named::instant(opened.at.0)) }
                    },
                }
            }
        }
    }
}

/// What the facts say, and whether they may hold more.
async fn opened(console: &Console) -> Result<(Vec<Opened>, bool), Failure> {
    let facts = console.remote.facts()?;
    let query = Query {
        filter: Some("begins_with(pk, :polls) OR begins_with(pk, :battles)"),
        values: vec![
            (":polls", item::text(polls::POLLS)),
            (":battles", item::text(battles::BATTLES)),
        ],
        ..Query::default()
    };
    let mut all = Vec::new();
    let is_cut = look_through(facts.table(), query, LOOKED_THROUGH, |row| {
        all.extend(of_row(row)?);
        Ok(())
    });
    let is_cut = is_cut.await?;
    Ok((all, is_cut))
}

/// Looks at what a query of a whole table finds among the first items, and says whether there are more.
pub(crate) async fn look_through(
    table: &Table,
    query: Query<'_>,
    most: u64,
    mut each: impl FnMut(&Row<'_>) -> Result<(), DynamoError>,
) -> Result<bool, Failure> {
    let mut scanned = 0;
    let mut pages = pin!(table.pages(query));
    while let Some(page) = pages.try_next().await? {
        page.rows.iter().try_for_each(&mut each)?;
        scanned += page.scanned;
        if scanned >= most && page.next.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Of what was erased nothing but the key is left.
fn of_row(row: &Row<'_>) -> Result<Option<Opened>, DynamoError> {
    let key = Key::of(row)?;
    let (what, id, at) = match (PollRow::of(&key), BattleRow::of(&key)) {
        (Some(PollRow::Opened(poll)), _) => (What::Poll, poll.to_string(), "opens_at"),
        (_, Some(BattleRow::Opened(battle))) => (What::Battle, battle.to_string(), "at"),
        _ => return Ok(None),
    };
    let at = row.optional(at, "an instant")?;
    Ok(at.map(|at| Opened { what, at: Reverse(at), id }))
}

/// What the sample has open, where that was not found.
fn played(console: &Console, found: &[Opened]) -> Vec<Opened> {
    let scene = console.telemetry.as_ref().and_then(|telemetry| telemetry.playing.get());
    let Some(scene) = scene else { return Vec::new() };
    let at = Reverse(nagare_client::clock::clock().now());
    let of = |what, id: Option<String>| id.map(|id| Opened { what, at, id });
    let open = [of(What::Poll, scene.poll), of(What::Battle, scene.battle)];
    let is_new = |one: &Opened| !found.iter().any(|it| it.what == one.what && it.id == one.id);
    open.into_iter().flatten().filter(is_new).collect()
}

fn opened_here(console: &Console) -> Vec<Opened> {
    let of = |body: &Value| {
        let (what, id, at) = match body["type"].as_str()? {
            "poll.opened" => (What::Poll, "poll_id", "opens_at"),
            "battle.opened" => (What::Battle, "battle_id", "at"),
            _ => return None,
        };
        let at = Reverse(body[at].as_str()?.parse().ok()?);
        Some(Opened { what, at, id: body[id].as_str()?.to_owned() })
    };
    let bodies =
        console.sent().into_iter().filter_map(|sent| serde_json::from_str(&sent.body).ok());
    let all = bodies.filter_map(|body| of(&body)).map(|one| ((one.what, one.id.clone()), one));
    all.collect::<BTreeMap<_, _>>().into_values().collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use shared::command::Command;
    use shared::platform::queue::Message;
    use shared::platform::runtime::clock::Clock;
    use shared::platform::values::Timestamp;

    use super::LISTED;
    use crate::console::Mode;
    use crate::tests::{Fixture, account};
    use nagare_client::remote::Remote;
    use nagare_client::running::Note;
    use nagare_client::target::Target;

    /// Sends a command to the queue, past the console.
    async fn send(console: &Fixture, body: &str) {
        let note = Note::new(console.stack.port(), console.stack.environment());
        let remote = Remote::connect(Target::Local(note)).await.unwrap();
        let command = Command::parse(body, Clock::system().now()).unwrap();
        remote.sender().unwrap().send_message(&Message::from(&command)).await.unwrap();
    }

    #[tokio::test]
    async fn what_runs_is_listed_however_much_was_opened_since() {
        let console = Fixture::new(Mode::Write, None).await;
        let now = Clock::system().now().unix_millis();
        let at = |minutes: i64| Timestamp::from_unix_millis(now + minutes * 60_000).to_string();
        let poll = |id: &str, from: i64, to: i64| {
            json!({ "type": "poll.opened", "poll_id": id, "actor_id": "anna", "choices": ["a", "b"],
                "opens_at": at(from), "closes_at": at(to) })
            .to_string()
        };
        for n in 0..LISTED + 5 {
            send(&console, &poll(&format!("over-{n}"), -20, -10)).await;
        }
        send(&console, &poll("runs", -60, 60)).await;
        let all = format!("of {}.", LISTED + 6);
        let listed = console.until("/console/show", &all).await.text;
        assert_eq!(listed.matches("poll?id=").count(), LISTED, "{listed}");
        assert!(listed.find("id=runs") < listed.find("id=over-"), "{listed}");
        console.stack.shut_down().await;
    }

    #[tokio::test]
    async fn on_an_account_what_was_opened_here_is_listed() {
        let account = account();
        let console = Fixture::new(Mode::Write, Some(account)).await;
        let body = r#"{"type":"battle.opened","battle_id":"theirs","actor_id":"anna","hp":10,"at":"2026-01-01T00:00:00Z"}"#;
        send(&console, body).await;
        console.until("/console/battle?id=theirs", "hit points left").await;
        for (battle, at) in
            [("first", "2026-01-01T00:00:00+01:00"), ("second", "2026-01-01T00:00:00Z")]
        {
            console
                .apply(&[
                    ("type", "battle.opened"),
                    ("confirmed", "123456789012"),
                    ("f.battle_id", battle),
                    ("f.actor_id", "anna"),
                    ("f.hp", "10"),
                    ("f.at", at),
                ])
                .await;
        }
        let listed = console.get("/console/show").await.text;
        let [first, second] = ["id=first", "id=second"].map(|link| listed.find(link));
        assert!(second.is_some() && second < first, "{listed}");
        assert!(
            listed.contains("opened from this console") && !listed.contains("id=theirs"),
            "{listed}"
        );
        console.stack.shut_down().await;
    }
}

//! Names to begin with: whoever opens a view for the first time knows no id yet.
//!
//! Of a local stack its tables are looked through, up to [`LOOKED_THROUGH`] items of the ledger, once in [`KEPT`]. On an
//! account that would cost as much as the tables are large: there it is what was sent from this console.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use maud::{Markup, html};
use serde_json::Value;
use shared::dynamo::Query;
use shared::dynamo::item::{Key, text};
use shared::events::PeriodState;
use shared::ledger_item::LedgerItem;
use shared::rooms::RoomItem;

use super::{Console, PATH, layout, named, show};
use crate::client::remote::soon;
use crate::failure::Failure;

/// Items that are looked through, in pages of as many as a call looks at.
const LOOKED_THROUGH: u64 = 5_000;
/// Events whose customers are looked at.
const CUSTOMERS_LOOKED_AT: i32 = 200;
/// How long what was found is shown.
const KEPT: Duration = Duration::from_secs(15);
/// Of each kind.
const SHOWN: usize = 16;

/// Some ids of each kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Suggestions {
    /// Those that are followed, the most followed first, and then those that follow.
    pub(super) people: Vec<String>,
    pub(super) followers: Vec<String>,
    pub(super) activities: Vec<String>,
    pub(super) rooms: Vec<String>,
    /// The latest first.
    pub(super) polls: Vec<String>,
    pub(super) battles: Vec<String>,
    /// Customers of tenants, with their tenants.
    pub(super) customers: Vec<(String, String)>,
}

/// Those of a moment ago.
pub(super) type Remembered = Option<(Instant, Suggestions)>;

impl Suggestions {
    /// What there is; nothing where it cannot be read, since nothing depends on it.
    pub(super) async fn of(console: &Console) -> Self {
        if console.account.is_some() {
            return Self::sent(console);
        }
        if let Some((at, found)) = &*console.suggested.lock().await
            && at.elapsed() < KEPT
        {
            return found.clone();
        }
        let found = match Self::looked_through(console).await {
            Ok(found) => found,
            Err(failure) => {
                tracing::warn!("there are no suggestions: {failure}");
                Self::default()
            }
        };
        *console.suggested.lock().await = Some((Instant::now(), found.clone()));
        found
    }

    async fn looked_through(console: &Console) -> Result<Self, Failure> {
        let ledger = console.remote.ledger()?;
        let query = Query {
            filter: Some("begins_with(pk, :follows) OR begins_with(pk, :rooms) OR sk = :claim"),
            projection: Some("pk, sk"),
            values: vec![
                (":follows", text("followers#")),
                (":rooms", text("room#")),
                (":claim", text("claim")),
            ],
            ..Query::default()
        };
        let (mut seen, mut scanned) = (Seen::default(), 0);
        let mut pages = pin!(ledger.table().pages(query, soon));
        while let Some(page) = pages.try_next().await? {
            for row in &page.rows {
                let key = Key::of(row)?;
                seen.add(LedgerItem::of(&key.pk, &key.sk));
            }
            scanned += page.scanned;
            if scanned >= LOOKED_THROUGH {
                break;
            }
        }
        let (polls, battles) = show::known(console).await?;
        let customers = customers(console).await?;
        Ok(Self { polls, battles, customers, ..seen.into_suggestions() })
    }

    /// What was sent from this console.
    fn sent(console: &Console) -> Self {
        let bodies: Vec<Value> = console
            .sent()
            .iter()
            .filter_map(|sent| serde_json::from_str(&sent.body).ok())
            .collect();
        let of = |members: &[&str]| {
            let mut all: Vec<String> = Vec::new();
            for id in bodies
                .iter()
                .flat_map(|body| members.iter().filter_map(|name| body[*name].as_str()))
            {
                if all.len() < SHOWN && !all.iter().any(|known| known == id) {
                    all.push(id.to_owned());
                }
            }
            all
        };
        Self {
            people: of(&["actor_id", "followee_id"]),
            followers: of(&["viewer_id", "follower_id", "author_id"]),
            activities: of(&["activity_id"]),
            rooms: of(&["room_id"]),
            polls: of(&["poll_id"]),
            battles: of(&["battle_id"]),
            customers: bodies
                .iter()
                .filter_map(customer)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .take(SHOWN)
                .collect(),
        }
    }
}

/// About whom a command says something.
fn customer(body: &Value) -> Option<(String, String)> {
    let text = |name: &str| body[name].as_str().map(ToOwned::to_owned);
    Some((text("tenant_id")?, text("customer_id")?))
}

/// Those of whom the newest table of events has some.
async fn customers(console: &Console) -> Result<Vec<(String, String)>, Failure> {
    let events = console.remote.events()?;
    let rows = events.periods().newest_until(|_| false, soon()).await?;
    let Some(current) = rows.iter().find(|row| row.state == PeriodState::Current) else {
        return Ok(Vec::new());
    };
    let query =
        Query { projection: Some("pk"), limit: Some(CUSTOMERS_LOOKED_AT), ..Query::default() };
    let table = events.tables().table(current.period);
    let mut found = BTreeSet::new();
    if let Some(page) = pin!(table.pages(query, soon)).try_next().await? {
        for row in &page.rows {
            let pk = row.text("pk")?;
            let mut parts = pk.split('#').map(ToOwned::to_owned);
            found.extend(parts.next().zip(parts.next()));
        }
    }
    Ok(found.into_iter().take(SHOWN).collect())
}

/// What the ledger says of whom.
#[derive(Default)]
struct Seen {
    followed: BTreeMap<String, usize>,
    followers: BTreeMap<String, usize>,
    activities: BTreeSet<String>,
    rooms: BTreeSet<String>,
}

impl Seen {
    fn add(&mut self, item: Option<LedgerItem>) {
        match item {
            Some(LedgerItem::Edge(follower, followee)) => {
                *self.followed.entry(followee.to_string()).or_default() += 1;
                *self.followers.entry(follower.to_string()).or_default() += 1;
            }
            Some(LedgerItem::Claim(activity)) => _ = self.activities.insert(activity.to_string()),
            Some(LedgerItem::Room(RoomItem::Room(room) | RoomItem::Claim(room, _))) => {
                _ = self.rooms.insert(room.to_string())
            }
            _ => {}
        }
    }

    fn into_suggestions(self) -> Suggestions {
        let most = |all: BTreeMap<String, usize>| {
            let mut all: Vec<_> = all.into_iter().collect();
            all.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
            all.into_iter().map(|(id, _)| id).take(SHOWN).collect::<Vec<_>>()
        };
        Suggestions {
            people: most(self.followed),
            followers: most(self.followers),
            activities: self.activities.into_iter().take(SHOWN).collect(),
            rooms: self.rooms.into_iter().take(SHOWN).collect(),
            ..Suggestions::default()
        }
    }
}

/// People to look at, each as a link to a view of theirs.
pub(super) fn people(said: &str, ids: &[String], view: &str, parameter: &str) -> Markup {
    links(said, ids, |id| {
        let address = format!("{PATH}{}", layout::address(view, &[(parameter, id)]));
        html! { a class="person" href=(address) { (named::initial(id)) (id) } }
    })
}

/// Other things to look at.
pub(super) fn things(ids: &[String], view: &str) -> Markup {
    links("Try: ", ids, |id| html! { a href=(named::of(view, id)) { (id) } })
}

/// Ids, each as a link; nothing where there are none.
pub(super) fn links(said: &str, ids: &[String], link: impl Fn(&str) -> Markup) -> Markup {
    html! {
        @if !ids.is_empty() {
            nav class="suggested" aria-label="Suggestions" {
                span class="quiet" { (said) }
                ul class="chips" { @for id in ids { li { (link(id)) } } }
            }
        }
    }
}

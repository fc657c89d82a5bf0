//! Names to begin with: whoever opens a view for the first time knows no id yet.
//!
//! Of a local stack its tables are looked through, up to [`LOOKED_THROUGH`] items of each, once in [`KEPT`]. On an
//! account that would cost as much as the tables are large: there it is what was sent from this console.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use maud::{Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;
use shared::dynamo::item::{Key, text};
use shared::dynamo::{Query, Table};
use shared::events::Customer;
use shared::ledger_item::LedgerItem;
use shared::rooms::RoomItem;
use shared::summaries::keys::{self as summaries, SummaryItem};
use shared::tenants::TenantItem;

use super::{Console, PATH, layout, named, show, tenants as of_tenants};

/// Items of a table that are looked through, in pages of as many as a call looks at.
const LOOKED_THROUGH: u64 = 5_000;
/// How long what was found is shown.
const KEPT: Duration = Duration::from_secs(15);
/// Of each kind.
const SHOWN: usize = 16;
/// Of each kind, where several kinds stand together.
const FEW: usize = 5;

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
    /// Customers of tenants of whom there are events.
    pub(super) customers: Vec<Customer>,
    /// Those of these customers, and those who have said or defined something.
    pub(super) tenants: Vec<String>,
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
            filter: Some(
                "begins_with(pk, :follows) OR begins_with(pk, :rooms) OR begins_with(pk, :tenants) OR sk = :claim",
            ),
            projection: Some("pk, sk"),
            values: vec![
                (":follows", text("followers#")),
                (":rooms", text("room#")),
                (":tenants", text("tenant#")),
                (":claim", text("claim")),
            ],
            ..Query::default()
        };
        let mut seen = Seen::default();
        look_through(ledger.table(), query, |key| seen.add(LedgerItem::of(&key.pk, &key.sk)))
            .await?;
        let (polls, battles) = show::known(console).await?;
        let customers = customers(console).await?;
        seen.tenants.extend(customers.iter().map(|it| it.tenant_id.to_string()));
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
            tenants: of(&["tenant_id"]),
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

/// Customers that are listed among the views, by tenant and id.
async fn customers(console: &Console) -> Result<Vec<Customer>, Failure> {
    let views = console.remote.views()?;
    let query = Query {
        filter: Some("begins_with(pk, :customers)"),
        projection: Some("pk, sk"),
        values: vec![(":customers", text(summaries::CUSTOMERS))],
        ..Query::default()
    };
    let mut found = BTreeSet::new();
    look_through(views.table(), query, |key| {
        if let Some(SummaryItem::Listed(customer)) = SummaryItem::of_key(&key) {
            found.insert(customer);
        }
    })
    .await?;
    Ok(found.into_iter().take(SHOWN).collect())
}

/// The keys that a query of a whole table finds among the first items.
async fn look_through(
    table: &Table,
    query: Query<'_>,
    mut each: impl FnMut(Key),
) -> Result<(), Failure> {
    let mut scanned = 0;
    let mut pages = pin!(table.pages(query));
    while scanned < LOOKED_THROUGH
        && let Some(page) = pages.try_next().await?
    {
        for row in &page.rows {
            each(Key::of(row)?);
        }
        scanned += page.scanned;
    }
    Ok(())
}

/// Whom a command is about, if it is a customer.
fn customer(body: &Value) -> Option<Customer> {
    let of = |name: &str| body[name].as_str();
    format!("{}#{}", of("tenant_id")?, of("customer_id")?).parse().ok()
}

/// What the ledger says of whom.
#[derive(Default)]
struct Seen {
    followed: BTreeMap<String, usize>,
    followers: BTreeMap<String, usize>,
    activities: BTreeSet<String>,
    rooms: BTreeSet<String>,
    tenants: BTreeSet<String>,
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
            Some(LedgerItem::Tenant(item)) => match item {
                TenantItem::Rule(tenant, _) | TenantItem::Score(tenant, _) => {
                    _ = self.tenants.insert(tenant.to_string())
                }
                TenantItem::Payload(customer) => {
                    _ = self.tenants.insert(customer.tenant_id.to_string())
                }
                _ => {}
            },
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
            tenants: self.tenants.into_iter().take(SHOWN).collect(),
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

/// A few of one kind, beside those of others, each as a link to an address.
pub(super) fn few(said: &str, ids: &[String], address: impl Fn(&str) -> String) -> Markup {
    let ids = &ids[..ids.len().min(FEW)];
    links(said, ids, |id| html! { a href={ (PATH) (address(id)) } { (id) } })
}

/// Customers, each as a link to their history.
pub(super) fn customers_of(all: &[Customer]) -> Markup {
    links("Try: ", all, |Customer { tenant_id, customer_id }| {
        let of = [("tenant", tenant_id.as_str()), ("customer", customer_id.as_str())];
        html! { a href={ (PATH) (layout::address("history", &of)) } { (customer_id) " of " (tenant_id) } }
    })
}

/// Tenants, each as a link to their page.
pub(super) fn tenants(all: &[String]) -> Markup {
    links("Try: ", all, |tenant| html! { a href=(of_tenants::address(tenant)) { (tenant) } })
}

fn links<T>(said: &str, all: &[T], link: impl Fn(&T) -> Markup) -> Markup {
    html! {
        @if !all.is_empty() {
            nav class="suggested" aria-label="Suggestions" {
                span class="quiet" { (said) }
                ul class="chips" { @for one in all { li { (link(one)) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use shared::runtime::clock::Clock;

    use crate::Mode;
    use crate::tests::{Fixture, account};

    const EVENTS: &str = "/console/events";

    async fn record(console: &Fixture, confirmed: &str) {
        let at = Clock::system().now().to_string();
        let mut fields = vec![
            ("type", "event.recorded"),
            ("f.tenant_id", "acme"),
            ("f.customer_id", "c-9"),
            ("f.event_id", "e1"),
            ("f.name", "login"),
            ("f.at", &at),
        ];
        if !confirmed.is_empty() {
            fields.push(("confirmed", confirmed));
        }
        console.apply(&fields).await;
    }

    #[tokio::test]
    async fn views_of_what_is_stored_open_with_what_is_known() {
        let console = Fixture::new(Mode::Write, None).await;
        let at = Clock::system().now().to_string();
        let follow = [
            ("type", "follow.created"),
            ("f.follower_id", "bob"),
            ("f.followee_id", "anna"),
            ("f.at", &at),
        ];
        console.apply(&follow).await;
        record(&console, "").await;
        console.until("/console/tables?table=views&pk=customers%23acme", "c-9").await;
        for (view, link) in [
            (EVENTS, "history?tenant=acme&amp;customer=c-9"),
            ("/console/audit", "audit?viewer=bob"),
            ("/console/tables", "tables?what=who+follows+an+actor&amp;id=anna"),
        ] {
            let page = console.get(view).await.text;
            let link = format!("href=\"/console/{link}\"");
            assert!(page.contains(&link), "{view}: {page}");
            // Where something is chosen nothing else is suggested, and what is suggested is there.
            let chosen = link.trim_start_matches("href=\"").trim_end_matches('"');
            let page = console.get(&chosen.replace("&amp;", "&")).await.text;
            assert!(!page.contains("Suggestions") && !page.contains("Nothing is"), "{page}");
        }
        console.stack.shut_down().await;
    }

    #[tokio::test]
    async fn customers_of_an_account_are_those_sent_from_here() {
        let console = Fixture::new(Mode::Write, Some(account())).await;
        let page = console.get(EVENTS).await.text;
        assert!(page.contains("commands?type=event.recorded"), "{page}");
        record(&console, "123456789012").await;
        let page = console.get(EVENTS).await.text;
        assert!(page.contains("history?tenant=acme&amp;customer=c-9"), "{page}");
        assert!(!page.contains("commands?type=event.recorded"), "{page}");
        console.stack.shut_down().await;
    }
}

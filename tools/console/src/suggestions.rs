//! Names to begin with: whoever opens a view for the first time knows no id yet.
//!
//! Of a local stack its tables are looked through, up to [`LOOKED_THROUGH`] items of each, once in [`KEPT`]. On an
//! account that would cost as much as the tables are large: there it is what was sent from this console.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use maud::{Markup, html};
use nagare_client::failure::Failure;
use serde_json::Value;
use shared::history::events::Customer;
use shared::history::summaries::keys::{self as summaries, SummaryItem};
use shared::history::tenants::TenantItem;
use shared::ledger_item::LedgerItem;
use shared::platform::dynamo::Query;
use shared::platform::dynamo::item::{Key, text};
use shared::social::activities::ActivityItem;
use shared::social::rooms::RoomItem;

use crate::address::PATH;
use crate::console::Console;
use crate::named;
use crate::social::show;
use crate::suggested::Suggestions;

/// Items of a table that are looked through, in pages of as many as a call looks at.
const LOOKED_THROUGH: u64 = 5_000;
/// How long what was found is shown.
const KEPT: Duration = Duration::from_secs(15);
/// Of each kind.
const SHOWN: usize = 16;
/// Of each kind, where several kinds stand together.
const FEW: usize = 5;

impl Suggestions {
    /// What there is; nothing where it cannot be read, since nothing depends on it.
    pub(super) async fn read(console: &Console) -> Self {
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
        let mut found = Self::default();
        let (mut followed, mut following) = (BTreeMap::new(), BTreeMap::new());
        show::look_through(ledger.table(), query, LOOKED_THROUGH, |row| {
            let Key { pk, sk } = Key::of(row)?;
            match LedgerItem::of(&pk, &sk) {
                Some(LedgerItem::Edge(follower, followee)) => {
                    *followed.entry(followee.to_string()).or_default() += 1;
                    *following.entry(follower.to_string()).or_default() += 1;
                }
                Some(LedgerItem::Activity(ActivityItem::Claim(activity))) => {
                    found.activities.push(activity.to_string())
                }
                Some(LedgerItem::Room(RoomItem::Room(room) | RoomItem::Claim(room, _))) => {
                    found.rooms.push(room.to_string());
                }
                Some(LedgerItem::Tenant(
                    TenantItem::Rule(tenant, _) | TenantItem::Score(tenant, _),
                )) => {
                    found.tenants.push(tenant.to_string());
                }
                Some(LedgerItem::Tenant(TenantItem::Payload(customer))) => {
                    found.tenants.push(customer.tenant_id.to_string());
                }
                _ => {}
            }
            Ok(())
        })
        .await?;
        (found.polls, found.battles) = show::known(console).await?;
        found.customers = customers(console).await?;
        found.tenants.extend(found.customers.iter().map(|it| it.tenant_id.to_string()));
        (found.people, found.followers) = (most(followed), most(following));
        for some in [&mut found.activities, &mut found.rooms, &mut found.tenants] {
            some.sort();
            some.dedup();
            some.truncate(SHOWN);
        }
        Ok(found)
    }

    fn sent(console: &Console) -> Self {
        let sent = console.sent();
        let bodies = sent.iter().filter_map(|sent| serde_json::from_str(&sent.body).ok());
        let bodies: Vec<Value> = bodies.collect();
        let of = |members: &[&str]| {
            let ids =
                bodies.iter().flat_map(|body| members.iter().filter_map(|it| body[*it].as_str()));
            let mut known = BTreeSet::new();
            ids.filter(|id| known.insert(*id)).take(SHOWN).map(ToOwned::to_owned).collect()
        };
        let customers: BTreeSet<_> = bodies.iter().filter_map(customer).collect();
        Self {
            people: of(&["actor_id", "followee_id"]),
            followers: of(&["viewer_id", "follower_id", "author_id"]),
            activities: of(&["activity_id"]),
            rooms: of(&["room_id"]),
            polls: of(&["poll_id"]),
            battles: of(&["battle_id"]),
            tenants: of(&["tenant_id"]),
            customers: customers.into_iter().take(SHOWN).collect(),
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
    show::look_through(views.table(), query, LOOKED_THROUGH, |row| {
        if let Some(SummaryItem::Listed(customer)) = SummaryItem::of_key(&Key::of(row)?) {
            found.insert(customer);
        }
        Ok(())
    })
    .await?;
    Ok(found.into_iter().take(SHOWN).collect())
}

fn customer(body: &Value) -> Option<Customer> {
    let of = |name: &str| body[name].as_str();
    format!("{}#{}", of("tenant_id")?, of("customer_id")?).parse().ok()
}

/// Those that were found most often.
fn most(found: BTreeMap<String, usize>) -> Vec<String> {
    let mut all: Vec<_> = found.into_iter().collect();
    // A stable sort of what is sorted by id.
    all.sort_by_key(|(_, number)| Reverse(*number));
    all.into_iter().map(|(id, _)| id).take(SHOWN).collect()
}

/// People to look at, each as a link to a view of theirs.
pub(super) fn people(said: &str, ids: &[String], view: &str, parameter: &str) -> Markup {
    links(said, ids, |id| {
        html! { a class="person" href=(named::path(view, &[(parameter, id)])) { (named::initial(id)) (id) } }
    })
}

pub(super) fn things(ids: &[String], view: &str) -> Markup {
    links("Try: ", ids, |id| html! { a href=(named::path_of(view, id)) { (id) } })
}

/// A few of several kinds, each as a link to the address that a kind's last part and an id make.
pub(super) fn few(
    kinds: &[(&str, &[String], &str)],
    address: impl Fn(&str, &str) -> String,
) -> Markup {
    html! {
        @for (said, ids, of) in kinds {
            (links(said, &ids[..ids.len().min(FEW)], |id| html! { a href={ (PATH) (address(of, id)) } { (id) } }))
        }
    }
}

/// Customers, each as a link to their history.
pub(super) fn customers_of(all: &[Customer]) -> Markup {
    links("Try: ", all, |Customer { tenant_id, customer_id }| {
        let of = [("tenant", tenant_id.as_str()), ("customer", customer_id.as_str())];
        html! { a href=(named::path("history", &of)) { (customer_id) " of " (tenant_id) } }
    })
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

    use shared::platform::runtime::clock::Clock;

    use crate::console::Mode;
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

//! Audits of summaries: compares what is folded from events with tables and archives, and makes views again that are wrong.
//!
//! # When a view is wrong
//!
//! Views are read before the events, and events only become more. So a view that is right never counts more than the events that were
//! found. If it counts less, the rest may be in the stream. A customer whose view differs is compared again, alone: the view, then
//! the events. If both agree now, the rest was in the stream. If neither the version of the view nor the events have changed for
//! [`STILL`], the view is wrong, or the projector is behind. A view that changes for a minute and is never right is reported as not
//! compared.
//!
//! Names and witnesses count the events of all customers, and change all the time. They are right if each number that was found lies
//! between what they said before and what they say now. If nothing came meanwhile, these two are the same, and the comparison is
//! exact.
//!
//! # What only views know
//!
//! Each day belongs to one period. Once the archive of a period has expired, only the views know what happened on its days. So these
//! days are a *base*: they are taken from the customer's view as they are. Names have the bases of their customers.
//!
//! # Why a view that is made again is right
//!
//! No view is made again while some of it may be in the stream ([`remaking`]). A view is written over the version that was compared,
//! with the marks of that version. What was folded up to then is in the events, and what comes later is folded into what is written.
//! A name or a witness is made again only if nobody has written it since before the events were read. If somebody has, or if the
//! projector is behind, it is left for another time. If an object of an archive is damaged, nothing is made again.
//!
//! # What bounds it
//!
//! Customers are counted [`TOGETHER`] at a time, chosen by a hash of their ids, and each time all events are read. In memory are the
//! counts of these customers, those of all names of the tenant, and an id for each alert.

mod alerts;
pub(crate) mod names;
mod remaking;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nagare_client::clock::clock;
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use serde::Serialize;
use shared::history::events::{Archives, Customer, Events, PeriodRow, Tally};
use shared::history::summaries::{CustomerSummary, NameView, Summaries, day_of};
use shared::history::tenants::{Definitions, RuleDefinition, When};
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::{AlertId, CustomerId, EventName, TenantId, spread};
use tokio::time::Instant;

use super::recount::{Counted, Recount, is_base};
use crate::audit::Found;
use crate::event_scope::EventScope;
use crate::{Result, progress};

/// How long a view and its events must not change until the view counts as wrong.
const STILL: Duration = Duration::from_secs(10);
/// How long a difference is examined.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two comparisons.
const PAUSE: Duration = Duration::from_millis(500);
/// Customers whose events are counted at once.
const TOGETHER: usize = 20_000;
const IDS: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryFault {
    Customer,
    Name,
    Witness,
    /// An alert that should be listed, or should not.
    Alert,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SummaryDifference {
    pub tenant_id: TenantId,
    pub difference: SummaryFault,
    /// The customer, the name, the period or the alert.
    pub of: String,
    /// What is stored, and what it should be.
    pub detail: String,
}

#[derive(Debug)]
pub struct SummariesAuditor {
    recount: Recount,
    summaries: Summaries,
    ledger: Ledger,
    clock: Clock,
}

struct Audited<'a> {
    auditor: &'a SummariesAuditor,
    scope: &'a EventScope,
    mends: bool,
    periods: Vec<PeriodRow>,
    found: Found<SummaryDifference, String>,
    names: BTreeMap<EventName, NameView>,
    rules: Vec<RuleDefinition>,
    asked: BTreeSet<AlertId>,
    /// Customers whose views are wrong, and to be made again.
    wrong: Vec<(CustomerId, Suspect)>,
}

/// A customer whose view differed.
struct Suspect {
    version: i64,
    counts: CustomerSummary,
    since: Instant,
}

impl SummariesAuditor {
    /// Over the tables and archives of a stack.
    ///
    /// # Errors
    /// [`Failure::Usage`] if one of them is not named.
    pub fn over(remote: &Remote) -> Result<Self, Failure> {
        let ledger = remote.ledger()?;
        let events = (remote.events()?, Archives::new(&ledger), remote.objects()?);
        Ok(Self::new(events, Summaries::new(&remote.views()?), ledger, clock()))
    }

    pub fn new(
        (events, archives, objects): (Events, Archives, Objects),
        summaries: Summaries,
        ledger: Ledger,
        clock: Clock,
    ) -> Self {
        Self { recount: Recount { events, archives, objects }, summaries, ledger, clock }
    }

    /// The differences of a tenant or of one of its customers. With `mends`, wrong views are made again.
    pub async fn differences(
        &self,
        scope: &EventScope,
        mends: bool,
    ) -> Result<Found<SummaryDifference, String>, Failure> {
        let periods = self.recount.periods().await?;
        let before = match scope.customer_id {
            None => Some(self.before(&scope.tenant_id, &periods).await?),
            Some(_) => None,
        };
        let mut rules = Definitions::new(&self.ledger).in_force(&scope.tenant_id).await?.rules;
        rules.retain(|rule| matches!(rule.when, When::Counted(_)));
        let mut audited = Audited {
            auditor: self,
            scope,
            mends,
            periods,
            found: Found { differences: Vec::new(), mended: 0, busy: Vec::new() },
            names: BTreeMap::new(),
            rules,
            asked: BTreeSet::new(),
            wrong: Vec::new(),
        };
        let mut witnesses = BTreeMap::<_, Tally>::new();
        let ids = self.ids(scope).await?;
        let passes = u16::try_from(ids.len() / TOGETHER + 1).unwrap_or(u16::MAX);
        for pass in 0..passes {
            let is_in = |id: &CustomerId| spread(id.as_str()) % passes == pass;
            let counted = self.recount.all(scope, is_in).await?;
            if let (true, Some(damaged)) = (mends, counted.damaged.first()) {
                return Err(Failure::No(format!(
                    "{damaged} is damaged or missing: nothing is replaced by what the rest of the archive says"
                )));
            }
            for (period, tally) in counted.witnesses {
                witnesses.entry(period).or_default().add(tally);
            }
            let ids = ids.iter().filter(|id| is_in(id));
            let ids: BTreeSet<_> =
                ids.chain(counted.tables.keys()).chain(counted.archives.keys()).cloned().collect();
            audited.customers(ids, counted.tables, &counted.archives).await?;
        }
        if let Some(before) = before {
            audited.names(&before, &witnesses).await?;
            audited.witnesses(&before, &witnesses).await?;
            audited.alerts().await?;
        }
        Ok(audited.found)
    }

    async fn ids(&self, scope: &EventScope) -> Result<BTreeSet<CustomerId>> {
        if let Some(id) = &scope.customer_id {
            return Ok(BTreeSet::from([id.clone()]));
        }
        let (mut ids, mut after) = (BTreeSet::new(), None);
        loop {
            let page = self.summaries.ids(&scope.tenant_id, after.as_ref(), IDS).await?;
            let Some(last) = page.last() else { return Ok(ids) };
            after = Some(last.clone());
            ids.extend(page);
        }
    }
}

impl Audited<'_> {
    fn differs(&mut self, difference: SummaryFault, of: impl ToString, detail: String) {
        let (tenant_id, of) = (self.scope.tenant_id.clone(), of.to_string());
        self.found.differences.push(SummaryDifference { tenant_id, difference, of, detail });
    }

    fn customer(&self, id: &CustomerId) -> Customer {
        Customer { tenant_id: self.scope.tenant_id.clone(), customer_id: id.clone() }
    }

    /// Compares customers, and adds what they should count to what names and alerts should say.
    async fn customers(
        &mut self,
        ids: BTreeSet<CustomerId>,
        mut tables: Counted,
        archives: &Counted,
    ) -> Result<(), Failure> {
        let mut suspects = BTreeMap::new();
        for id in progress::each(ids, "customers compared") {
            let counted = tables.remove(&id).unwrap_or_default();
            let (view, stored, _) = self.auditor.summaries.stored(&self.customer(&id)).await?;
            let counts = self.expected(&stored, counted, archives.get(&id));
            if is_same(&stored, &counts) {
                self.add(&id, &counts);
            } else {
                let (version, since) = (view.version(), Instant::now());
                suspects.insert(id, Suspect { version, counts, since });
            }
        }
        let end = Instant::now() + PATIENCE;
        while !suspects.is_empty() && Instant::now() < end {
            tokio::time::sleep(PAUSE).await;
            let ids: Vec<_> = suspects.keys().cloned().collect();
            for id in ids {
                if let Some(suspect) = suspects.get_mut(&id)
                    && self.is_settled(&id, suspect, archives.get(&id)).await?
                {
                    suspects.remove(&id);
                }
            }
        }
        self.found.busy.extend(suspects.keys().map(|id| format!("customer {id}")));
        self.make_again(archives).await
    }

    /// Compares a customer again. Returns false if that has to be repeated.
    async fn is_settled(
        &mut self,
        id: &CustomerId,
        suspect: &mut Suspect,
        archived: Option<&CustomerSummary>,
    ) -> Result<bool, Failure> {
        let customer = self.customer(id);
        let (view, stored, _) = self.auditor.summaries.stored(&customer).await?;
        let counted = self.auditor.recount.in_tables(&self.scope_of(id)).await?.tables.remove(id);
        let counts = self.expected(&stored, counted.unwrap_or_default(), archived);
        if is_same(&stored, &counts) {
            self.add(id, &counts);
            return Ok(true);
        }
        if view.version() != suspect.version || counts != suspect.counts {
            *suspect = Suspect { version: view.version(), counts, since: Instant::now() };
            return Ok(false);
        }
        if suspect.since.elapsed() < STILL {
            return Ok(false);
        }
        let detail = format!(
            "{} events instead of {}{}",
            stored.events().cast_signed(),
            counts.events(),
            details(&stored, &counts)
        );
        self.differs(SummaryFault::Customer, id, detail);
        self.add(id, &counts);
        if self.mends {
            let version = suspect.version;
            self.wrong.push((id.clone(), Suspect { version, counts, since: suspect.since }));
        }
        Ok(true)
    }

    /// What a view should say: what was counted and, for days that nobody else knows, what the view says itself.
    fn expected(
        &self,
        stored: &CustomerSummary,
        mut counted: CustomerSummary,
        archived: Option<&CustomerSummary>,
    ) -> CustomerSummary {
        archived.into_iter().for_each(|archived| counted.join(archived));
        let base = |day| is_base(day, &self.periods);
        for (name, days) in stored.days() {
            let days = days.filtered(base);
            if let (false, Some(tally)) = (days.is_empty(), stored.tallies().get(name)) {
                let instant =
                    |at, day: Option<u32>| (base(day_of(at)) && day.is_some()).then_some(at);
                let first = instant(tally.first_at, days.iter().next().map(|(day, _)| day));
                let last = instant(tally.last_at, days.last());
                counted.add_days(name, &days, first, last);
            }
        }
        counted
    }
}

fn is_same(stored: &CustomerSummary, counts: &CustomerSummary) -> bool {
    stored.clone().without_nothing() == *counts
}

fn details(stored: &CustomerSummary, counts: &CustomerSummary) -> String {
    let of = |summary: &CustomerSummary, name: &EventName| {
        let count = summary.tallies().get(name).map_or(0, |tally| tally.count.cast_signed());
        let days = summary.days().get(name).map_or(0, |days| days.len());
        (count, days, summary.tallies().get(name).copied())
    };
    let names: BTreeSet<_> = stored.tallies().keys().chain(counts.tallies().keys()).collect();
    let differs = names.into_iter().find(|name| of(stored, name) != of(counts, name));
    let Some(name) = differs else { return "; days differ".to_owned() };
    let ((count, days, _), (right, right_days, _)) = (of(stored, name), of(counts, name));
    format!("; {}: {count} on {days} days instead of {right} on {right_days}", name.as_str())
}

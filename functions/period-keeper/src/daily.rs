//! Daily decisions for tenants: which customers are silent, and which have a low score.
//!
//! For each registered tenant, the due days are decided in order, one page of customers after the other. The module `daily` of
//! [`shared::history::tenants`] argues why each is decided once, whatever dies.
//!
//! Pages begin within half of a tick's time, and the calls of the last page have another eighth. Progress of a tenant is noted every
//! few seconds, and before the time is up. Four tenants are processed in parallel, so that a slow partition of one does not block the
//! others. So at most four hundred customers are in memory, however many there are.
//!
//! A tenant whose definitions cannot be read is skipped in this tick. A customer whose view cannot be read is skipped for this day.
//! Both are logged and counted, and block nobody else.

use std::array;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use shared::history::events::Customer;
use shared::history::summaries::{CustomerView, start_of};
use shared::history::tenants::{Daily, DailyProgress, DecideError, Decisions, DueDay, last_due};
use shared::platform::dynamo::{DynamoError, IN_FLIGHT};
use shared::platform::runtime::deadline::{Deadline, DeadlineExceeded};
use shared::platform::values::{CustomerId, TenantId, Timestamp};
use tracing::{error, info, warn};

use crate::keeper::Keeper;
use crate::metrics::Tick;
use crate::ticked::Ticked;

/// Customers of a page: a hundred views are one call.
const PAGE: usize = 100;
/// Tenants of one page of the register.
const TENANTS_PER_PAGE: usize = 100;
/// Tenants that are processed in parallel.
const TENANTS_IN_FLIGHT: usize = 4;
/// Calls of the bus in flight for a tenant: a bus sends ten alerts at a time, one call after the other.
const BUSES: usize = 4;
/// The time between two notes of progress: a walk that dies loses at most this much.
const SLICE: Duration = Duration::from_secs(5);

/// A customer with what is known of them.
type DecidableCustomer = (CustomerId, CustomerView, Decisions);

/// The results, summed over tenants.
#[derive(Debug, Default)]
struct Counts {
    days: AtomicU64,
    failed: AtomicU64,
    undecided: AtomicU64,
    more_due: AtomicBool,
}

impl Keeper {
    /// Decides the due days of all tenants, for up to half of the time. Failures are logged and counted.
    pub(crate) async fn decide_days(&self, now: Timestamp, tick: &mut Tick, ticked: &mut Ticked) {
        let counts = Counts::default();
        let (half, deadline) = (self.deadline().remaining() / 2, self.deadline());
        let keeper = self.until(deadline.within(half + half / 4));
        keeper.decide_all(now, deadline.within(half), &counts).await;
        tick.undecided_rules += counts.undecided.into_inner();
        ticked.done += counts.days.into_inner();
        ticked.failed += counts.failed.into_inner();
        ticked.more_due |= counts.more_due.into_inner();
    }

    /// Begins no page after `checkpoint_at`.
    async fn decide_all(&self, now: Timestamp, checkpoint_at: Deadline, counts: &Counts) {
        let mut after = None;
        loop {
            let tenants = match self.daily.tenants(after.as_ref(), TENANTS_PER_PAGE).await {
                Ok(tenants) => tenants,
                Err(failure) => return counts.note("the register of tenants", &failure.into()),
            };
            let is_last = tenants.len() < TENANTS_PER_PAGE;
            after = tenants.last().map(|(tenant, _)| tenant.clone());
            let walks = tenants.into_iter().map(|(tenant, progress)| async move {
                let decided = match progress {
                    Ok(progress) => self.decide_tenant(progress, now, checkpoint_at, counts).await,
                    Err(failure) => Err(failure.into()),
                };
                if let Err(failure) = decided {
                    counts.note(tenant.as_str(), &failure);
                }
            });
            let walks: Vec<_> = walks.collect();
            stream::iter(walks).buffer_unordered(TENANTS_IN_FLIGHT).collect::<()>().await;
            if is_last {
                return;
            }
        }
    }

    /// Decides the days of a tenant that are due.
    async fn decide_tenant(
        &self,
        mut progress: DailyProgress,
        now: Timestamp,
        checkpoint_at: Deadline,
        counts: &Counts,
    ) -> Result<(), DecideError> {
        let last_due = last_due(now);
        while progress.decided < last_due {
            if checkpoint_at.has_passed() {
                return Err(out_of_time());
            }
            let tenant = &progress.tenant_id;
            let definitions = self.daily.definitions(tenant).await?;
            let Some(due) = progress.next(definitions, last_due) else {
                self.daily.note(progress.idle(last_due)).await?;
                return Ok(());
            };
            if progress.wakes(&due) {
                let Some(awake) = self.daily.note(progress.awake()).await? else { return Ok(()) };
                progress = awake;
            }
            let DueDay { tenant_id: tenant, day, given_up, .. } = &due;
            let day = start_of(*day);
            if *given_up > 0 {
                warn!(%tenant, given_up, "days before are not decided any more: they are too many");
            }
            let Some(decided) = self.walk(&due, progress, checkpoint_at, counts).await? else {
                // Another keeper continues.
                counts.more_due.store(true, Relaxed);
                return Ok(());
            };
            info!(%tenant, %day, "a day was decided");
            counts.days.fetch_add(1, Relaxed);
            progress = decided;
        }
        Ok(())
    }

    /// Decides a day on all customers after the one that was noted. Returns `None` if somebody else is ahead.
    async fn walk(
        &self,
        due: &DueDay,
        mut progress: DailyProgress,
        checkpoint_at: Deadline,
        counts: &Counts,
    ) -> Result<Option<DailyProgress>, DecideError> {
        let DueDay { tenant_id: tenant, day, .. } = due;
        let mut position = progress.position(*day).cloned();
        let mut slice = checkpoint_at.within(SLICE);
        let deciders: [Daily; BUSES] = array::from_fn(|_| self.daily.apart());
        loop {
            let ids = self.summaries.ids(tenant, position.as_ref(), PAGE).await?;
            let is_last = ids.len() < PAGE;
            if let Some(last) = ids.last() {
                position = Some(last.clone());
                self.decide_page(due, &deciders, ids, counts).await?;
            }
            if is_last {
                return Ok(self.daily.note(progress.done(due)).await?);
            }
            if slice.has_passed() {
                let come = progress.behind(*day, position.clone());
                let Some(noted) = self.daily.note(come).await? else {
                    return Ok(None);
                };
                if checkpoint_at.has_passed() {
                    return Err(out_of_time());
                }
                (progress, slice) = (noted, checkpoint_at.within(SLICE));
            }
        }
    }

    async fn decide_page(
        &self,
        due: &DueDay,
        deciders: &[Daily],
        ids: Vec<CustomerId>,
        counts: &Counts,
    ) -> Result<(), DecideError> {
        let known = self.known(&due.tenant_id, ids).await?;
        let known = known.into_iter().zip(deciders.iter().cycle());
        let deciding = known.map(|((customer, known), daily)| async move {
            let decided = match known {
                Ok(known) => self.decide_customer(due, daily, known).await,
                Err(failure) => Err(failure.into()),
            };
            match decided {
                Err(failure) if failure.is_refusal() => {
                    let (tenant, day) = (&due.tenant_id, start_of(due.day));
                    error!(%tenant, %customer, %day, "not decided: {failure}");
                    counts.undecided.fetch_add(1, Relaxed);
                    Ok(())
                }
                decided => decided,
            }
        });
        let deciding: Vec<_> = deciding.collect();
        stream::iter(deciding).buffer_unordered(IN_FLIGHT).try_collect().await
    }

    /// Reads the views and decisions of customers, who are in order.
    async fn known(
        &self,
        tenant: &TenantId,
        ids: Vec<CustomerId>,
    ) -> Result<Vec<(CustomerId, Result<DecidableCustomer, DynamoError>)>, DynamoError> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(Vec::new()) };
        let (views, mut decisions): (_, BTreeMap<_, _>) = futures::try_join!(
            self.summaries.each_view(tenant, &ids),
            self.daily.decisions(tenant, first, last),
        )?;
        let known = ids.into_iter().zip(views).map(|(customer, view)| {
            let decisions = decisions.remove(&customer).unwrap_or_else(|| Ok(Decisions::default()));
            let id = customer.clone();
            let known = view.and_then(|view| Ok((customer, view.state, decisions?)));
            (id, known)
        });
        Ok(known.collect())
    }

    async fn decide_customer(
        &self,
        due: &DueDay,
        daily: &Daily,
        (customer_id, view, before): DecidableCustomer,
    ) -> Result<(), DecideError> {
        let customer = Customer { tenant_id: due.tenant_id.clone(), customer_id };
        let snapshot = Daily::snapshot(&self.summaries, customer, view, due).await?;
        daily.decide(due, &snapshot, before, self.clock.now()).await
    }
}

impl Counts {
    /// Logs and counts that not all days of a tenant are decided.
    fn note(&self, of: &str, failure: &DecideError) {
        let reason = failure.reason();
        // A refusal repeats in the next tick: nothing is due until somebody has repaired it.
        self.more_due.fetch_or(!failure.is_refusal(), Relaxed);
        if failure.is_out_of_time() {
            info!(of, "the next tick goes on to decide days");
        } else if failure.is_refusal() {
            self.undecided.fetch_add(1, Relaxed);
            error!(of, reason, "days are not decided: {failure}");
        } else {
            self.failed.fetch_add(1, Relaxed);
            warn!(of, reason, "days are not decided yet: {failure}");
        }
    }
}

fn out_of_time() -> DecideError {
    DynamoError::from(DeadlineExceeded).into()
}

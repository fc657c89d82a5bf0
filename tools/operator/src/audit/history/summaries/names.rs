//! Names and witnesses: what was found lies between what they said before and what they say now.

use std::collections::{BTreeMap, BTreeSet};

use shared::history::events::{Period, PeriodRow, Tally};
use shared::history::summaries::{
    Day, NameTally, NameView, PARTS, SHOWN_DAYS, Summaries, SummaryState, SummaryView, WitnessView,
    day_of,
};
use shared::platform::dynamo::item::Key;
use shared::platform::projection::{View, Write};
use shared::platform::values::{EventName, TenantId};
use tokio::time::Instant;

use super::{Audited, PATIENCE, PAUSE, SummariesAuditor, SummaryFault};
use crate::Result;

const PAGE: usize = 100;

/// A view in parts, each where it is.
pub(crate) type Parts<S> = Vec<(Key, View<S>)>;

/// What views said before the events were read.
pub(super) struct Before {
    names: BTreeMap<EventName, Parts<NameView>>,
    witnesses: BTreeMap<Period, Parts<WitnessView>>,
}

/// How a recount compares with what a view says.
#[derive(PartialEq, Eq)]
enum Fit {
    /// It is right, as far as that can be said.
    Fits,
    /// It may be in the stream.
    IsLess,
    /// It never was right.
    Differs,
}

impl SummariesAuditor {
    pub(super) async fn before(&self, tenant: &TenantId, periods: &[PeriodRow]) -> Result<Before> {
        let (mut names, mut after) = (BTreeMap::new(), None);
        loop {
            let page = self.summaries.names(tenant, after.as_ref(), PAGE).await?;
            for (name, _) in page.names {
                let parts = self.summaries.parts_of_name(tenant, &name).await?;
                names.insert(name, parts);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut witnesses = BTreeMap::new();
        for row in periods {
            witnesses
                .insert(row.period, parts_of_witness(&self.summaries, tenant, row.period).await?);
        }
        Ok(Before { names, witnesses })
    }

    /// Makes the first part say everything, over the versions that were read. Returns false if somebody has written a part since.
    async fn rewrite<S: SummaryState>(&self, parts: &[(Key, View<S>)], all: &S) -> Result<bool> {
        let written = parts.iter().enumerate().filter(|(n, (_, part))| *n == 0 || part.is_there());
        let writes: Vec<Write> = written
            .map(|(n, (key, part))| {
                let says = if n == 0 { all.clone() } else { S::default() };
                part.clone().with(says).write(key.clone())
            })
            .collect();
        self.summaries.table().write(writes).await
    }
}

impl Audited<'_> {
    pub(super) async fn names(
        &mut self,
        before: &Before,
        recount: &BTreeMap<Period, Tally>,
    ) -> Result<()> {
        let names: BTreeSet<_> = before.names.keys().chain(self.names.keys()).cloned().collect();
        let (mut left, end) = (names, Instant::now() + PATIENCE);
        let mut differing = Vec::new();
        while !left.is_empty() {
            let is_over = Instant::now() >= end;
            for name in std::mem::take(&mut left) {
                let tenant = &self.scope.tenant_id;
                let now = self.auditor.summaries.parts_of_name(tenant, &name).await?;
                let counted = self.names.remove(&name).unwrap_or_default();
                let was = before.names.get(&name).map_or(&[][..], |parts| parts.as_slice());
                let shown = day_of(self.auditor.clock.now()).saturating_sub(SHOWN_DAYS);
                let fit = fit_of_name(&sum_of_names(was), &counted, &sum_of_names(&now), shown);
                if fit == Fit::IsLess && !is_over {
                    self.names.insert(name.clone(), counted);
                    left.insert(name);
                } else if fit != Fit::Fits {
                    differing.push((name, now, counted));
                }
            }
            if !left.is_empty() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        if differing.is_empty() {
            return Ok(());
        }
        let folded = match self.mends {
            true => self.auditor.folded(&self.scope.tenant_id).await?,
            false => None,
        };
        // Everything that exists was counted, and is folded.
        let is_all =
            folded.is_some_and(|folded| folded.iter().all(|(of, it)| recount.get(of) == Some(it)));
        for (name, now, counted) in differing {
            self.name_differs(&name, (before, is_all), &now, counted).await?;
        }
        Ok(())
    }

    async fn name_differs(
        &mut self,
        name: &EventName,
        (before, is_all): (&Before, bool),
        now: &Parts<NameView>,
        mut counted: NameView,
    ) -> Result<()> {
        let is_same = before.names.get(name).is_none_or(|before| before == now);
        let count = |view: &NameView| view.tally.map_or(0, |tally| tally.count.cast_signed());
        let detail = format!("{} events instead of {}", count(&sum_of_names(now)), count(&counted));
        if self.mends {
            counted.trim();
            if !is_same || !is_all || !self.auditor.rewrite(now, &counted).await? {
                self.found.busy.push(format!("name {}", name.as_str()));
            } else {
                self.found.mended += 1;
            }
        }
        self.differs(SummaryFault::Name, name.as_str(), detail);
        Ok(())
    }

    pub(super) async fn witnesses(
        &mut self,
        before: &Before,
        counted: &BTreeMap<Period, Tally>,
    ) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        for (period, was) in &before.witnesses {
            // Of one that has expired nobody else knows.
            let Some(counted) = counted.get(period) else { continue };
            let now = loop {
                let (summaries, tenant) = (&self.auditor.summaries, &self.scope.tenant_id);
                let now = parts_of_witness(summaries, tenant, *period).await?;
                let fit = fit_of_witness(sum_of_witness(was), *counted, sum_of_witness(&now));
                match fit {
                    Fit::Fits => break None,
                    Fit::IsLess if Instant::now() < end => tokio::time::sleep(PAUSE).await,
                    Fit::IsLess | Fit::Differs => break Some(now),
                }
            };
            let Some(now) = now else { continue };
            let stored = sum_of_witness(&now);
            let detail = format!(
                "{} events with the sum {:032x} instead of {} with {:032x}",
                stored.events.cast_signed(),
                stored.sum,
                counted.events,
                counted.sum
            );
            if self.mends {
                let all = WitnessView { tally: *counted };
                // Until then the stream may bring what the witness lacks.
                if self.auditor.is_over(*period)
                    && *was == now
                    && self.auditor.rewrite(&now, &all).await?
                {
                    self.found.mended += 1;
                } else {
                    self.found.busy.push(format!("witness {period}"));
                }
            }
            self.differs(SummaryFault::Witness, period, detail);
        }
        Ok(())
    }
}

/// The parts of the witness of a period.
pub(crate) async fn parts_of_witness(
    summaries: &Summaries,
    tenant: &TenantId,
    period: Period,
) -> Result<Parts<WitnessView>> {
    let key = |part| SummaryView::Witness(period, tenant.clone(), part).key();
    let keys: Vec<Key> = (0..PARTS).map(key).collect();
    let read = View::<WitnessView>::read_from;
    let views = summaries.table().read_all(&keys, read).await?;
    keys.into_iter().zip(views).map(|(key, view)| Ok((key, view?))).collect()
}

pub(crate) fn sum_of_names(parts: &[(Key, View<NameView>)]) -> NameView {
    let mut sum = NameView::default();
    parts.iter().for_each(|(_, part)| sum.join(&part.state));
    sum
}

pub(crate) fn sum_of_witness(parts: &[(Key, View<WitnessView>)]) -> Tally {
    let mut sum = Tally::default();
    parts.iter().for_each(|(_, part)| sum.add(part.state.tally));
    sum
}

fn fit_of_name(was: &NameView, counted: &NameView, now: &NameView, from: Day) -> Fit {
    let count = |view: &NameView| view.tally.map_or(0, |tally| tally.count.cast_signed());
    let days: BTreeSet<Day> = [was, counted, now]
        .into_iter()
        .flat_map(|view| view.days.iter())
        .map(|(day, _)| day)
        .filter(|day| *day >= from)
        .collect();
    let on = |view: &NameView, day: Day| view.days.counted(day, day + 1).cast_signed();
    let numbers = days.into_iter().map(|day| (on(was, day), on(counted, day), on(now, day)));
    let all = [(count(was), count(counted), count(now))].into_iter().chain(numbers);
    let mut fit = Fit::Fits;
    for (was, counted, now) in all {
        if counted < was {
            return Fit::Differs;
        }
        if counted > now {
            fit = Fit::IsLess;
        }
    }
    let (Some(right), Some(now)) = (counted.tally, now.tally) else { return fit };
    let is_later = now.first_at > right.first_at || now.last_at < right.last_at;
    let is_exact = was.tally.is_some_and(|was| was == now);
    let is_other = |now: NameTally| now.first_at != right.first_at || now.last_at != right.last_at;
    match () {
        () if is_later => Fit::IsLess,
        () if is_exact && is_other(now) => Fit::Differs,
        () => fit,
    }
}

fn fit_of_witness(was: Tally, counted: Tally, now: Tally) -> Fit {
    let [was_events, right, now_events] =
        [was, counted, now].map(|tally| tally.events.cast_signed());
    match () {
        () if right < was_events => Fit::Differs,
        () if right > now_events => Fit::IsLess,
        () if right == was_events && counted.sum != was.sum => Fit::Differs,
        () if right == now_events && counted.sum != now.sum => Fit::Differs,
        () => Fit::Fits,
    }
}

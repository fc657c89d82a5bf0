//! Alerts: put once, listed, and marked as read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use aws_sdk_dynamodb::types::{Put as TransactPut, TransactWriteItem};
use futures::{TryStreamExt, stream};
use ring::digest::{SHA256, digest};

use super::{DailyDefinition, LIFE, RuleDefinition, TenantItem, When, keys};
use crate::history::events::{Customer, Period};
use crate::platform::dynamo::item::{Item, Key, Row, number, text, truth};
use crate::platform::dynamo::{BATCH_GET, Condition, Dynamo, DynamoError, Put, Query, Update};
use crate::platform::ledger::{Ledger, LedgerKey};
use crate::platform::values::{AlertId, CustomerId, RuleId, ScoreId, TenantId, Timestamp};

/// Alerts that are marked at once.
const MARK_CONCURRENCY: usize = 16;

/// An alert is put if there is none, or one of an earlier life of its customer's view, which an
/// erasure is about to delete.
const NEW: &str = "attribute_not_exists(pk) OR #life < :life";

/// The name of the period of all time.
const EVER: &str = "ever";

/// The origin of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlertSource {
    Rule(RuleId),
    Score(ScoreId),
}

/// Its form in rows of the ledger.
impl fmt::Display for AlertSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule#{rule}"),
            Self::Score(score) => write!(f, "score#{score}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertWhen {
    Period(Period),
    Ever,
    /// The day on which a daily definition has begun to hold.
    Day(Period),
}

impl fmt::Display for AlertWhen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Period(period) | Self::Day(period) => write!(f, "{period}"),
            Self::Ever => f.write_str(EVER),
        }
    }
}

/// An alert of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    pub alert_id: AlertId,
    /// What has given it.
    pub source: AlertSource,
    /// The `at` of the definition.
    pub defined_at: Timestamp,
    pub says: String,
    pub customer_id: CustomerId,
    pub when: AlertWhen,
    pub decided_at: Timestamp,
    pub events: u64,
    /// The life of its customer's view ([`Snapshot`]).
    ///
    /// [`Snapshot`]: crate::history::summaries::Snapshot
    pub life: u64,
    /// True if it was marked as read.
    pub is_read: bool,
}

/// The alerts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Alerts {
    pub(super) ledger: Ledger,
}

impl Alert {
    /// The alert of a rule that counts about a customer, for a period or for all time.
    pub(super) fn new(
        rule: &RuleDefinition,
        (customer, life): (&Customer, u64),
        period: Option<Period>,
        decided_at: Timestamp,
    ) -> Self {
        let (source, says) = (AlertSource::Rule(rule.rule_id.clone()), rule.when.to_string());
        let when = period.map_or(AlertWhen::Ever, AlertWhen::Period);
        let events = match &rule.when {
            When::Counted(counted) => counted.count,
            When::Silent(_) => 0,
        };
        Self {
            alert_id: id_of(customer, &source, rule.at, &says, when),
            source,
            defined_at: rule.at,
            says,
            customer_id: customer.customer_id.clone(),
            when,
            decided_at,
            events,
            life,
            is_read: false,
        }
    }

    /// The alert of a daily definition about a customer for a day, decided on `events` events.
    pub(super) fn of_day(
        definition: &DailyDefinition,
        (customer, life): (&Customer, u64),
        day: Period,
        events: u64,
        decided_at: Timestamp,
    ) -> Self {
        let DailyDefinition { source, at, says, .. } = definition;
        let when = AlertWhen::Day(day);
        Self {
            alert_id: id_of(customer, source, *at, says, when),
            source: source.clone(),
            defined_at: *at,
            says: says.clone(),
            customer_id: customer.customer_id.clone(),
            when,
            decided_at,
            events,
            life,
            is_read: false,
        }
    }

    /// The name of its period or its day.
    pub fn when_name(&self) -> String {
        self.when.to_string()
    }

    /// True if it was decided for a day: it stays listed after a change of its definition.
    pub fn is_daily(&self) -> bool {
        matches!(self.when, AlertWhen::Day(_))
    }

    /// True if it was given by this definition.
    pub fn is_of(&self, rule: &RuleDefinition) -> bool {
        matches!(&self.source, AlertSource::Rule(id) if *id == rule.rule_id)
            && self.defined_at == rule.at
            && self.says == rule.when.to_string()
    }

    fn claim(&self) -> Item {
        Item::from([
            ("at".to_owned(), text(self.decided_at.to_string())),
            ("customer".to_owned(), text(self.customer_id.as_str())),
            (LIFE.to_owned(), number(self.life)),
        ])
    }

    fn attributes(&self) -> Item {
        let source = match &self.source {
            AlertSource::Rule(rule) => ("rule".to_owned(), text(rule.as_str())),
            AlertSource::Score(score) => ("score".to_owned(), text(score.as_str())),
        };
        let when = if self.is_daily() { "day" } else { "period" };
        Item::from([
            source,
            ("defined_at".to_owned(), text(self.defined_at.to_string())),
            ("says".to_owned(), text(self.says.as_str())),
            ("customer".to_owned(), text(self.customer_id.as_str())),
            (when.to_owned(), text(self.when_name())),
            ("events".to_owned(), number(self.events)),
            (LIFE.to_owned(), number(self.life)),
        ])
    }

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let position = keys::of_alert(row.text("sk")?);
        let (decided_at, alert_id) =
            position.ok_or_else(|| row.corrupt("sk", "an instant and an alert"))?;
        let source = match row.optional("score", "an id")? {
            Some(score) => AlertSource::Score(score),
            None => AlertSource::Rule(row.parsed("rule", "an id")?),
        };
        let when = match row.optional("day", "the name of a day")? {
            Some(day) => AlertWhen::Day(day),
            None if row.text("period")? == EVER => AlertWhen::Ever,
            None => AlertWhen::Period(row.parsed("period", "the name of a period")?),
        };
        Ok(Self {
            alert_id,
            source,
            defined_at: row.parsed("defined_at", "an instant")?,
            says: row.text("says")?.to_owned(),
            customer_id: row.parsed("customer", "an id")?,
            when,
            decided_at,
            events: row.count("events")?,
            life: row.count(LIFE)?,
            is_read: row.flag("read")?,
        })
    }
}

/// The id of the alert of a rule about a customer for a period, or for all time.
pub(super) fn id_of_rule(
    rule: &RuleId,
    defined_at: Timestamp,
    when: &When,
    customer: &Customer,
    period: Option<Period>,
) -> AlertId {
    let of = period.map_or(AlertWhen::Ever, AlertWhen::Period);
    id_of(customer, &AlertSource::Rule(rule.clone()), defined_at, &when.to_string(), of)
}

pub(super) fn id_of(
    customer: &Customer,
    source: &AlertSource,
    defined_at: Timestamp,
    says: &str,
    when: AlertWhen,
) -> AlertId {
    let text = format!("{customer}#{source}#{defined_at}#{says}#{when}");
    let mut first = [0; 16];
    first.copy_from_slice(&digest(&SHA256, text.as_bytes()).as_ref()[..16]);
    AlertId::of_digest(u128::from_be_bytes(first))
}

impl Alerts {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo) }
    }

    /// Puts an alert, unless it was put. Completes an attempt that crashed. Returns the instant of the claim, at which the alert is listed. A
    /// read mark stays.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been given.
    pub(super) async fn give(
        &self,
        tenant: &TenantId,
        alert: &Alert,
    ) -> Result<Timestamp, DynamoError> {
        let new = || Condition::new(NEW).name("#life", LIFE).value(":life", number(alert.life));
        let key = keys::claim(tenant, &alert.alert_id);
        let decided_at = match self.ledger.put_if(key, alert.claim(), new()).await? {
            Put::Done => alert.decided_at,
            Put::Refused(there) => self.ledger.table().row(there).parsed("at", "an instant")?,
        };
        let key = keys::alert(tenant, &decided_at, &alert.alert_id);
        self.ledger.put_if(key, alert.attributes(), new()).await?;
        Ok(decided_at)
    }

    /// The puts of an alert and its claim, as parts of a transaction: refused if there is one of
    /// the same life.
    pub(super) fn puts(
        &self,
        tenant: &TenantId,
        alert: &Alert,
    ) -> Result<[TransactWriteItem; 2], DynamoError> {
        let put = |key: LedgerKey, attributes: Item| {
            let mut item = key.into_item();
            item.extend(attributes);
            let put = TransactPut::builder()
                .table_name(self.ledger.table().name())
                .set_item(Some(item))
                .condition_expression(NEW)
                .expression_attribute_names("#life", LIFE)
                .expression_attribute_values(":life", number(alert.life));
            Ok::<_, DynamoError>(TransactWriteItem::builder().put(put.build()?).build())
        };
        Ok([
            put(keys::claim(tenant, &alert.alert_id), alert.claim())?,
            put(keys::alert(tenant, &alert.decided_at, &alert.alert_id), alert.attributes())?,
        ])
    }

    /// The instants of those alerts that were put in this life of their customer's view.
    pub(super) async fn put_before(
        &self,
        tenant: &TenantId,
        alerts: &[AlertId],
        life: u64,
    ) -> Result<BTreeMap<AlertId, Timestamp>, DynamoError> {
        let mut there = BTreeMap::new();
        for some in alerts.chunks(BATCH_GET) {
            let keys = some.iter().map(|alert| keys::claim(tenant, alert).into_item()).collect();
            for row in self.ledger.table().batch_get(keys).await? {
                let LedgerKey { pk, sk } = LedgerKey::of(&row)?;
                if let Some(TenantItem::Claim(_, alert)) = keys::of_key(&pk, &sk)
                    && row.count(LIFE)? == life
                {
                    there.insert(alert, row.parsed("at", "an instant")?);
                }
            }
        }
        Ok(there)
    }

    /// The alert that is listed at an instant, if it was put in this life of its customer's view.
    pub(super) async fn at(
        &self,
        tenant: &TenantId,
        (at, alert): &(Timestamp, AlertId),
        life: u64,
    ) -> Result<Option<Alert>, DynamoError> {
        let row = self.ledger.get(keys::alert(tenant, at, alert)).await?;
        let alert = row.as_ref().map(Alert::read).transpose()?;
        Ok(alert.filter(|alert| alert.life == life))
    }

    /// Removes an alert of this life of its customer's view. Its claim is deleted last, so a
    /// removal that crashed can be repeated.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub(super) async fn remove(
        &self,
        tenant: &TenantId,
        alert: &AlertId,
        life: u64,
    ) -> Result<(), DynamoError> {
        let same = || {
            let same = Condition::new("#life = :life");
            Some(same.name("#life", LIFE).value(":life", number(life)))
        };
        let Some(key) = self.listed(tenant, alert).await? else { return Ok(()) };
        let (table, claim) = (self.ledger.table(), keys::claim(tenant, alert).into_item());
        table.delete(key.into_item(), same()).await?;
        table.delete(claim, same()).await.map(|_| ())
    }

    /// Marks alerts as read, a few at a time, unless they are. Passes over those that were never put.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be marked.
    pub async fn mark_read(
        &self,
        tenant: &TenantId,
        alerts: &[AlertId],
    ) -> Result<(), DynamoError> {
        let table = self.ledger.table();
        let alerts: BTreeSet<_> = alerts.iter().collect();
        let claims = alerts.iter().map(|alert| keys::claim(tenant, alert).into_item());
        let mut listed = Vec::new();
        for claim in table.batch_get(claims.collect()).await? {
            if let Some(TenantItem::Claim(_, alert)) =
                keys::of_key(claim.text("pk")?, claim.text("sk")?)
            {
                listed.push(keys::alert(tenant, &claim.parsed("at", "an instant")?, &alert));
            }
        }
        let rows = table.batch_get(listed.into_iter().map(Key::into_item).collect()).await?;
        let mut marking = Vec::new();
        for row in rows {
            if !row.flag("read")? {
                marking.push(Ok(self.mark(Key::of(&row)?)));
            }
        }
        stream::iter(marking).try_buffer_unordered(MARK_CONCURRENCY).try_collect().await
    }

    async fn mark(&self, key: Key) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET #read = :yes",
            condition: Some("attribute_exists(pk)"),
            names: vec![("#read", "read")],
            values: vec![(":yes", truth(true))],
        };
        self.ledger.table().change(key.into_item(), update).await.map(|_| ())
    }

    /// The key at which an alert is listed, or will be: at the instant of its claim.
    async fn listed(
        &self,
        tenant: &TenantId,
        alert: &AlertId,
    ) -> Result<Option<LedgerKey>, DynamoError> {
        let Some(claim) = self.ledger.get(keys::claim(tenant, alert)).await? else {
            return Ok(None);
        };
        Ok(Some(keys::alert(tenant, &claim.parsed("at", "an instant")?, alert)))
    }

    /// True if an alert is marked as read, or there is none to mark.
    pub async fn is_marked(&self, tenant: &TenantId, alert: &AlertId) -> Result<bool, DynamoError> {
        let Some(key) = self.listed(tenant, alert).await? else { return Ok(true) };
        let row = self.ledger.get(key).await?;
        row.map_or(Ok(true), |row| row.flag("read"))
    }

    /// Up to `limit` alerts of a tenant after a sort key, newest first, including those of superseded rules. The flag is true if there may
    /// be more.
    pub async fn page(
        &self,
        tenant: &TenantId,
        behind: Option<&(Timestamp, AlertId)>,
        limit: usize,
    ) -> Result<(Vec<Alert>, bool), DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::alerts(tenant)))],
            start: behind.map(|(at, alert)| keys::alert(tenant, at, alert).into_item()),
            descending: true,
            limit: i32::try_from(limit).ok(),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query).await?;
        let alerts = page.rows.iter().map(Alert::read).collect::<Result<_, _>>()?;
        Ok((alerts, page.next.is_some()))
    }
}

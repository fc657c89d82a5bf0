//! Counting the refusals of a message.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};

use super::{
    LISTED_DAYS, MESSAGE_DAYS, MOST_DETAIL_BYTES, MOST_EXAMPLES, Refusals, RefusedEvent,
    RefusedSubject, SHARDS, keys,
};
use crate::history::events::{Period, PeriodLength};
use crate::history::tenants::keys as tenants;
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::ledger::{FORGET_AT, LedgerKey};
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::{Origin, RefusalReason, TenantId, Timestamp, spread};

/// Items of a transaction that counts refusals of a message, without examples.
const OTHER_ITEMS: usize = 4;
const DAY: Duration = Duration::from_secs(86_400);
/// Days from the beginning of a day for which its letters are counted: the clocks of writers differ.
const SUBJECT_DAYS: u32 = 2;

/// A refused command, or a refused event of a command.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Its index in the message: 0 for a command, less than 128 for an event of several.
    pub index: usize,
    pub reason: RefusalReason,
    /// The event, if it is one of a tenant.
    pub event: Option<RefusedEvent>,
}

#[derive(Debug, Clone, Copy)]
pub struct RefusedMessage<'a> {
    /// The id of the message that was first sent.
    pub origin: &'a Origin,
    pub subject: &'a RefusedSubject,
    /// The tenant, if its events were refused.
    pub tenant: Option<&'a TenantId>,
}

/// Refusals that are counted in one transaction with what says that they are.
#[derive(Debug, Default)]
pub struct Counting {
    pub items: Vec<TransactWriteItem>,
    /// How many of them, from the first on, are kept as dead letters.
    pub kept: usize,
}

/// Refusals of one reason.
#[derive(Debug, Clone, Copy)]
pub struct RefusalsOf<'a> {
    pub subject: &'a RefusedSubject,
    /// The tenant, if they are of its events.
    pub tenant: Option<&'a TenantId>,
    pub reason: RefusalReason,
    pub number: usize,
    /// The events, if they are of a tenant.
    pub events: &'a [&'a RefusedEvent],
    /// The most events that are kept as examples.
    pub most_examples: usize,
}

/// Indexes of a message, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Indexes(u128);

impl Indexes {
    fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    fn add<'a>(&mut self, refusals: impl IntoIterator<Item = &'a Refusal>) {
        refusals.into_iter().for_each(|refusal| self.0 |= 1 << refusal.index);
    }

    fn written(self) -> AttributeValue {
        text(format!("{:x}", self.0))
    }
}

/// What is known of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counted {
    counted: Indexes,
    /// Those with a letter.
    kept: Indexes,
}

impl Counted {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let indexes = |name| {
            let bits = u128::from_str_radix(row.text(name)?, 16);
            bits.map(Indexes).map_err(|_| row.corrupt(name, "indexes of a message"))
        };
        Ok(Self { counted: indexes("counted")?, kept: indexes("kept")? })
    }
}

impl Refusals {
    /// Counts the refusals of a message that are not counted yet. Returns those that are kept as dead letters, the same ones for
    /// each delivery of the message.
    ///
    /// # Errors
    /// [`DynamoError`]; they may be counted, and the next delivery finds that out.
    pub async fn count<'r>(
        &self,
        message: RefusedMessage<'_>,
        refusals: &'r [Refusal],
        now: Timestamp,
    ) -> Result<Vec<&'r Refusal>, DynamoError> {
        let mut by_reason = BTreeMap::<RefusalReason, Vec<&Refusal>>::new();
        for refusal in refusals {
            by_reason.entry(refusal.reason).or_default().push(refusal);
        }
        let mut kept = Indexes::default();
        for (reason, refusals) in by_reason {
            kept = self.count_of(message, reason, &refusals, now).await?;
        }
        Ok(refusals.iter().filter(|refusal| kept.has(refusal.index)).collect())
    }

    /// Counts the refusals of one reason. Returns the indexes of the message that have letters.
    async fn count_of(
        &self,
        message: RefusedMessage<'_>,
        reason: RefusalReason,
        refusals: &[&Refusal],
        now: Timestamp,
    ) -> Result<Indexes, DynamoError> {
        let table = self.ledger.table();
        let (deadline, mut backoff) = (table.deadline(), Backoff::default());
        loop {
            let found = self.counted(message.origin).await?;
            let is_new = |refusal: &&&Refusal| !found.counted.has(refusal.index);
            let new: Vec<&Refusal> = refusals.iter().filter(is_new).copied().collect();
            if new.is_empty() {
                return Ok(found.kept);
            }
            let events: Vec<_> = new.iter().filter_map(|refusal| refusal.event.as_ref()).collect();
            let RefusedMessage { origin, subject, tenant } = message;
            let of = RefusalsOf {
                subject,
                tenant,
                reason,
                number: new.len(),
                events: &events,
                most_examples: table.limits().transaction_items.saturating_sub(OTHER_ITEMS),
            };
            let Counting { mut items, kept } = self.counting(of, origin.as_str(), now).await?;
            let mut next = found;
            next.counted.add(new.iter().copied());
            next.kept.add(new.iter().copied().take(kept));
            items.push(self.note(origin, found, next, reason, now)?);
            let failure = match table.transact(items).await {
                Ok(true) => return Ok(next.kept),
                // Another delivery or another message was first.
                Ok(false) => DynamoError::Contended,
                Err(failure) if failure.is_retryable() => failure,
                Err(failure) => return Err(failure),
            };
            if backoff.wait(deadline).await.is_err() {
                return Err(failure);
            }
        }
    }

    /// Counts refusals in a transaction that the caller commits, together with a write that is refused if they are counted already.
    /// If the transaction is refused, they may have taken room from each other: this is made again. `id` is one of their messages or
    /// changes.
    pub async fn counting(
        &self,
        of: RefusalsOf<'_>,
        id: &str,
        now: Timestamp,
    ) -> Result<Counting, DynamoError> {
        let day = PeriodLength::Day.period_of(now);
        let before = self.letters_of(of.subject, day, of.reason).await?;
        let all = of.number as u64;
        let room = self.most_letters.saturating_sub(before).min(all);
        let mut items = Vec::new();
        if room > 0 {
            items.push(self.take_room(&of, day, before, room)?);
        }
        let shard = shard_of(id);
        let key = keys::refusals(&day, &shard, &of.reason);
        items.push(self.raise(key, day, &[("refused", all), ("unkept", all - room)])?);
        if let Some(tenant) = of.tenant {
            let key = tenants::refusals_of_day(tenant, &shard, &day, &of.reason);
            items.push(self.raise(key, day, &[("refused", all)])?);
            let numbers = before..MOST_EXAMPLES.min(before + room);
            for (number, event) in numbers.zip(of.events).take(of.most_examples) {
                let key = tenants::refused_event(tenant, &day, &of.reason, &number);
                items.push(self.example(key, event, day)?);
            }
        }
        Ok(Counting { items, kept: usize::try_from(room).unwrap_or(usize::MAX) })
    }

    /// What is counted of a message.
    async fn counted(&self, origin: &Origin) -> Result<Counted, DynamoError> {
        let row = self.ledger.get(keys::counted(origin)).await?;
        row.map_or(Ok(Counted::default()), |row| Counted::read(&row))
    }

    /// The reason of a command's refusal, if it is counted without a letter.
    pub async fn unkept(&self, origin: &Origin) -> Result<Option<RefusalReason>, DynamoError> {
        let Some(row) = self.ledger.get(keys::counted(origin)).await? else { return Ok(None) };
        let Counted { counted, kept } = Counted::read(&row)?;
        let reason = row.parsed("reason", "the reason of a refusal")?;
        Ok((counted.has(0) && !kept.has(0)).then_some(reason))
    }

    /// How many letters a subject has had on a day.
    async fn letters_of(
        &self,
        subject: &RefusedSubject,
        day: Period,
        reason: RefusalReason,
    ) -> Result<u64, DynamoError> {
        let row = self.ledger.get(keys::subject(subject.digest(), &day, &reason)).await?;
        row.map_or(Ok(0), |row| row.count("kept"))
    }

    /// Notes what is counted of a message, if it is still as it was found.
    fn note(
        &self,
        origin: &Origin,
        found: Counted,
        next: Counted,
        reason: RefusalReason,
        now: Timestamp,
    ) -> Result<TransactWriteItem, DynamoError> {
        let attributes = Item::from([
            ("counted".to_owned(), next.counted.written()),
            ("kept".to_owned(), next.kept.written()),
            ("reason".to_owned(), text(reason.as_str())),
            (FORGET_AT.to_owned(), forget_at(now, MESSAGE_DAYS)),
        ]);
        let condition = match found == Counted::default() {
            true => Condition::new("attribute_not_exists(counted)"),
            false => Condition::new("counted = :found").value(":found", found.counted.written()),
        };
        let key = keys::counted(origin).into_item();
        Ok(self.ledger.table().replacing(key, attributes, &[], Some(condition))?)
    }

    /// Takes room for letters of the subject. While examples are numbered by it, nothing else may have taken any.
    fn take_room(
        &self,
        of: &RefusalsOf<'_>,
        day: Period,
        before: u64,
        room: u64,
    ) -> Result<TransactWriteItem, DynamoError> {
        let (condition, most) = match of.tenant.is_some() && before < MOST_EXAMPLES {
            true if before == 0 => ("attribute_not_exists(kept)", None),
            true => ("kept = :most", Some(before)),
            false => {
                ("attribute_not_exists(kept) OR kept <= :most", Some(self.most_letters - room))
            }
        };
        let key = keys::subject(of.subject.digest(), &day, &of.reason);
        let update = self.adding(key, &[("kept", room)], forget_at(day.from(), SUBJECT_DAYS));
        let update = update.condition_expression(condition);
        let update = match most {
            Some(most) => update.expression_attribute_values(":most", number(most)),
            None => update,
        };
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }

    /// Raises counts of a day.
    fn raise(
        &self,
        key: LedgerKey,
        day: Period,
        counts: &[(&str, u64)],
    ) -> Result<TransactWriteItem, DynamoError> {
        let update = self.adding(key, counts, forget_at(day.from(), LISTED_DAYS + 1));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }

    fn adding(
        &self,
        key: LedgerKey,
        counts: &[(&str, u64)],
        forget_at: AttributeValue,
    ) -> UpdateBuilder {
        let terms: Vec<_> = counts.iter().map(|(name, _)| format!("{name} :{name}")).collect();
        let expression = format!("SET {FORGET_AT} = :until ADD {}", terms.join(", "));
        let update = Update::builder()
            .table_name(self.ledger.table().name())
            .set_key(Some(key.into_item()))
            .update_expression(expression)
            .expression_attribute_values(":until", forget_at);
        counts.iter().fold(update, |update, (name, by)| {
            update.expression_attribute_values(format!(":{name}"), number(by))
        })
    }

    fn example(
        &self,
        key: LedgerKey,
        event: &RefusedEvent,
        day: Period,
    ) -> Result<TransactWriteItem, DynamoError> {
        let RefusedEvent { customer_id, event_id, at, detail } = event;
        let detail = &detail[..detail.floor_char_boundary(MOST_DETAIL_BYTES)];
        let mut attributes = Item::from([
            ("detail".to_owned(), text(detail)),
            (FORGET_AT.to_owned(), forget_at(day.from(), LISTED_DAYS + 1)),
        ]);
        let optional = [
            ("customer", customer_id.as_ref().map(ToString::to_string)),
            ("event_id", event_id.as_ref().map(ToString::to_string)),
            ("happened_at", at.map(|at| at.to_string())),
        ];
        attributes.extend(
            optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), text(value?)))),
        );
        Ok(self.ledger.table().replacing(key.into_item(), attributes, &[], None)?)
    }
}

fn shard_of(id: &str) -> u8 {
    let [shard, _] = (spread(id) % u16::from(SHARDS)).to_le_bytes();
    shard
}

/// So many days after an instant, as [`FORGET_AT`] has it.
fn forget_at(from: Timestamp, days: u32) -> AttributeValue {
    number(from.unix_seconds_after(DAY * days))
}

//! Receipts: how a producer of many commands learns which of them are done.
//!
//! SQS does not tell a producer what became of a message. Its numbers of messages are approximate,
//! and count the messages of others too. So a message may carry a receipt in an attribute
//! ([`RECEIPT`]): a run, and a number within it. The writer notes in the ledger what became of the
//! message, and only then acknowledges it. If the note fails, the message is delivered again. So a
//! noted receipt is a proof, and a message without a note is not done yet.
//!
//! An item has a hundred receipts of a run, an attribute each. Noting one again changes nothing, in
//! whatever order deliveries come, and a batch takes one write for each item. Items expire after a
//! day.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;

use crate::platform::dynamo::item::{Row, number, text};
use crate::platform::dynamo::keys;
use crate::platform::dynamo::{BATCH_GET, DynamoError, Update};
use crate::platform::ledger::{FORGET_AT, Ledger, LedgerKey};
use crate::platform::values::Timestamp;

/// The message attribute with the receipt.
pub const RECEIPT: &str = "nagare.receipt";
pub const PER_ITEM: u32 = 100;
/// Items whose receipts are read in one call.
pub const ITEMS: usize = BATCH_GET;
/// How long an item is kept: longer than a command waits to be done.
const KEPT: Duration = Duration::from_secs(86_400);

/// A producer's run: all commands that it waits for. Random, so that no two are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u128);

/// The receipt of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    pub run: RunId,
    /// Counted from 0.
    pub number: u32,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageEnd {
    /// Its command is in effect, or was overtaken by another.
    Done,
    /// Its command is on record, and other messages do the rest.
    HandedOn,
    /// It is a dead letter.
    Refused,
}

/// The text is not a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a run in 32 hexadecimal digits, a dot, and a number")]
pub struct ReceiptError;

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}.{}", self.run.0, self.number)
    }
}

impl FromStr for Receipt {
    type Err = ReceiptError;

    fn from_str(text: &str) -> Result<Self, ReceiptError> {
        let parse = || {
            let (run, number) = text.split_once('.').filter(|(run, _)| run.len() == 32)?;
            let run = RunId(u128::from_str_radix(run, 16).ok()?);
            Some(Self { run, number: number.parse().ok()? })
        };
        // Another way to write the same receipt would be another one.
        parse().filter(|receipt| receipt.to_string() == text).ok_or(ReceiptError)
    }
}

impl Receipt {
    /// The item that it is noted in, among those of its run.
    pub fn item(self) -> u32 {
        self.number / PER_ITEM
    }
}

impl MessageEnd {
    const ALL: [Self; 3] = [Self::Done, Self::HandedOn, Self::Refused];

    fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::HandedOn => "on",
            Self::Refused => "refused",
        }
    }
}

/// The receipts in a ledger.
#[derive(Debug, Clone)]
pub struct Receipts {
    ledger: Ledger,
}

impl Receipts {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// Notes what became of messages.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be noted. Noting all of them again is right.
    pub async fn note(
        &self,
        ended: &[(Receipt, MessageEnd)],
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let mut items = BTreeMap::<_, BTreeMap<_, _>>::new();
        for (receipt, end) in ended {
            let of_item = items.entry((receipt.run, receipt.item())).or_default();
            of_item.insert(receipt.number % PER_ITEM, *end);
        }
        let notes =
            items.into_iter().map(|((run, item), ended)| self.note_in(run, item, ended, now));
        try_join_all(notes).await.map(|_| ())
    }

    async fn note_in(
        &self,
        run: RunId,
        item: u32,
        ended: BTreeMap<u32, MessageEnd>,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let names: Vec<_> = ended.keys().map(|n| (format!("#n{n}"), format!("n{n}"))).collect();
        let values: Vec<_> =
            ended.iter().map(|(n, end)| (format!(":n{n}"), text(end.word()))).collect();
        let set =
            names.iter().zip(&values).map(|((name, _), (value, _))| format!(", {name} = {value}"));
        let expression = format!("SET #forget = :forget{}", set.collect::<String>());
        let forget_at = number(now.unix_seconds_after(KEPT));
        let update = Update {
            expression: &expression,
            condition: None,
            names: names
                .iter()
                .map(|(name, attribute)| (name.as_str(), attribute.as_str()))
                .chain([("#forget", FORGET_AT)])
                .collect(),
            values: values
                .iter()
                .map(|(value, word)| (value.as_str(), word.clone()))
                .chain([(":forget", forget_at)])
                .collect(),
        };
        self.ledger.table().update(key(run, item).into_item(), update).await.map(|_| ())
    }

    /// What is noted in some items of a run, at most [`ITEMS`]: numbers and what became of each.
    pub async fn read(
        &self,
        run: RunId,
        items: &[u32],
    ) -> Result<Vec<(u32, MessageEnd)>, DynamoError> {
        let keys = items.iter().map(|item| key(run, *item).into_item()).collect();
        let rows = self.ledger.table().batch_get(keys).await?;
        let read = rows.iter().map(read_item);
        Ok(read.collect::<Result<Vec<_>, _>>()?.concat())
    }
}

fn read_item(row: &Row<'_>) -> Result<Vec<(u32, MessageEnd)>, DynamoError> {
    let item = row.text("pk")?.rsplit('#').next().and_then(|item| item.parse::<u32>().ok());
    let item = item.ok_or_else(|| row.corrupt("pk", "the number of an item"))?;
    let noted = row.item.iter().filter_map(|(name, value)| {
        let number = name.strip_prefix('n')?.parse::<u32>().ok()?;
        let AttributeValue::S(word) = value else { return None };
        let end = MessageEnd::ALL.into_iter().find(|end| end.word() == word)?;
        Some((item * PER_ITEM + number, end))
    });
    Ok(noted.collect())
}

keys! {
    partitions {
        receipts(run: String, item: u32) = "receipts#{run}#{item}";
    }
    items {
        noted(run: String, item: u32) = receipts(run, item), "receipts" in Ledger as "receipts" {
            says: "which commands of an import or a replay are done",
            most: 2_048, grows: "nothing: one for each hundred commands of a producer that waits for them; it expires a day later",
            at_bound: "cannot be exceeded",
            test: "`receipts::`",
            later: AsOthers, erased: Gone,
        };
    }
}

fn key(run: RunId, item: u32) -> LedgerKey {
    noted(&format!("{:032x}", run.0), &item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_written_in_one_way() {
        let receipt = Receipt { run: RunId(0xabc), number: 4_294_967_295 };
        let text = receipt.to_string();
        assert_eq!(text.parse(), Ok(receipt));
        let zeros = "0".repeat(29);
        assert_eq!(text, format!("{zeros}abc.4294967295"));
        for other in
            ["", ".", "abc.1", &text[1..], &format!("{zeros}ABC.1"), &format!("{zeros}abc.01")]
        {
            assert_eq!(other.parse::<Receipt>(), Err(ReceiptError), "{other}");
        }
    }
}

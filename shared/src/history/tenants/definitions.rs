//! The rules and scores of a tenant. Of all commands on one id the latest wins, and on a tie the delete, then the text that is greater
//! byte by byte.

use std::collections::BTreeSet;
use std::fmt::Display;

use super::deciding::DECIDED;
use super::{RuleChange, Score, ScoreChange, TenantItem, When, keys};
use crate::platform::dynamo::item::{Item, Row, text};
use crate::platform::dynamo::{Condition, DynamoError, Put, Query};
use crate::platform::ledger::{Ledger, LedgerKey};
use crate::platform::values::{EventName, RuleId, ScoreId, TenantId, Timestamp};

/// The most rules of a tenant that are not deleted.
pub const MOST_RULES: usize = 100;
/// The most scores of a tenant that are not deleted.
pub const MOST_SCORES: usize = 50;
/// The most ids of rules of a tenant, deleted ones included; likewise of scores.
pub const MOST_IDS: usize = 400;

/// The attribute with the instant at which a definition was recorded.
const RECORDED_AT: &str = "recorded_at";

/// The tenant has as many definitions as it may have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tenant has {MOST_RULES} rules or {MOST_SCORES} scores that are not deleted, or has used {MOST_IDS} ids of them"
)]
pub struct TooManyDefinitions;

/// The outcome of something defined, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionChange<T> {
    pub at: Timestamp,
    /// What it is from then on; `None` if it was deleted.
    pub to: Option<T>,
}

impl<T: Display> DefinitionChange<T> {
    /// What orders changes: the greatest wins.
    fn rank(&self) -> (Timestamp, bool, String) {
        let text = self.to.as_ref().map(ToString::to_string);
        (self.at, text.is_none(), text.unwrap_or_default())
    }

    /// True if another wins over it.
    pub fn loses_against(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }
}

/// A rule in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDefinition {
    pub rule_id: RuleId,
    /// Since when.
    pub at: Timestamp,
    pub recorded_at: Timestamp,
    /// When it gives an alert.
    pub when: When,
}

impl RuleDefinition {
    /// What the row of a rule says; `None` if it was deleted.
    pub(super) fn read(row: &Row<'_>) -> Result<Option<Self>, DynamoError> {
        Ok(match read(row)? {
            RecordedDefinition::Rule(rule_id, DefinitionChange { at, to: Some(when) }) => {
                Some(Self { rule_id, at, recorded_at: recorded_at(row)?, when })
            }
            RecordedDefinition::Rule(..) | RecordedDefinition::Score(..) => None,
        })
    }

    /// True if it counts events of one of these names.
    pub fn counts_one_of(&self, names: &BTreeSet<EventName>) -> bool {
        matches!(&self.when, When::Counted(it) if names.contains(&it.event))
    }
}

/// A score in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreDefinition {
    pub score_id: ScoreId,
    /// Since when.
    pub at: Timestamp,
    pub recorded_at: Timestamp,
    pub score: Score,
}

/// The definitions of a tenant that are in force, by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InForce {
    pub rules: Vec<RuleDefinition>,
    pub scores: Vec<ScoreDefinition>,
}

/// The definitions of tenants. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Definitions {
    ledger: Ledger,
}

enum RecordedDefinition {
    Rule(RuleId, DefinitionChange<When>),
    Score(ScoreId, DefinitionChange<Score>),
}

impl Definitions {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    pub async fn in_force(&self, tenant: &TenantId) -> Result<InForce, DynamoError> {
        let mut in_force = InForce::default();
        for row in self.rows(tenant).await? {
            match read(&row)? {
                RecordedDefinition::Rule(rule_id, DefinitionChange { at, to: Some(when) }) => {
                    let recorded_at = recorded_at(&row)?;
                    in_force.rules.push(RuleDefinition { rule_id, at, recorded_at, when });
                }
                RecordedDefinition::Score(score_id, DefinitionChange { at, to: Some(score) }) => {
                    let recorded_at = recorded_at(&row)?;
                    in_force.scores.push(ScoreDefinition { score_id, at, recorded_at, score });
                }
                RecordedDefinition::Rule(..) | RecordedDefinition::Score(..) => {}
            }
        }
        Ok(in_force)
    }

    async fn rows(&self, tenant: &TenantId) -> Result<Vec<Row<'_>>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::definitions(tenant)))],
            ..Query::default()
        };
        self.ledger.table().all(query).await
    }

    async fn recorded(&self, tenant: &TenantId) -> Result<Vec<RecordedDefinition>, DynamoError> {
        self.rows(tenant).await?.iter().map(read).collect()
    }

    /// What is on record of a rule, if anything is.
    pub async fn rule(
        &self,
        tenant: &TenantId,
        rule: &RuleId,
    ) -> Result<Option<DefinitionChange<When>>, DynamoError> {
        let row = self.ledger.get(keys::rule(tenant, rule)).await?;
        Ok(match row.as_ref().map(read).transpose()? {
            Some(RecordedDefinition::Rule(_, change)) => Some(change),
            _ => None,
        })
    }

    /// What is on record of a score, if anything is.
    pub async fn score(
        &self,
        tenant: &TenantId,
        score: &ScoreId,
    ) -> Result<Option<DefinitionChange<Score>>, DynamoError> {
        let row = self.ledger.get(keys::score(tenant, score)).await?;
        Ok(match row.as_ref().map(read).transpose()? {
            Some(RecordedDefinition::Score(_, change)) => Some(change),
            _ => None,
        })
    }

    /// Records a rule now or that it was deleted, unless what wins over it is on record. The inner error says that there is no room for it.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record_rule(
        &self,
        change: &RuleChange,
        now: Timestamp,
    ) -> Result<Result<(), TooManyDefinitions>, DynamoError> {
        let RuleChange { tenant_id, rule_id, .. } = change;
        let change = change.change();
        let rules = self.recorded(tenant_id).await?;
        let rules = rules.into_iter().filter_map(|it| match it {
            RecordedDefinition::Rule(id, change) => Some((id, change)),
            RecordedDefinition::Score(..) => None,
        });
        let key = keys::rule(tenant_id, rule_id);
        match verdict(rule_id, &change, &rules.collect::<Vec<_>>(), MOST_RULES) {
            Verdict::Wins => self.put(key, &change, now).await.map(Ok),
            Verdict::Loses => Ok(Ok(())),
            Verdict::HasNoRoom => Ok(Err(TooManyDefinitions)),
        }
    }

    /// Records a score, likewise.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record_score(
        &self,
        change: &ScoreChange,
        now: Timestamp,
    ) -> Result<Result<(), TooManyDefinitions>, DynamoError> {
        let ScoreChange { tenant_id, score_id, .. } = change;
        let change = change.change();
        let scores = self.recorded(tenant_id).await?;
        let scores = scores.into_iter().filter_map(|it| match it {
            RecordedDefinition::Score(id, change) => Some((id, change)),
            RecordedDefinition::Rule(..) => None,
        });
        let key = keys::score(tenant_id, score_id);
        match verdict(score_id, &change, &scores.collect::<Vec<_>>(), MOST_SCORES) {
            Verdict::Wins => self.put(key, &change, now).await.map(Ok),
            Verdict::Loses => Ok(Ok(())),
            Verdict::HasNoRoom => Ok(Err(TooManyDefinitions)),
        }
    }

    /// Puts what is recorded now, unless what wins over it was put meanwhile.
    async fn put<T: Display>(
        &self,
        key: LedgerKey,
        change: &DefinitionChange<T>,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let at = text(change.at.to_string());
        let recorded_at = (RECORDED_AT.to_owned(), text(now.to_string()));
        let mut item = Item::from([("at".to_owned(), at.clone()), recorded_at]);
        let wins = match &change.to {
            None => Condition::new("attribute_not_exists(#at) OR #at <= :at"),
            Some(to) => {
                let says = text(to.to_string());
                item.insert("says".to_owned(), says.clone());
                Condition::new(
                    "attribute_not_exists(#at) OR #at < :at OR (#at = :at AND says < :says)",
                )
                .value(":says", says)
            }
        };
        let wins = wins.name("#at", "at").value(":at", at);
        // Refused by what was written meanwhile, it has lost.
        let (Put::Done | Put::Refused(_)) =
            self.ledger.replace(key, item, &["says", DECIDED], Some(wins)).await?;
        Ok(())
    }
}

/// What becomes of a change, by what is on record.
enum Verdict {
    Wins,
    Loses,
    HasNoRoom,
}

fn verdict<I: PartialEq, T: Display>(
    id: &I,
    change: &DefinitionChange<T>,
    recorded: &[(I, DefinitionChange<T>)],
    most: usize,
) -> Verdict {
    let there = recorded.iter().find(|(of, _)| of == id).map(|(_, there)| there);
    if there.is_some_and(|there| !there.loses_against(change)) {
        return Verdict::Loses;
    }
    let others = recorded.iter().filter(|(of, other)| of != id && other.to.is_some()).count();
    let has_room = change.to.is_none() || others < most;
    match has_room && (there.is_some() || recorded.len() < MOST_IDS) {
        true => Verdict::Wins,
        false => Verdict::HasNoRoom,
    }
}

fn recorded_at(row: &Row<'_>) -> Result<Timestamp, DynamoError> {
    row.parsed(RECORDED_AT, "an instant")
}

fn read(row: &Row<'_>) -> Result<RecordedDefinition, DynamoError> {
    let LedgerKey { pk, sk } = LedgerKey::of(row)?;
    let (at, says) = (row.parsed("at", "an instant")?, row.optional_text("says")?);
    let corrupt = || row.corrupt("says", "a definition");
    match keys::of_key(&pk, &sk) {
        Some(TenantItem::Rule(_, id)) => {
            let to = says.map(|says| When::parse(says).ok_or_else(corrupt)).transpose()?;
            Ok(RecordedDefinition::Rule(id, DefinitionChange { at, to }))
        }
        Some(TenantItem::Score(_, id)) => {
            let to = says.map(|says| Score::stored(says).ok_or_else(corrupt)).transpose()?;
            Ok(RecordedDefinition::Score(id, DefinitionChange { at, to }))
        }
        _ => Err(row.corrupt("sk", "the key of a definition")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_wins_then_the_delete_then_the_greater_text() {
        let change = |millis, to: Option<&'static str>| DefinitionChange {
            at: Timestamp::from_unix_millis(millis),
            to,
        };
        let order = [change(1, None), change(2, Some("a")), change(2, Some("b")), change(2, None)];
        for (index, one) in order.iter().enumerate() {
            for (other_index, other) in order.iter().enumerate() {
                assert_eq!(one.loses_against(other), index < other_index);
            }
        }
    }
}

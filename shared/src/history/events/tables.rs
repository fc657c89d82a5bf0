//! The tables of periods, one for each.

use std::sync::Arc;

use serde_json::json;

use super::Period;
use crate::platform::dynamo::{Dynamo, DynamoError, Table};

/// The operations that add to a table or change it, as policies name them. Transactions are authorized by these.
const PUTS: [&str; 5] = [
    "dynamodb:BatchWriteItem",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
];
/// Those that take away from it.
const DELETES: [&str; 2] = ["dynamodb:DeleteItem", "dynamodb:PartiQLDelete"];

/// What a sealed table refuses, from everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableSeal {
    All,
    /// All but single deletes, while somebody takes events out of it. It never takes any.
    Puts,
}

/// The tables of periods. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventTables {
    dynamo: Dynamo,
    prefix: Arc<str>,
}

impl EventTables {
    /// Those whose names begin with this.
    pub fn new(dynamo: &Dynamo, prefix: &str) -> Self {
        Self { dynamo: dynamo.clone(), prefix: prefix.into() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { dynamo: dynamo.clone(), prefix: Arc::clone(&self.prefix) }
    }

    /// The client of the tables.
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The table of a period, whether it is there or not.
    pub fn table(&self, period: Period) -> Table {
        self.dynamo.table(&self.name(period))
    }

    /// Has the table of a period refuse what a seal says, by its policy.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be sealed.
    pub async fn seal(
        &self,
        (period, arn): (Period, &str),
        seal: TableSeal,
    ) -> Result<(), DynamoError> {
        let deletes = if seal == TableSeal::All { DELETES.as_slice() } else { &[] };
        let mut actions: Vec<_> = PUTS.iter().chain(deletes).collect();
        actions.sort_unstable();
        let policy = json!({
            "Version": "2012-10-17",
            "Statement": [{
                "Sid": "Sealed",
                "Effect": "Deny",
                "Principal": "*",
                "Action": actions,
                "Resource": arn,
            }],
        });
        let (table, policy) = (self.table(period), policy.to_string());
        let put = || {
            let put = table.client().put_resource_policy().resource_arn(arn);
            put.policy(policy.as_str()).send()
        };
        table.attempt(put).await.map(|_| ())
    }

    pub fn name(&self, period: Period) -> String {
        format!("{}{period}", self.prefix)
    }

    /// The period whose table is called so, if it is one of these.
    pub fn period_of(&self, name: &str) -> Option<Period> {
        name.strip_prefix(&*self.prefix)?.parse().ok()
    }
}

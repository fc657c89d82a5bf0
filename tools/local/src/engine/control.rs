//! Operations on tables: create, describe, protect, back up, seal with a policy, delete.
//!
//! The engine creates and deletes tables. What it does not know is stored beside its tables: when a table was made by the stack's
//! clock, whether it can be restored to a point in time, and its resource policy. Only one kind of policy statement is obeyed: those
//! that deny operations, by name, to everybody. That is enough to seal a table.

use dynoxide::DynoxideError;
use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use dynoxide::actions::{create_table, delete_table, describe_table, update_table};
use dynoxide::storage::Storage;
use nagare_client::local_stack::REGION;
use rusqlite::{OptionalExtension, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::execute::{refused, run};
use super::tables::Engine;
use crate::aws_models::{self, Unknown};
use crate::schema::{self, EVENTS_PREFIX};

/// The region in the engine's ARNs.
const ENGINE_REGION: &str = "dynoxide";

/// The operations that write items.
const WRITES: [&str; 5] =
    ["PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"];

/// The operations that change a table itself.
const CHANGES: [&str; 6] = [
    "CreateTable",
    "UpdateTable",
    "DeleteTable",
    "UpdateContinuousBackups",
    "PutResourcePolicy",
    "DeleteResourcePolicy",
];

impl Engine {
    /// Executes an operation on a table. `None` if it is another operation. Only tables of events can be changed: the other tables are
    /// what the stack consists of.
    pub(super) fn control(
        &self,
        operation: &str,
        body: &[u8],
    ) -> Option<Result<String, DynoxideError>> {
        if CHANGES.contains(&operation)
            && let Err(refusal) = allowed(operation, body)
        {
            return Some(Err(refusal));
        }
        let answer = match operation {
            "CreateTable" => self.create_table(body),
            "DescribeTable" => self.describe_table(body),
            "UpdateTable" => self.update_table(body),
            "DeleteTable" => self.delete_table(body),
            "UpdateContinuousBackups" => self.backups(body, true),
            "DescribeContinuousBackups" => self.backups(body, false),
            "PutResourcePolicy" => self.put_policy(body),
            "GetResourcePolicy" => self.policy(body),
            "DeleteResourcePolicy" => self.delete_policy(body),
            _ => return None,
        };
        Some(answer.map(|answer| answer.to_string()))
    }

    /// Refuses what the policy of a table denies.
    pub(super) fn check_policies(&self, operation: &str, body: &[u8]) -> Result<(), DynoxideError> {
        // Most requests are about none of them. They are found without reading the request as JSON.
        let is_named = |name: &String| std::str::from_utf8(body).is_ok_and(|it| it.contains(name));
        if !WRITES.contains(&operation) || !self.tables.with_policy.lock().iter().any(is_named) {
            return Ok(());
        }
        let request: Value = read(body)?;
        let storage = self.storage();
        for table in tables_of(&request) {
            let policy = policy_of(&storage, table)?;
            if policy.is_some_and(|policy| denies(&policy, operation)) {
                return Err(DynoxideError::AccessDeniedException(format!(
                    "dynamodb:{operation} on {table} is denied by the policy of the table"
                )));
            }
        }
        Ok(())
    }

    fn create_table(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: create_table::CreateTableRequest = read(body)?;
        let (storage, name) = (self.storage(), request.table_name.clone());
        let answer = schema::create(&storage, request)?;
        let sql = "INSERT OR REPLACE INTO nagare_control (name, created) VALUES (?1, ?2)";
        storage.conn().execute(sql, params![name, (self.now)()])?;
        described(&storage, &answer, "TableDescription", &name)
    }

    fn describe_table(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: describe_table::DescribeTableRequest = read(body)?;
        let (storage, name) = (self.storage(), request.table_name.clone());
        let answer =
            run(describe_table::execute(&*storage, request, &VectorIndexLifecycle::new()))?;
        described(&storage, &answer, "Table", &name)
    }

    fn update_table(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: update_table::UpdateTableRequest = read(body)?;
        let (storage, name) = (self.storage(), request.table_name.clone());
        let answer = run(update_table::execute(&*storage, request, &VectorIndexLifecycle::new()))?;
        described(&storage, &answer, "TableDescription", &name)
    }

    fn delete_table(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: delete_table::DeleteTableRequest = read(body)?;
        let (storage, name) = (self.storage(), request.table_name.clone());
        let answer = run(delete_table::execute(&*storage, request, &VectorIndexLifecycle::new()))?;
        let answer = described(&storage, &answer, "TableDescription", &name)?;
        storage.conn().execute("DELETE FROM nagare_control WHERE name = ?1", [&name])?;
        forget_stream(&storage, &name)?;
        self.tables.with_policy.lock().remove(&name);
        Ok(answer)
    }

    fn backups(&self, body: &[u8], is_update: bool) -> Result<Value, DynoxideError> {
        let request: Value = read(body)?;
        let (storage, name) = (self.storage(), text(&request, "TableName")?);
        demand(&storage, name)?;
        if is_update {
            let on = &request["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
            let on = on.as_bool().ok_or_else(|| missing("PointInTimeRecoveryEnabled"))?;
            note(&storage, name, (self.now)())?;
            let sql = "UPDATE nagare_control SET restorable = ?2 WHERE name = ?1";
            storage.conn().execute(sql, params![name, on])?;
        }
        let sql = "SELECT restorable FROM nagare_control WHERE name = ?1";
        let on = storage.conn().query_row(sql, [name], |row| row.get(0)).optional()?;
        let status = if on == Some(true) { "ENABLED" } else { "DISABLED" };
        Ok(json!({"ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": status},
        }}))
    }

    fn put_policy(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: Value = read(body)?;
        let (name, policy) = (table_of_arn(text(&request, "ResourceArn")?), &request["Policy"]);
        let policy = policy.as_str().ok_or_else(|| missing("Policy"))?;
        let is_json = serde_json::from_str::<Value>(policy).is_ok_and(|it| it.is_object());
        if !is_json {
            let message = "Invalid policy document: it is no JSON object";
            return Err(DynoxideError::ValidationException(message.to_owned()));
        }
        let storage = self.storage();
        demand(&storage, name)?;
        note(&storage, name, (self.now)())?;
        let sql = "UPDATE nagare_control SET policy = ?2 WHERE name = ?1";
        storage.conn().execute(sql, params![name, policy])?;
        self.tables.with_policy.lock().insert(name.to_owned());
        Ok(json!({"RevisionId": (self.now)().to_string()}))
    }

    fn policy(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: Value = read(body)?;
        let (storage, name) = (self.storage(), table_of_arn(text(&request, "ResourceArn")?));
        demand(&storage, name)?;
        let policy = policy_of(&storage, name)?;
        let policy = policy.ok_or_else(|| {
            DynoxideError::ResourceNotFoundException(format!(
                "PolicyNotFoundException: {name} has no policy"
            ))
        })?;
        Ok(json!({"Policy": policy, "RevisionId": "1"}))
    }

    /// Deletes the policy of a table, if it has one.
    fn delete_policy(&self, body: &[u8]) -> Result<Value, DynoxideError> {
        let request: Value = read(body)?;
        let (storage, name) = (self.storage(), table_of_arn(text(&request, "ResourceArn")?));
        demand(&storage, name)?;
        let sql = "UPDATE nagare_control SET policy = NULL WHERE name = ?1";
        storage.conn().execute(sql, [name])?;
        self.tables.with_policy.lock().remove(name);
        Ok(json!({"RevisionId": (self.now)().to_string()}))
    }
}

/// Deletes what a table has left in its stream. Otherwise the engine would take it for that of a later table with the same name.
fn forget_stream(storage: &Storage, name: &str) -> Result<(), DynoxideError> {
    storage.conn().execute("DELETE FROM _stream_records WHERE table_name = ?1", [name])?;
    storage.conn().execute("DELETE FROM nagare_worked_off WHERE table_name = ?1", [name])?;
    Ok(())
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, DynoxideError> {
    serde_json::from_slice(body).map_err(|e| refused(&e))
}

fn text<'a>(request: &'a Value, member: &str) -> Result<&'a str, DynoxideError> {
    request[member].as_str().ok_or_else(|| missing(member))
}

fn missing(member: &str) -> DynoxideError {
    let message =
        format!("The parameter '{member}' is required but was not present in the request");
    DynoxideError::ValidationException(message)
}

/// Refuses what DynamoDB's model refuses, and an operation on a table that is not one of events.
fn allowed(operation: &str, body: &[u8]) -> Result<(), DynoxideError> {
    let request: Value = read(body)?;
    aws_models::check(&format!("dynamodb.{operation}"), &request, Unknown::Ignored)
        .map_err(|violation| DynoxideError::ValidationException(violation.to_string()))?;
    let named = request["TableName"].as_str().or(request["ResourceArn"].as_str());
    match named.is_some_and(|name| table_of_arn(name).starts_with(EVENTS_PREFIX)) {
        true => Ok(()),
        false => Err(DynoxideError::ValidationException(format!(
            "the local stack changes tables of events alone, whose names begin with {EVENTS_PREFIX}"
        ))),
    }
}

/// The name of a table, which may be given by its ARN.
fn table_of_arn(arn: &str) -> &str {
    arn.rsplit_once('/').map_or(arn, |(_, name)| name)
}

/// Adds to an answer when the table was made, by the clock of the stack. ARNs name the region of the stack; that of the engine
/// matches no pattern of AWS.
fn described(
    storage: &Storage,
    answer: &impl Serialize,
    member: &str,
    name: &str,
) -> Result<Value, DynoxideError> {
    let answer = serde_json::to_string(answer).map_err(|e| refused(&e))?;
    let mut answer: Value =
        read(answer.replace(&format!(":{ENGINE_REGION}:"), &format!(":{REGION}:")).as_bytes())?;
    let sql = "SELECT created FROM nagare_control WHERE name = ?1";
    let created = storage.conn().query_row(sql, [name], |row| row.get(0)).optional()?;
    if let Some(created) = created {
        answer[member]["CreationDateTime"] = json!(in_seconds(created));
    }
    Ok(answer)
}

/// Seconds with their fraction, as DynamoDB writes instants.
#[allow(clippy::cast_precision_loss, reason = "milliseconds of this age have 41 bits")]
fn in_seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

/// Refuses an operation on a table that does not exist.
fn demand(storage: &Storage, name: &str) -> Result<(), DynoxideError> {
    match storage.get_table_metadata(name)? {
        Some(_) => Ok(()),
        None => Err(DynoxideError::ResourceNotFoundException(format!(
            "Requested resource not found: Table: {name} not found"
        ))),
    }
}

/// Adds the row of a table that was made with the stack.
fn note(storage: &Storage, name: &str, now: i64) -> Result<(), DynoxideError> {
    let sql = "INSERT OR IGNORE INTO nagare_control (name, created) VALUES (?1, ?2)";
    storage.conn().execute(sql, params![name, now])?;
    Ok(())
}

fn policy_of(storage: &Storage, name: &str) -> Result<Option<String>, DynoxideError> {
    let sql = "SELECT policy FROM nagare_control WHERE name = ?1";
    let policy = storage.conn().query_row(sql, [name], |row| row.get(0)).optional()?;
    Ok(policy.flatten())
}

/// The tables that a write request names.
fn tables_of(request: &Value) -> Vec<&str> {
    let one = request["TableName"].as_str();
    let batch = request["RequestItems"].as_object().into_iter().flat_map(|it| it.keys());
    let actions = request["TransactItems"].as_array().into_iter().flatten();
    let parts = actions.filter_map(Value::as_object).flat_map(|action| action.values());
    let parts = parts.filter_map(|part| part["TableName"].as_str());
    let named = one.into_iter().chain(batch.map(String::as_str)).chain(parts);
    named.map(table_of_arn).collect()
}

/// True if a statement of the policy denies everybody the operation. DynamoDB authorizes a transaction by the kinds of
/// writes in it, so a transaction is denied if any kind of write is. A batch is authorized as an operation of its own.
fn denies(policy: &str, operation: &str) -> bool {
    let parts: &[&str] = match operation {
        "TransactWriteItems" => &["PutItem", "UpdateItem", "DeleteItem"],
        _ => &[],
    };
    let Ok(policy) = serde_json::from_str::<Value>(policy) else { return false };
    let statements = match &policy["Statement"] {
        Value::Array(statements) => statements.as_slice(),
        one => std::slice::from_ref(one),
    };
    statements.iter().any(|statement| {
        let actions = match &statement["Action"] {
            Value::Array(actions) => actions.as_slice(),
            one => std::slice::from_ref(one),
        };
        let names = |action: &Value, name: &str| {
            action
                .as_str()
                .is_some_and(|it| it == "dynamodb:*" || it.strip_prefix("dynamodb:") == Some(name))
        };
        statement["Effect"] == "Deny"
            && (statement["Principal"] == "*" || statement["Principal"]["AWS"] == "*")
            && actions.iter().any(|action| {
                names(action, operation) || parts.iter().any(|part| names(action, part))
            })
    })
}

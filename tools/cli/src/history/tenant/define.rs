//! What is defined for a tenant: rules, scores, the payload of a customer, and which alerts are read.
//!
//! Each subcommand writes one command as JSON, as any producer does, and reads it back with the parser of commands. So a mistake is
//! reported before anything is sent, in the parser's words.

use clap::{Args, Subcommand, ValueEnum};
use nagare_client::clock;
use serde_json::{Map, Value, json};
use shared::command::Command;
use shared::platform::values::{CustomerId, EventName, Payload, TenantId, Timestamp};

use crate::Failure;
use crate::submit::Submission;

/// Rules, which tell of a customer once.
#[derive(Debug, Subcommand)]
pub(crate) enum Rule {
    /// Define RULE: a customer did something a number of times within a period, or has done nothing for days.
    Define(DefineRule),
    /// Delete RULE. What it has told is not listed any more.
    Delete(Named),
}

/// Scores, from 0 to 100.
#[derive(Debug, Subcommand)]
pub(crate) enum Score {
    /// Define SCORE: a base, and points for what a customer did lately.
    Define(DefineScore),
    /// Delete SCORE.
    Delete(Named),
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// Whose.
    tenant: TenantId,
    /// Its id.
    id: String,
    #[command(flatten)]
    sending: Sending,
}

#[derive(Debug, Args)]
pub(crate) struct DefineRule {
    /// Whose.
    tenant: TenantId,
    /// Its id.
    rule: String,
    /// The name of the events that are counted.
    #[arg(
        long,
        requires = "count",
        requires = "within",
        conflicts_with = "silent_days",
        required_unless_present = "silent_days"
    )]
    event: Option<EventName>,
    /// How many there have to be.
    #[arg(long, requires = "event")]
    count: Option<u64>,
    /// Within which period, in UTC.
    #[arg(long, requires = "event")]
    within: Option<Within>,
    /// For how many whole days in UTC nothing has happened.
    #[arg(long, value_name = "DAYS")]
    silent_days: Option<u64>,
    #[command(flatten)]
    sending: Sending,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Within {
    Day,
    Week,
    Month,
    Ever,
}

#[derive(Debug, Args)]
pub(crate) struct DefineScore {
    /// Whose.
    tenant: TenantId,
    /// Its id.
    score: String,
    /// What everybody begins with.
    #[arg(long, allow_hyphen_values = true)]
    base: i64,
    /// Points for each event of a name within the last days, today included, by at most so many either way. May be given
    /// several times: login:28:3:60
    #[arg(long = "measure", value_name = "EVENT:DAYS:POINTS:MOST", value_parser = measure)]
    measures: Vec<Value>,
    /// Below what it tells of a customer.
    #[arg(long, value_name = "SCORE")]
    alert_below: Option<u64>,
    #[command(flatten)]
    sending: Sending,
}

/// Change what there is to show of CUSTOMER.
#[derive(Debug, Args)]
pub(crate) struct UpdateCustomer {
    /// Whose customer.
    tenant: TenantId,
    /// Who.
    customer: CustomerId,
    /// All that there is to show from then on, a JSON value of at most 4 KiB.
    #[arg(long)]
    payload: Payload,
    #[command(flatten)]
    sending: Sending,
}

/// Mark alerts as read.
#[derive(Debug, Args)]
pub(crate) struct ReadAlerts {
    /// Whose.
    tenant: TenantId,
    /// Their ids.
    #[arg(required = true)]
    alerts: Vec<String>,
    #[command(flatten)]
    submission: Submission,
}

/// When it is, and what is said of sending it.
#[derive(Debug, Args)]
struct Sending {
    /// When, as an RFC 3339 instant; now, if it is not given. The latest wins.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

impl Sending {
    async fn send(self, kind: &str, tenant: &TenantId, members: Value) -> Result<(), Failure> {
        let at = self.at.unwrap_or_else(|| clock::clock().now());
        let mut all = object(members);
        all.insert("at".to_owned(), at.to_string().into());
        send(kind, tenant, all, self.submission).await
    }
}

async fn send(
    kind: &str,
    tenant: &TenantId,
    mut members: Map<String, Value>,
    submission: Submission,
) -> Result<(), Failure> {
    members.insert("type".to_owned(), kind.into());
    members.insert("tenant_id".to_owned(), tenant.as_str().into());
    submission.send(parsed(&Value::Object(members).to_string())?).await
}

fn parsed(body: &str) -> Result<Command, Failure> {
    Command::parse(body, clock::clock().now()).map_err(|e| Failure::Usage(e.unredacted()))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

impl Rule {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Define(rule) => rule.run().await,
            Self::Delete(Named { tenant, id, sending }) => {
                sending.send("rule.deleted", &tenant, json!({ "rule_id": id })).await
            }
        }
    }
}

impl DefineRule {
    async fn run(self) -> Result<(), Failure> {
        let Self { tenant, rule, event, count, within, silent_days, sending } = self;
        let when = match (event, count, within, silent_days) {
            (Some(event), Some(count), Some(within), None) => {
                json!({"event": event.as_str(), "count": count, "within": within.as_str()})
            }
            (.., days) => json!({ "silent_days": days }),
        };
        sending.send("rule.defined", &tenant, json!({"rule_id": rule, "when": when})).await
    }
}

impl Within {
    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Ever => "ever",
        }
    }
}

impl Score {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Define(score) => score.run().await,
            Self::Delete(Named { tenant, id, sending }) => {
                sending.send("score.deleted", &tenant, json!({ "score_id": id })).await
            }
        }
    }
}

impl DefineScore {
    async fn run(self) -> Result<(), Failure> {
        let Self { tenant, score, base, measures, alert_below, sending } = self;
        let mut members = json!({"score_id": score, "base": base, "measures": measures});
        if let Some(below) = alert_below {
            members["alert_below"] = below.into();
        }
        sending.send("score.defined", &tenant, members).await
    }
}

/// A measure: `login:28:3:60`. No name of an event has a colon.
fn measure(text: &str) -> Result<Value, String> {
    let expected = || "expected EVENT:DAYS:POINTS:MOST, such as login:28:3:60".to_owned();
    let [event, days, points, most] =
        text.split(':').collect::<Vec<_>>().try_into().map_err(|_| expected())?;
    let number = |text: &str| text.parse::<i64>().map_err(|_| expected());
    let (days, points, most) = (number(days)?, number(points)?, number(most)?);
    Ok(json!({"event": event, "days": days, "points": points, "most": most}))
}

impl UpdateCustomer {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { tenant, customer, payload, sending } = self;
        let at = sending.at.unwrap_or_else(|| clock::clock().now());
        // The payload is sent as it was given, down to the digits of its numbers.
        let body = format!(
            r#"{{"type":"customer.updated","tenant_id":"{tenant}","customer_id":"{customer}","at":"{at}","payload":{}}}"#,
            payload.as_json()
        );
        sending.submission.send(parsed(&body)?).await
    }
}

impl ReadAlerts {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let read: Vec<_> = self.alerts.iter().map(|id| json!({ "alert_id": id })).collect();
        send("alerts.read", &self.tenant, object(json!({ "read": read })), self.submission).await
    }
}

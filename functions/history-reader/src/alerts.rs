//! The alerts of a tenant (docs/QUERIES.md), latest first: those of counting rules as they are defined now, and all daily ones.
//!
//! Alerts of counting rules that were redefined or deleted are skipped, as are read ones if only unread ones are requested. A page makes
//! at most [`ROUNDS`] calls. If most of what they return is skipped, the page is short or empty, and has a cursor.

use serde::Serialize;
use shared::history::tenants::keys::of_alert;
use shared::history::tenants::{Alert, AlertSource, Alerts, Definitions};
use shared::platform::values::{AlertId, CustomerId, RuleId, ScoreId, TenantId, Timestamp};

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::{self, List, UNREAD};
use function_http::reader::query::Parameters;
use function_http::response::Answer;

/// Calls that a page makes to find its alerts.
const ROUNDS: usize = 4;
/// Alerts read in one call: half a kilobyte each.
const LOOKED_AT: usize = 200;

#[derive(Serialize)]
struct AlertItem {
    alert_id: AlertId,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_id: Option<RuleId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_id: Option<ScoreId>,
    customer_id: CustomerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<String>,
    decided_at: Timestamp,
    decided_on: DecidedOn,
    state: &'static str,
}

#[derive(Serialize)]
struct DecidedOn {
    events: u64,
}

/// The position to continue a page from: after an alert.
type Position = (Timestamp, AlertId);

impl From<Alert> for AlertItem {
    fn from(alert: Alert) -> Self {
        let (is_daily, when) = (alert.is_daily(), alert.when_name());
        let (day, period) = if is_daily { (Some(when), None) } else { (None, Some(when)) };
        let (rule_id, score_id) = match alert.source {
            AlertSource::Rule(rule) => (Some(rule), None),
            AlertSource::Score(score) => (None, Some(score)),
        };
        Self {
            period,
            day,
            alert_id: alert.alert_id,
            rule_id,
            score_id,
            customer_id: alert.customer_id,
            decided_at: alert.decided_at,
            decided_on: DecidedOn { events: alert.events },
            state: if alert.is_read { "read" } else { UNREAD },
        }
    }
}

/// `GET /v1/tenants/{tenant_id}/alerts`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let list = List::of_tenant(cx, "alerts")?;
    let parameters = Parameters::parse(cx.event, &["limit", "cursor", "state"])?;
    parameters.get("cursor").map_or(Ok(()), |_| parameters.without("cursor", &["state"]))?;
    let (behind, limit) = list.page_of(&parameters, position)?;
    let (only, behind) = behind.unzip();
    let unread_only = only.unwrap_or(list::is_unread_only(&parameters)?);
    let (alerts, next) = read(cx, &list.whose, behind, unread_only, limit).await?;
    let of = if unread_only { 'u' } else { 'a' };
    let next = next.map(|(at, id)| format!("{of}{at}#{id}"));
    list.answer(alerts.into_iter().map(AlertItem::from).collect(), next)
}

/// Up to `limit` alerts after a position, and the position to continue from if there may be more.
async fn read(
    cx: &Context<'_>,
    tenant: &TenantId,
    mut behind: Option<Position>,
    unread_only: bool,
    limit: usize,
) -> Result<(Vec<Alert>, Option<Position>), Problem> {
    let ledger = &cx.reader.ledger;
    let (alerts, definitions) = (Alerts::new(ledger), Definitions::new(ledger));
    let in_force = definitions.in_force(tenant).await?;
    let stands =
        |alert: &Alert| alert.is_daily() || in_force.rules.iter().any(|rule| alert.is_of(rule));
    let is_shown = |alert: &Alert| !(unread_only && alert.is_read) && stands(alert);
    let mut shown = Vec::new();
    for _ in 0..ROUNDS {
        let (found, may_go_on) = alerts.page(tenant, behind.as_ref(), LOOKED_AT).await?;
        let last = found.len();
        for (index, alert) in found.into_iter().enumerate() {
            behind = Some((alert.decided_at, alert.alert_id.clone()));
            if is_shown(&alert) {
                shown.push(alert);
            }
            if shown.len() == limit {
                let is_last = index + 1 == last && !may_go_on;
                return Ok((shown, behind.filter(|_| !is_last)));
            }
        }
        if !may_go_on {
            return Ok((shown, None));
        }
    }
    Ok((shown, behind))
}

/// The alert that a cursor continues after, and whether only unread ones are shown.
fn position(position: &[u8]) -> Option<(bool, Position)> {
    let (unread_only, behind) = match list::text(position)?.split_at_checked(1)? {
        ("u", behind) => (true, behind),
        ("a", behind) => (false, behind),
        _ => return None,
    };
    Some((unread_only, of_alert(behind)?))
}

//! What is asked for. Everything a caller can get wrong is found here, and named.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use shared::timelines::{Cursor, CursorSeal, Order, Range};
use shared::values::{Timestamp, TimestampError, ViewerId};

use crate::http::problem::Problem;
use crate::http::query::Parameters;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;
const KNOWN: &[&str] = &["limit", "order", "from", "to", "cursor"];

/// One page of a timeline: where it begins, which way it goes, how long it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The most activities on it.
    pub(crate) limit: usize,
    /// The position to go on from; the start of a timeline is a cursor too.
    pub(crate) cursor: Cursor,
}

impl Request {
    /// Reads the query parameters.
    pub(crate) fn parse(
        event: &ApiGatewayV2httpRequest,
        viewer: &ViewerId,
        seal: &CursorSeal,
    ) -> Result<Self, Problem> {
        let parameters = Parameters::of(event, KNOWN)?;
        let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
        let cursor = match parameters.get("cursor") {
            Some(text) => {
                parameters.without("cursor", &["order", "from", "to"])?;
                let opened = seal.open(viewer, text);
                opened.map_err(|e| Problem::invalid("cursor", e.to_string()))?
            }
            None => Cursor {
                order: parameters.get("order").map_or(Ok(Order::Newest), order)?,
                range: Range {
                    from: parameters.get("from").map(from).transpose()?,
                    to: parameters.get("to").map(to).transpose()?,
                },
                ..Cursor::default()
            },
        };
        Ok(Self { limit, cursor })
    }
}

fn limit(text: &str) -> Result<usize, Problem> {
    // `parse` alone would take a leading `+`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|n| digits && (1..=MAX_LIMIT).contains(n));
    let problem = || "expected a whole number from 1 to 100".to_owned();
    number.ok_or_else(|| Problem::invalid("limit", problem()))
}

fn order(text: &str) -> Result<Order, Problem> {
    match text {
        "newest" => Ok(Order::Newest),
        "oldest" => Ok(Order::Oldest),
        _ => Err(Problem::invalid("order", "expected `newest` or `oldest`".to_owned())),
    }
}

fn from(text: &str) -> Result<Timestamp, Problem> {
    let day = |_| Timestamp::parse_date(text);
    Timestamp::parse(text).or_else(day).map_err(|e| instant_problem("from", text, &e))
}

fn to(text: &str) -> Result<Timestamp, Problem> {
    let day = |_| Timestamp::parse_date(text).map(Timestamp::next_day);
    Timestamp::parse(text).or_else(day).map_err(|e| instant_problem("to", text, &e))
}

fn instant_problem(name: &'static str, text: &str, error: &TimestampError) -> Problem {
    // An unencoded `+` of an offset arrives as a space.
    let hint = if text.contains(' ') { "; write `+` as %2B" } else { "" };
    Problem::invalid(name, format!("{error}, or a date such as 2026-11-20{hint}"))
}

//! What is asked for. Everything a caller can get wrong is found here, and named.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use percent_encoding::percent_decode_str;
use shared::cursor::{Cursor, CursorSeal, Order, Range};
use shared::timestamp::TimestampError;
use shared::{Timestamp, ViewerId};

use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;

/// One page of a timeline: where it begins, which way it goes, how long it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The most activities on it.
    pub(crate) limit: usize,
    /// The place to go on from; the start of a timeline is a cursor too.
    pub(crate) cursor: Cursor,
}

/// Finds the viewer's segment of the path, still encoded.
pub(crate) fn route(event: &ApiGatewayV2httpRequest) -> Result<&str, Problem> {
    let path = event.raw_path.as_deref().unwrap_or_default();
    // A stage other than the default one is part of the raw path.
    let stage = event.request_context.stage.as_deref().filter(|stage| *stage != "$default");
    let within = stage.and_then(|stage| path.strip_prefix('/')?.strip_prefix(stage));
    let path = within.filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let segment = path.strip_prefix("/v1/timelines/").ok_or(Problem::NotFound)?;
    if segment.is_empty() || segment.contains('/') {
        return Err(Problem::NotFound);
    }
    match event.request_context.http.method.as_str() {
        "GET" => Ok(segment),
        _ => Err(Problem::MethodNotAllowed),
    }
}

/// Reads the viewer's id: the path parameter where API Gateway has matched the route, else the
/// segment itself. (API Gateway decodes the former; whether it decodes the raw path it does not say,
/// and decoding an id twice changes nothing, for no id contains a `%`.)
pub(crate) fn viewer(event: &ApiGatewayV2httpRequest, segment: &str) -> Result<ViewerId, Problem> {
    let invalid = |problem: String| Problem::invalid("viewer_id", problem);
    let id = match event.path_parameters.get("viewer_id") {
        Some(id) => Cow::from(id),
        None => {
            let decoded = percent_decode_str(segment).decode_utf8();
            decoded.map_err(|_| invalid("expected UTF-8".to_owned()))?
        }
    };
    ViewerId::new(id).map_err(|e| invalid(e.to_string()))
}

impl Request {
    /// Reads the query parameters.
    pub(crate) fn parse(
        event: &ApiGatewayV2httpRequest,
        viewer: &ViewerId,
        seal: &CursorSeal,
    ) -> Result<Self, Problem> {
        let parameters = Parameters::of(event)?;
        let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
        let cursor = match parameters.get("cursor") {
            Some(text) => {
                parameters.without("cursor", ["order", "from", "to"])?;
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

/// The query parameters that mean something here, decoded.
struct Parameters<'a>(HashMap<&'static str, Cow<'a, str>>);

const KNOWN: [&str; 5] = ["limit", "order", "from", "to", "cursor"];

impl<'a> Parameters<'a> {
    fn of(event: &'a ApiGatewayV2httpRequest) -> Result<Self, Problem> {
        let mut values = HashMap::new();
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let Some(name) = KNOWN.into_iter().find(|known| *known == name) else {
                continue;
            };
            if values.insert(name, value).is_some() {
                return Err(Problem::invalid(name, "given twice".to_owned()));
            }
        }
        Ok(Self(values))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(AsRef::as_ref)
    }

    fn without(&self, given: &str, others: [&'static str; 3]) -> Result<(), Problem> {
        match others.into_iter().find(|other| self.0.contains_key(other)) {
            None => Ok(()),
            Some(other) => {
                let problem = format!("cannot be sent beside `{given}`, which carries it");
                Err(Problem::invalid(other, problem))
            }
        }
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

//! The request for a page. All errors of callers are found and named here.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;
use shared::platform::paging::{Cursor, Floor, List, Position, Range, Seen};
use shared::platform::values::{Order, Span, Timestamp, TimestampError, ViewerId};

use crate::problem::Problem;
use crate::reader::query::Parameters;
use crate::reader::{Context, Routes};

/// Items on a page by default.
pub const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 100;
const KNOWN: &[&str] = &["limit", "order", "from", "to", "cursor", "include"];

/// One page of a list: where it begins, which way it goes, how long it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The most items on it.
    pub limit: usize,
    /// The position to continue from; the start of a list is a cursor too.
    pub cursor: Cursor,
    /// Whose own likes are shown, if activities are shown with their likes.
    pub own: Option<ViewerId>,
}

/// The parameters of a request for a page, and `others` that may be given several times.
pub fn parameters<'a>(
    event: &'a ApiGatewayV2httpRequest,
    others: &'static [&'static str],
) -> Result<Parameters<'a>, Problem> {
    Parameters::with_several(event, KNOWN, others)
}

impl Request {
    /// Reads the parameters of a request for a page of a list with a filter. The filter is made from the parameters `carried`,
    /// which a cursor contains like the range.
    pub fn parse(
        cx: &Context<'_, impl Routes>,
        parameters: &Parameters<'_>,
        list: &List,
        filter: Vec<u8>,
        carried: &[&'static str],
    ) -> Result<Self, Problem> {
        let likes = parameters.get("include").map_or(Ok(false), include)?;
        let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
        let mut cursor = match parameters.get("cursor") {
            Some(text) => {
                parameters.without("cursor", &[&["order", "from", "to"], carried].concat())?;
                let opened = cx.requests().seal.open(list, text);
                opened.map_err(|e| Problem::invalid("cursor", e.to_string()))?
            }
            None => Cursor {
                position: Position::Page {
                    order: parameters.get("order").map_or(Ok(Order::Newest), order)?,
                    after: None,
                },
                range: Range {
                    from: parameters.get("from").map(from).transpose()?,
                    to: parameters.get("to").map(to).transpose()?,
                },
                seen: None,
                likes,
                filter,
            },
        };
        cursor.likes |= likes;
        Ok(Self { limit, cursor, own: cx.own.clone() })
    }

    /// True for a page of what became visible since.
    pub(super) fn is_newer(&self) -> bool {
        matches!(self.cursor.position, Position::Newer { .. })
    }

    /// True if it is the first page of what became visible since. Most of these find nothing.
    pub fn is_poll(&self) -> bool {
        matches!(self.cursor.position, Position::Newer { after: None, .. })
    }

    /// The span to read, without what retention has dropped, and the stored sort key to begin after.
    pub fn start(&self, retained_from: Timestamp) -> (Span, Option<String>) {
        let Cursor { range, position, seen, .. } = &self.cursor;
        let from = range.from.map_or(retained_from, |from| from.max(retained_from));
        let span = |order, from| Span { from, to: range.to, order };
        match position {
            Position::Page { order, after } => {
                (span(*order, from), after.as_ref().map(ToString::to_string))
            }
            Position::Newer { floor, after } => {
                let from = seen.as_ref().map_or(from, |seen| from.max(seen.window()));
                let (from, floor) = match floor {
                    None => (from, None),
                    Some(Floor::From(floor)) => (from.max(*floor), None),
                    Some(Floor::After(key)) => (from, Some(key)),
                };
                let after = after.as_ref().max(floor).map(ToString::to_string);
                (span(Order::Oldest, from), after)
            }
        }
    }

    /// What was shown before, if the page may show some of it again or adds to it. Only newest-first pages below the window
    /// do not.
    pub(super) fn window(&self) -> Option<&Seen> {
        let seen = self.cursor.seen.as_ref()?;
        let is_below = match &self.cursor.position {
            Position::Page { order: Order::Newest, after: Some(after) } => {
                after.published_at < seen.window()
            }
            _ => false,
        };
        (!is_below).then_some(seen)
    }

    /// The number of rows that will be skipped because they were shown before, as far as the cursor knows.
    pub fn skipped(&self) -> usize {
        let seen = self.cursor.seen.as_ref().filter(|_| self.is_newer());
        seen.map_or(0, Seen::count)
    }
}

fn include(text: &str) -> Result<bool, Problem> {
    match text {
        "likes" => Ok(true),
        _ => Err(Problem::invalid("include", "expected `likes`".to_owned())),
    }
}

/// Parses the number of items on a page.
pub fn limit(text: &str) -> Result<usize, Problem> {
    // `parse` alone would take a leading `+`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|n| digits && (1..=MAX_LIMIT).contains(n));
    let problem = || "expected a whole number from 1 to 100".to_owned();
    number.ok_or_else(|| Problem::invalid("limit", problem()))
}

pub fn order(text: &str) -> Result<Order, Problem> {
    match text {
        "newest" => Ok(Order::Newest),
        "oldest" => Ok(Order::Oldest),
        _ => Err(Problem::invalid("order", "expected `newest` or `oldest`".to_owned())),
    }
}

/// Parses the start of a range, included.
pub fn from(text: &str) -> Result<Timestamp, Problem> {
    let day = |_| Timestamp::parse_date(text);
    Timestamp::parse(text).or_else(day).map_err(|e| instant_problem("from", text, &e))
}

/// Parses the end of a range, excluded.
pub fn to(text: &str) -> Result<Timestamp, Problem> {
    let day = |_| Timestamp::parse_date(text).map(Timestamp::next_day);
    Timestamp::parse(text).or_else(day).map_err(|e| instant_problem("to", text, &e))
}

fn instant_problem(name: &'static str, text: &str, error: &TimestampError) -> Problem {
    Problem::of_query(name, text, &format!("{error}, or a date such as 2026-11-20"))
}

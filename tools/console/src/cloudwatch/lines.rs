//! What functions said: the newest lines of their log groups that fit.
//!
//! Each group is asked for its newest lines, and its answers are followed back in time until there are enough of them. A group
//! that was not looked through to the start of the time that is asked for is known as far back as its oldest line, so the
//! lines of all groups together are known as far back as those of the group that is known least. Only these are on the page,
//! with all lines of the millisecond that it ends with, and the next page begins with the millisecond before. So no line that
//! fits is passed over, whatever the groups hold; but one that arrives late, as CloudWatch may take seconds to show a line, is on
//! a page only when that is read again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use futures::future::join_all;
use nagare_telemetry::journal::{FUNCTIONS, Filter, Line};
use serde::Deserialize;
use serde_json::json;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::Timestamp;

use super::service::CallError;
use super::{CloudWatch, PATIENCE, pattern};

/// The calls that one log group is asked with for a page.
const CALLS: usize = 5;
/// The lines of one answer. All that functions say in some seconds under load.
const AT_ONCE: usize = 1_000;

/// The newest lines of a stretch of time that fit.
#[derive(Debug)]
pub(crate) struct Lines {
    /// The newest first.
    pub(crate) lines: Vec<Arc<Line>>,
    /// All lines that fit are there from this millisecond on.
    pub(crate) known_from: i64,
    /// The functions whose lines could not be read, and why.
    pub(crate) unread: Vec<(&'static str, CallError)>,
    /// Whether any function was not looked through to the start of the time.
    pub(crate) is_cut: bool,
}

struct Known {
    lines: Vec<Arc<Line>>,
    /// From this millisecond on.
    from: i64,
    is_cut: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    events: Vec<Event>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    timestamp: i64,
    message: String,
}

impl CloudWatch {
    /// The newest lines from one millisecond to another, both included: at least `enough`, if there are as many.
    pub(crate) async fn newest(
        &self,
        filter: &Filter,
        (since, until): (i64, i64),
        enough: usize,
    ) -> Lines {
        let deadline = Deadline::after(PATIENCE);
        let wanted = filter.function.as_deref();
        let groups =
            FUNCTIONS.into_iter().filter(|name| wanted.is_none_or(|wanted| wanted == *name));
        let looking = groups.map(|function| async move {
            (function, self.group(function, filter, (since, until), enough, deadline).await)
        });
        let mut lines =
            Lines { lines: Vec::new(), known_from: since, unread: Vec::new(), is_cut: false };
        for (function, known) in join_all(looking).await {
            match known {
                Ok(known) => {
                    lines.known_from = lines.known_from.max(known.from);
                    lines.is_cut |= known.is_cut;
                    lines.lines.extend(known.lines);
                }
                Err(error) => lines.unread.push((function, error)),
            }
        }
        lines.end_with(enough);
        lines
    }

    async fn group(
        &self,
        function: &'static str,
        filter: &Filter,
        (since, until): (i64, i64),
        enough: usize,
        deadline: Deadline,
    ) -> Result<Known, CallError> {
        let name = format!("/aws/lambda/nagare-{}-{}", self.stage, function.replace('_', "-"));
        let mut input = json!({
            "logGroupName": name,
            "startTime": since,
            "endTime": until,
            "startFromHead": false,
            "limit": AT_ONCE,
        });
        if let Some(pattern) = pattern::of(filter) {
            input["filterPattern"] = pattern.into();
        }
        let mut known = Known { lines: Vec::new(), from: until + 1, is_cut: true };
        for _ in 0..CALLS {
            let answer = self.logs.call("FilterLogEvents", &input, deadline).await?;
            let Answer { mut events, next_token } =
                serde_json::from_value(answer).map_err(|e| self.logs.unexpected(&e))?;
            // Where it is not known that the newest may be asked for first, the oldest are answered. What comes then is all
            // there is, or it is not known what is missing.
            let times = events.first().zip(events.last());
            let is_turned = times.is_some_and(|(first, last)| first.timestamp < last.timestamp);
            let is_all = next_token.is_none();
            if is_turned && (!is_all || events.len() >= AT_ONCE) {
                return Err(CallError::OldestFirst);
            }
            if is_turned {
                events.reverse();
            }
            events.sort_by_key(|event| std::cmp::Reverse(event.timestamp));
            if let Some(oldest) = events.last() {
                // There may be more of its millisecond.
                known.from = oldest.timestamp + 1;
            }
            known.lines.extend(events.iter().filter_map(|event| {
                let at = Timestamp::from_unix_millis(event.timestamp);
                Line::read(function, at, &event.message)
                    .filter(|line| filter.fits(line))
                    .map(Arc::new)
            }));
            if is_all {
                (known.from, known.is_cut) = (since, false);
                break;
            }
            let certain = known.lines.iter().filter(|line| line.at.unix_millis() >= known.from);
            if certain.count() >= enough {
                break;
            }
            input["nextToken"] = next_token.into();
        }
        Ok(known)
    }
}

impl Lines {
    /// Sorts, and leaves what is known, up to the millisecond with which there are enough.
    fn end_with(&mut self, enough: usize) {
        self.lines.sort_by_key(|line| std::cmp::Reverse(line.at));
        if let Some(last) = enough.checked_sub(1).and_then(|last| self.lines.get(last)) {
            self.known_from = self.known_from.max(last.at.unix_millis());
        }
        let from = self.known_from;
        self.lines.retain(|line| line.at.unix_millis() >= from);
    }

    /// What tells these lines from others, within this process.
    pub(crate) fn fingerprint(&self) -> String {
        let mut hasher = DefaultHasher::new();
        for line in &self.lines {
            (line.at.unix_millis(), line.function(), line.text()).hash(&mut hasher);
        }
        self.unread.len().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

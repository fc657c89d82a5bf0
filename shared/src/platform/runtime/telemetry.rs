//! The one way to log: JSON lines that read well alone and can be queried by field.
//!
//! A message or a request has at most one line, written when its outcome is known (the reader omits most successful requests). A failure is
//! logged once, where it is handled. Lines have ids, never payloads, tokens or cursors, nor any other free text of a sender. Lines of an
//! [invocation](Invocation) have its ids too.

use std::fmt;

use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::platform::runtime::env;
use crate::platform::runtime::invocation::Invocation;

/// Starts logging JSON lines to standard output, as Lambda collects them. Calling it again changes
/// nothing.
pub fn init_json() {
    let _ = json_lines(std::io::stdout).try_init();
}

/// A subscriber that writes JSON lines to `output`.
pub fn json_lines<W>(output: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer().json().flatten_event(true);
    let lines = lines.with_current_span(false).with_span_list(false);
    let lines = lines.map_event_format(WithInvocation::json).with_writer(output);
    tracing_subscriber::registry().with(lines.with_filter(filter(LevelFilter::INFO)))
}

/// Lines with the ids of the invocation that they are logged in.
#[derive(Debug)]
pub struct WithInvocation<F> {
    format: F,
    is_json: bool,
}

impl<F> WithInvocation<F> {
    /// Lines of JSON, of which each is an object.
    fn json(format: F) -> Self {
        Self { format, is_json: true }
    }

    /// Lines for people, as coloured as their format says.
    pub fn text(format: F) -> Self {
        Self { format, is_json: false }
    }
}

impl<S, N, F> FormatEvent<S, N> for WithInvocation<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.format.format_event(context, Writer::new(&mut line), event)?;
        let line = line.trim_end_matches('\n');
        match line.strip_suffix('}').filter(|_| self.is_json) {
            Some(open) => {
                writer.write_str(open)?;
                Invocation::write_members(&mut writer)?;
                writer.write_str("}\n")
            }
            None => {
                writer.write_str(line)?;
                Invocation::write_words(&mut writer)?;
                writer.write_str("\n")
            }
        }
    }
}

/// The filter of lines: that of the environment, or else everything of at least this level.
pub fn filter(otherwise: LevelFilter) -> Targets {
    let asked = env::optional(env::LOG).and_then(|targets| targets.parse().ok());
    asked.unwrap_or_else(|| Targets::new().with_default(otherwise))
}

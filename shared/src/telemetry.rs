//! The one way to log: JSON lines that read well alone and can be queried by field.
//!
//! A message and a request have one line each, written when it is known what became of them; a failure
//! is logged once, where it is handled. Lines carry ids, never payloads, tokens or cursors, nor
//! anything else that a sender is free to write.

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::env;

/// Starts logging JSON lines to standard output, as Lambda collects them. Calling it again changes
/// nothing.
pub fn init_json() {
    let _ = json_lines(std::io::stdout).try_init();
}

/// What logs JSON lines to wherever `output` leads.
#[must_use]
pub fn json_lines<W>(output: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(env::optional(env::LOG).as_deref().unwrap_or("info"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(false);
    lines.with_env_filter(filter).with_writer(output).finish()
}

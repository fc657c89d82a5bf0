//! The one way to log: JSON lines that read well alone and can be queried by field.
//!
//! Logs carry ids, never payloads, tokens or cursors. A failure is logged once, where it is handled.

use tracing_subscriber::EnvFilter;

use crate::env;

/// Starts logging JSON lines to standard output, as Lambda collects them. Calling it again changes
/// nothing.
pub fn init_json() {
    let filter = EnvFilter::try_new(env::optional(env::LOG).as_deref().unwrap_or("info"))
        .unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(false);
    let _ = lines.with_env_filter(filter).try_init();
}

//! Turns a `tracing` event of the functions into a line.

use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::Context;

use super::{Journal, Line};

/// The crates of the functions. Code that they share logs as part of the function that calls it.
pub const FUNCTIONS: [&str; 8] = [
    "fanout_writer",
    "timeline_reader",
    "history_reader",
    "projector",
    "history_projector",
    "dlq_alerter",
    "event_intake",
    "period_keeper",
];

impl Journal {
    /// Which events are kept: all that functions log on AWS, and warnings and errors of everything else.
    pub fn filter() -> Targets {
        let functions = FUNCTIONS.into_iter().chain(["shared"]);
        let info = functions.map(|target| (target, LevelFilter::INFO));
        Targets::new().with_default(LevelFilter::WARN).with_targets(info)
    }
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.push(Line::new(event, self.clock.now()));
    }
}

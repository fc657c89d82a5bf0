//! The start of the process of a function, and the context of its invocations: the same for all functions.

use super::env::EnvError;
use super::invocation::Invocation;
use super::traces::Traces;
use super::{panics, telemetry};

/// The process of a function.
#[derive(Debug)]
pub struct Function {
    traces: Traces,
}

impl Function {
    /// Makes panics end the process, and starts logging and, if they are configured, traces.
    ///
    /// # Errors
    /// [`EnvError`], as of [`Traces::of_environment`].
    pub fn start() -> Result<Self, EnvError> {
        panics::end_the_process();
        telemetry::init_json();
        Ok(Self { traces: Traces::of_environment()? })
    }

    /// Runs work in the context of an invocation, whose ids Lambda passes with its event.
    pub async fn invoke<T>(
        &self,
        request_id: &str,
        trace_header: Option<&str>,
        work: impl Future<Output = T>,
    ) -> T {
        self.traces.within(Invocation::new(request_id, trace_header), work).await
    }
}

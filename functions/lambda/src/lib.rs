//! How every function is started and invoked.

use std::fmt::{Debug, Display};
use std::time::Duration;

use lambda_runtime::{LambdaEvent, run, service_fn};
use serde::{Serialize, de::DeserializeOwned};
use shared::platform::environment::Environment;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::function;
use shared::platform::runtime::invocation::Invocation;

pub use lambda_runtime::Error;

/// Begins the process of a function. Returns what its handler is built from.
pub async fn start() -> Environment {
    function::start();
    Environment::of_process().await
}

/// Gives a handler each event, with the deadline of its invocation by this clock.
///
/// # Errors
/// [`Error`]: Lambda cannot be asked for events.
pub async fn serve<E, A, X>(
    clock: &Clock,
    handle: impl AsyncFn(E, Deadline) -> Result<A, X>,
) -> Result<(), Error>
where
    E: DeserializeOwned,
    A: Serialize,
    X: Into<Error> + Debug + Display,
{
    run(service_fn(async |LambdaEvent { payload, context }: LambdaEvent<E>| {
        let deadline = Deadline::of_invocation(context.deadline, clock.now());
        let invocation = Invocation::new(&context.request_id, context.xray_trace_id.as_deref());
        invocation.scope(handle(payload, deadline)).await.map_err(Into::<Error>::into)
    }))
    .await
}

/// Gives a handler each request. Its caller waits for so long at most.
///
/// # Errors
/// [`Error`]: Lambda cannot be asked for requests.
pub async fn answer<E, A>(
    patience: Duration,
    handle: impl AsyncFn(E, Deadline) -> A,
) -> Result<(), Error>
where
    E: DeserializeOwned,
    A: Serialize,
{
    run(service_fn(async |LambdaEvent { payload, context }: LambdaEvent<E>| {
        let invocation = Invocation::new(&context.request_id, context.xray_trace_id.as_deref());
        let answer = handle(payload, Deadline::after(patience));
        Ok::<_, Error>(invocation.scope(answer).await)
    }))
    .await
}

//! The functions, built as their own programs build them.

use fanout_writer::Writer;
use nagare::Failure;
use nagare_client::tables::TableNames;
use nagare_local::{COMMANDS, DEAD_LETTERS, schema};
use projector::Projector;
use shared::platform::environment::Environment;
use shared::platform::queue::Sender;
use shared::platform::runtime::env::{self, Variables};
use shared::platform::runtime::metrics::Metrics;

use super::stage::{Stage, broken};

/// The writer, otherwise as the function builds it.
pub(super) fn writer(stage: &Stage) -> Result<Writer, Failure> {
    Writer::from_env(&environment(stage)).map_err(|e| broken(&e))
}

/// The projector, otherwise as the function builds it.
pub(super) fn projector(stage: &Stage) -> Result<Projector, Failure> {
    Projector::from_env(&environment(stage)).map_err(|e| broken(&e))
}

/// What sends to one of the queues.
pub(super) fn sender(stage: &Stage, queue: &str) -> Sender {
    Sender::new(stage.sqs.clone(), stage.wire.queue_url(queue))
}

/// The environment of functions that count nothing, on a stage.
fn environment(stage: &Stage) -> Environment {
    let queues = [(env::QUEUE_URL, COMMANDS), (env::DEAD_LETTER_QUEUE_URL, DEAD_LETTERS)];
    let queues = queues.map(|(variable, queue)| (variable, stage.wire.queue_url(queue)));
    Environment {
        variables: variables(schema::names(), queues),
        dynamo: stage.tables.dynamo.clone(),
        sqs: stage.sqs.clone(),
        services: stage.services.clone(),
        metrics: Metrics::off(),
        clock: stage.clock.clone(),
    }
}

/// The variables of functions on these tables, and more of them.
pub(super) fn variables(
    names: TableNames,
    more: impl IntoIterator<Item = (&'static str, String)>,
) -> Variables {
    let secrets = [env::INTERNAL_SECRETS[0], env::CURSOR_SECRETS[0]];
    let secrets = secrets.map(|name| (name, "of a benchmark alone, long enough".to_owned()));
    let open = (env::AUTHORIZATION, "open".to_owned());
    let all = names.variables().into_iter().chain(secrets).chain([open]);
    Variables::given(all.chain(more))
}

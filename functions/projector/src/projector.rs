//! The state of the projector, and how it is built from the environment.

use function_stream::Projection;
use shared::platform::environment::Environment;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use shared::platform::values::Retention;

use crate::env;

/// The projector. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    pub projection: Projection,
    /// How long read notifications are kept.
    pub read_notifications: Retention,
}

impl Projector {
    /// Builds a projector from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let read_notifications = environment.variables.days(env::READ_NOTIFICATION_DAYS)?;
        Ok(Self { projection: Projection::from_env(environment)?, read_notifications })
    }

    /// The same projector, whose tables know the deadline of one batch.
    pub(crate) fn for_work(&self, deadline: Deadline) -> Self {
        let dynamo = self.projection.views.table().dynamo().for_work(deadline);
        Self { projection: self.projection.over(&dynamo), ..self.clone() }
    }
}

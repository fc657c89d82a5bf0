//! The state of the console, which every request borrows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use nagare_gateway::ports::intake::Intake;
use nagare_telemetry::LocalTelemetry;
use shared::platform::runtime::env;
use uuid::Uuid;

use crate::access::Access;
use crate::account::{Account, unknown_account};
use crate::depth::Depths;
use crate::reads::Reads;
use crate::sent::Sent;
use crate::suggested::Remembered;

/// A form is at most this long, in bytes: a message of SQS, escaped, and some more.
const LONGEST_FORM: usize = 4 << 20;
/// Commands whose course can still be watched.
const REMEMBERED: usize = 1_000;

/// What may be changed from a console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    ReadOnly,
    /// All that the caller's credentials may change.
    Write,
}

pub struct Console {
    pub(crate) remote: Remote,
    pub(crate) has_history: bool,
    pub(crate) reads: Reads,
    pub(crate) mode: Mode,
    /// The account and region, if the stack is on AWS.
    pub(crate) account: Option<Account>,
    /// What is known of a stack in this process.
    pub(crate) telemetry: Option<LocalTelemetry>,
    pub(crate) access: Access,
    /// What a form has to carry.
    pub(crate) token: String,
    pub(crate) forms: Intake,
    /// Commands that were sent from here, the latest first.
    pub(crate) sent: Mutex<VecDeque<Arc<Sent>>>,
    /// How deep the queues were while somebody looked.
    pub(crate) depths: Mutex<Depths>,
    /// Names to begin with, as they were a moment ago.
    pub(crate) suggested: tokio::sync::Mutex<Remembered>,
}

impl Console {
    /// # Errors
    /// [`Failure::Usage`] if the stack is not named well enough.
    pub fn new(remote: Remote, mode: Mode, access: Access) -> Result<Self, Failure> {
        let remote = match mode {
            Mode::ReadOnly => remote.only_reading()?,
            Mode::Write => remote,
        };
        let queue = remote.target().required(env::QUEUE_URL)?;
        let region = remote.config().and_then(|config| config.region()).map(ToString::to_string);
        let account = match Account::of_queue(&queue, region.as_deref()) {
            _ if remote.is_local() => None,
            None => return Err(unknown_account(&queue)),
            account => account,
        };
        Ok(Self {
            has_history: remote.history()?.is_on(),
            reads: Reads::new(&remote)?,
            remote,
            mode,
            account,
            telemetry: None,
            access,
            token: Uuid::new_v4().simple().to_string(),
            forms: Intake::up_to(LONGEST_FORM),
            sent: Mutex::default(),
            depths: Mutex::default(),
            suggested: tokio::sync::Mutex::default(),
        })
    }

    /// The same for a stack that is in this process.
    pub fn with_telemetry(self, telemetry: LocalTelemetry) -> Self {
        Self { telemetry: Some(telemetry), ..self }
    }

    /// The account that it changes, if it is a real one.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    pub(crate) fn remember(&self, sent: Sent) -> Arc<Sent> {
        let sent = Arc::new(sent);
        let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_front(Arc::clone(&sent));
        all.truncate(REMEMBERED);
        sent
    }

    pub(crate) fn sent(&self) -> Vec<Arc<Sent>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

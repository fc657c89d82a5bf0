//! What has happened so far in a run, as far as what readers are shown depends on it.

use serde_json::Value;

use crate::social::commands::What;
use crate::social::features::Answers;
use crate::social::feed::Feed;
use crate::social::moment::Log;
use crate::social::reference::Reference;

/// What has happened so far.
#[derive(Default)]
pub(crate) struct Observed {
    /// Commands that some handler has been given.
    pub(crate) started: Reference,
    /// Commands that are in effect: acknowledged, and nothing of them is still on its way.
    pub(crate) done: Reference,
    /// Both, in the order in which it happened.
    pub(crate) log: Log,
    /// The last answer that other features gave to each question.
    pub(crate) answers: Answers,
    /// Commands that are made of answers, and not sent yet.
    pub(crate) to_send: Vec<Value>,
    pub(crate) sent: Vec<Value>,
    /// Clients that poll, but those that are polling.
    pub(crate) feeds: Vec<Feed>,
    /// A person whose erasure has begun, and who does not read any more.
    pub(crate) away: Option<&'static str>,
    /// Whether other features are judged in the end alone, because somebody is erased.
    pub(crate) is_erasing: bool,
    /// Whether an entry that nobody is shown may be stored.
    pub(crate) may_have_left: bool,
}

impl Observed {
    pub(crate) fn begin(&mut self, what: &What) {
        self.started.take(what);
        self.log.begin(what);
    }

    pub(crate) fn take_effect(&mut self, what: &What) {
        self.done.take(what);
        self.log.take_effect(what);
    }
}

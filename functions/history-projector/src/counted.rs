//! The views that events are counted in.

use std::collections::BTreeMap;
use std::fmt;

use function_stream::Subject;
use shared::history::summaries::SummaryView;
use shared::platform::dynamo::item::Key;
use shared::platform::projection::Change;

/// Changes by the view that they are counted in.
pub(crate) type ByView<'a> = BTreeMap<SummaryView, Vec<&'a Change>>;

/// The outcome of the changes of one view in a batch.
pub(crate) type Outcome = function_stream::Outcome<Counted>;

/// A view that events are counted in.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) view: SummaryView,
    /// How often the view was emptied, as it was read.
    pub(crate) life: u64,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl Subject for Counted {
    fn view(&self) -> Key {
        self.view.key()
    }
}

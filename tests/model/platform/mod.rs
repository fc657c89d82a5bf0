//! The parts of every model, which know no feature.
//!
//! ```text
//! instants   the first instant of a run, and spans of time
//! scheduler  the edge below the SDK: each call of a handler waits there for its turn
//! shrunk     what tables take: less than DynamoDB's
//! stream     changes of facts: delivered in batches, again, and in shards that end
//! letters    commands that give up: kept, and redriven
//! usage      how often each thing was done to the handlers; `--show-output` prints it
//! seeds      tried on all processors; what fails is made smaller
//! stored     whether all that is stored is within the bound of its kind
//! ```

pub(crate) mod instants;
pub(crate) mod letters;
pub(crate) mod scheduler;
pub(crate) mod seeds;
pub(crate) mod shrunk;
pub(crate) mod stored;
pub(crate) mod stream;
pub(crate) mod usage;

//! Clients for the stack that a command or a console talks to: a local one or one on AWS, over the network either way.
//!
//! ```text
//! target   which stack it is
//! aws      region and credentials, or what is missing of them
//! remote   its tables and queues
//! read_only the same, without the means to write
//! proxy    the way to a remote stack, where there is a proxy
//! api      its HTTP API, on behalf of one viewer
//! signer   signatures of single requests
//! sender   commands onto its queue
//! drain    waiting until its queues are empty
//! loopback addresses of this machine
//! token    tokens for a local stack that demands them
//! ```

pub(crate) mod api;
pub(crate) mod aws;
pub(crate) mod clock;
pub(crate) mod drain;
pub(crate) mod loopback;
pub(crate) mod proxy;
pub(crate) mod read_only;
pub(crate) mod remote;
pub(crate) mod sender;
pub(crate) mod signer;
pub(crate) mod target;
pub(crate) mod token;

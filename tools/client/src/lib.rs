//! Clients for the stack that a command or a console talks to: a local one or one on AWS, over the network either way.
//!
//! ```text
//! target   which stack it is
//! running  which local stacks run on this machine
//! local_stack  what is fixed of each of them: table names, region, credentials, the address of its clock
//! aws      region and credentials, or what is missing of them
//! remote   its tables and queues
//! tables   all tables over one client
//! backlog  how far behind it is
//! metric_data  values of CloudWatch's metrics
//! call_timeout  the deadline of each call
//! read_only the same clients, without the means to write
//! consumed what calls of the tables consume
//! proxy    the way to a remote stack, where there is a proxy
//! api      its HTTP API, on behalf of one viewer
//! signer   signatures of single requests
//! sender   commands onto its queue
//! command_forms  the members of each command, and its body from texts
//! queue_counts  how many messages its queues have
//! loopback addresses of this machine
//! token    tokens for a local stack that demands them
//! clock    what time it is for a command
//! failure  how a command fails
//! visible  what strangers wrote, with what would steer a terminal as escapes
//! ```

pub mod api;
pub mod aws;
pub mod backlog;
pub mod call_timeout;
pub mod clock;
pub mod command_forms;
pub mod compaction;
pub mod consumed;
pub mod failure;
pub mod local_stack;
pub mod loopback;
pub mod metric_data;
pub mod own_dir;
pub mod proxy;
pub mod queue_counts;
pub mod read_only;
pub mod remote;
pub mod running;
pub mod sender;
pub mod signer;
pub mod tables;
pub mod target;
pub mod token;
pub mod visible;

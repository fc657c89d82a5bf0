//! The local queue, through its public interface.

mod durability;
mod long_polling;
mod model;
mod semantics;
mod support;
mod wire;

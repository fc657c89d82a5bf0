//! The steps, each of them idempotent.

mod archive;
mod capacity;
mod expire;
pub(crate) mod outcome;
mod stream;
mod table;
mod verify;

//! Commands of the social backend.

pub(crate) mod battle;
pub(crate) mod fanout;
pub(crate) mod follows;
pub(crate) mod notifications;
pub(crate) mod people;
pub(crate) mod poll;
pub(crate) mod profile;
pub(crate) mod publish;
pub(crate) mod replay;
pub(crate) mod room;
pub(crate) mod sample;
pub(crate) mod show;
pub(crate) mod timeline;
pub(crate) mod verb;

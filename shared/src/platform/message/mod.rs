//! Message bodies: one JSON object a message (docs/PRODUCERS.md). Which commands there are is said in
//! [`crate::command`]; what each of them means, in the folder of its feature.

mod declare;
mod error;
mod log_ids;
mod member;
mod object;
mod read;
#[cfg(test)]
mod schema;
mod write;

pub(crate) use declare::{command, count, join, members};

pub use error::{CommandError, MemberError};
pub use log_ids::LogIds;
pub use member::{Member, State};
pub use object::{MemberNames, Object};
pub(crate) use object::{each_member, text_of};
pub use read::{EARLIEST, EARLIEST_BY_HAND, MAX_FUTURE_MILLIS, MAX_PLANNED_MILLIS, Members, TYPE};
#[cfg(test)]
pub(crate) use schema::{MemberSchema, TypeSchema, ValueSchema, prose, quoted};
pub use write::{Body, Plain};

/// A command as its feature declares it.
pub trait CommandPayload: Sized {
    /// The values of `type` that it is sent with.
    const TYPES: &'static [&'static str];
    /// The members that it has besides `type`.
    const MEMBERS: &'static [&'static str];
    /// True if it changes pages of timelines or rooms, which are of one moment. Other pages are not, or show a change once it is
    /// projected. An event is put once and never changes: a page that was read meanwhile may lack it, and its `newer_cursor`
    /// returns it later.
    const SHOWN: bool = false;

    /// The value of `type` that this one is sent with: the first, unless it can be sent with several.
    fn type_name(&self) -> &'static str {
        Self::TYPES[0]
    }

    /// Reads it from the members of a body of one of its types.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError>;

    fn write(&self, body: Body) -> Body;

    /// The ids that it is about: what a log line is searched by.
    fn subject(&self) -> LogIds;

    /// What fair queues group messages by.
    fn group(&self) -> &str;

    /// The person, or the tenant, whose command it is.
    fn person(&self) -> &str {
        self.group()
    }

    /// What the schema says of its types. Internal commands have no schema.
    #[cfg(test)]
    fn types() -> Vec<TypeSchema> {
        Vec::new()
    }
}

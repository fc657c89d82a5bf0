//! Writing bodies. Nothing in their values needs an escape, so a body can always be written, and there is
//! no error that somebody could take for an empty one.

use std::fmt::{self, Write};

use super::read::TYPE;
use crate::platform::values::{Kind, Origin, Timestamp};

/// What is written as JSON by putting quotes around it.
pub trait Plain: fmt::Display {}

impl Plain for Timestamp {}
impl Plain for Kind {}
impl Plain for Origin {}

/// The body of a command while it is written. Writing to a string cannot fail.
#[derive(Debug)]
pub struct Body(String);

impl Body {
    /// The body of a command of this type, without any other member.
    pub fn new(type_name: &str) -> Self {
        Self(format!("{{\"{TYPE}\":\"{type_name}\""))
    }

    #[must_use]
    pub fn text(mut self, member: &'static str, value: &impl Plain) -> Self {
        let _ = write!(self.0, ",\"{member}\":\"{value}\"");
        self
    }

    /// Writes a member whose value is JSON already.
    #[must_use]
    pub fn json(mut self, member: &'static str, value: &str) -> Self {
        let _ = write!(self.0, ",\"{member}\":{value}");
        self
    }

    #[must_use]
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

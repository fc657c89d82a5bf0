//! One line, packed: its message and the values of its fields are one text. The names of its fields are those of the log statement
//! that it comes from.

use std::fmt::{self, Write};

use shared::platform::message::LogIds;
use shared::platform::runtime::invocation::{FUNCTION_REQUEST_ID, Invocation};
use shared::platform::values::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};

/// The most bytes of a value, and of a message. No id is longer; only what an error quotes is cut.
const LONGEST: usize = 1_024;
/// What follows a value that was cut.
const CUT: &str = "…";
/// The separator of values, so that no text is found across two of them.
const BREAK: char = '\n';
/// The field that has the message.
const MESSAGE: &str = "message";
/// The number of the field with the id of the invocation. No log statement names it, so it comes after all that any has.
const REQUEST_ID: usize = u32::MAX as usize;
/// One log line of a function.
#[derive(Debug)]
pub struct Line {
    /// Counts from 1, without gaps.
    pub number: u64,
    /// When it was logged.
    pub at: Timestamp,
    /// The place in this program that it comes from.
    place: &'static Metadata<'static>,
    /// The values and the message, each with a line break behind it.
    text: Box<str>,
    /// Of each value, the number of its field and where in the text it ends.
    values: Box<[(u32, u32)]>,
}

impl Line {
    /// The line of an event. It gets its number later.
    pub(super) fn new(event: &Event<'_>, at: Timestamp) -> Self {
        let mut packing = Packing::default();
        event.record(&mut packing);
        Invocation::each_id(|name, id| {
            if name == FUNCTION_REQUEST_ID {
                packing.add(REQUEST_ID, format_args!("{id}"));
            }
        });
        packing.line(event.metadata(), at)
    }

    pub fn level(&self) -> Level {
        *self.place.level()
    }

    /// The module that logged it.
    pub fn target(&self) -> &str {
        self.place.target()
    }

    /// The function that logged it, or another origin.
    pub fn function(&self) -> &str {
        self.target().split("::").next().unwrap_or_default()
    }

    pub fn message(&self) -> &str {
        self.all().find(|(name, _)| *name == MESSAGE).map_or("", |(_, message)| message)
    }

    /// The fields without the message, by name, in the order in which they were logged.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().filter(|(name, _)| *name != MESSAGE)
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// The outcome: the message up to its colon.
    pub fn outcome(&self) -> &str {
        self.message().split(": ").next().unwrap_or_default()
    }

    /// The people that it is about.
    pub fn people(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|(name, _)| LogIds::PEOPLE.contains(name)).map(|(_, value)| value)
    }

    /// Message and values, a line break behind each.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The memory that it takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        // The counts of the `Arc`, and its place in the ring.
        let around = 3 * size_of::<usize>();
        size_of::<Self>() + around + self.text.len() + size_of_val(&*self.values)
    }

    /// The name of a field.
    fn name(&self, index: usize) -> Option<&str> {
        match index {
            REQUEST_ID => Some(FUNCTION_REQUEST_ID),
            _ => self.place.fields().iter().nth(index).map(|field| field.name()),
        }
    }

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.values.iter().filter_map(move |&(field, end)| {
            let value = self.text.get(start..end as usize)?;
            start = end as usize + BREAK.len_utf8();
            Some((self.name(field as usize)?, value))
        })
    }
}

/// Puts values one behind another.
#[derive(Default)]
struct Packing {
    text: String,
    values: Vec<(u32, u32)>,
}

impl Packing {
    fn add(&mut self, index: usize, value: fmt::Arguments<'_>) {
        let mut capped = Capped { text: &mut self.text, left: LONGEST };
        if capped.write_fmt(value).is_err() {
            self.text.push_str(CUT);
        }
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.values.push((number(index), number(self.text.len())));
        self.text.push(BREAK);
    }

    fn line(self, place: &'static Metadata<'static>, at: Timestamp) -> Line {
        let (text, values) = (self.text.into_boxed_str(), self.values.into_boxed_slice());
        Line { number: 0, at, place, text, values }
    }
}

impl Visit for Packing {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.index(), format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.index(), format_args!("{value:?}"));
    }

    /// Durations, in milliseconds.
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.index(), format_args!("{value:.3}"));
    }
}

/// Takes up to a number of bytes, and then ends formatting.
struct Capped<'t> {
    text: &'t mut String,
    left: usize,
}

impl Write for Capped<'_> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let fitting = &more[..more.floor_char_boundary(self.left)];
        self.text.push_str(fitting);
        self.left -= fitting.len();
        if fitting.len() < more.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

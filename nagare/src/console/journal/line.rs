//! One line, packed: its message and the values of its fields are one text, and the names of the fields are those of the
//! place in the code that it comes from.

use std::fmt::{self, Write};

use shared::message::Subject;
use shared::values::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};

/// The most bytes of a value, and of a message. No id is longer; what is cut is what a failure quotes.
const LONGEST: usize = 1_024;
/// What follows a value that was cut.
const CUT: &str = "…";
/// What stands between values, so that no text is found across two of them.
const BREAK: char = '\n';
/// The field that has the message.
const MESSAGE: &str = "message";

/// What one function has said.
#[derive(Debug)]
pub struct Line {
    /// Counts from 1, without gaps.
    pub number: u64,
    /// When it was said.
    pub at: Timestamp,
    from: &'static Metadata<'static>,
    /// The values and the message, each with a line break behind it.
    text: Box<str>,
    /// Of each value, the number of its field and where in the text it ends.
    values: Box<[(u32, u32)]>,
}

impl Line {
    /// The line of an event. Its number is to come.
    pub(super) fn of(event: &Event<'_>, at: Timestamp) -> Self {
        let mut packing = Packing::default();
        event.record(&mut packing);
        let Packing { text, values } = packing;
        let (text, values) = (text.into_boxed_str(), values.into_boxed_slice());
        Self { number: 0, at, from: event.metadata(), text, values }
    }

    /// How serious it is.
    #[must_use]
    pub fn level(&self) -> Level {
        *self.from.level()
    }

    /// The module that said it.
    #[must_use]
    pub fn target(&self) -> &'static str {
        self.from.target()
    }

    /// The function that said it, or whatever else did.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.target().split("::").next().unwrap_or_default()
    }

    /// What it says.
    #[must_use]
    pub fn message(&self) -> &str {
        self.all().find(|(name, _)| *name == MESSAGE).map_or("", |(_, message)| message)
    }

    /// The fields beside the message, by name, in the order in which they were logged.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.all().filter(|(name, _)| *name != MESSAGE)
    }

    /// The value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// What became of it: the message up to its colon.
    #[must_use]
    pub fn outcome(&self) -> &str {
        self.message().split(": ").next().unwrap_or_default()
    }

    /// The people that it is about.
    pub fn people(&self) -> impl Iterator<Item = &str> {
        self.all().filter(|(name, _)| Subject::PEOPLE.contains(name)).map(|(_, value)| value)
    }

    /// Message and values, a line break behind each.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        // The counts of the `Arc`, and its place in the ring.
        let around = 3 * size_of::<usize>();
        size_of::<Self>() + around + self.text.len() + size_of_val(&*self.values)
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = self.from.fields();
        let mut start = 0;
        self.values.iter().filter_map(move |&(field, end)| {
            let value = self.text.get(start..end as usize)?;
            start = end as usize + BREAK.len_utf8();
            Some((names.iter().nth(field as usize)?.name(), value))
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
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let mut capped = Capped { text: &mut self.text, left: LONGEST };
        if capped.write_fmt(value).is_err() {
            self.text.push_str(CUT);
        }
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.values.push((number(field.index()), number(self.text.len())));
        self.text.push(BREAK);
    }
}

impl Visit for Packing {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format_args!("{value:?}"));
    }

    /// Durations, in milliseconds.
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, format_args!("{value:.3}"));
    }
}

/// Takes so many bytes and no more, and ends formatting there.
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

//! One line, packed: its message and the values of its fields are one text. The names of its fields are those of the log statement
//! that it comes from; a line that was read as JSON has names of its own.

use std::fmt::{self, Write};

use serde_json::{Map, Value};
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
/// The members of a JSON line that are not fields: what every line has, and the spans in which it was logged.
const NO_FIELDS: [&str; 4] = ["timestamp", "level", "target", "spans"];

/// One log line of a function.
#[derive(Debug)]
pub struct Line {
    /// Counts from 1, without gaps.
    pub number: u64,
    /// When it was logged.
    pub at: Timestamp,
    from: Origin,
    /// The values and the message, each with a line break behind it.
    text: Box<str>,
    /// Of each value, the number of its field and where in the text it ends.
    values: Box<[(u32, u32)]>,
}

/// Where a line comes from.
#[derive(Debug)]
enum Origin {
    /// A place in this program.
    Code(&'static Metadata<'static>),
    /// A function elsewhere.
    Json(Box<JsonOrigin>),
}

/// The origin of a line that was read.
#[derive(Debug)]
struct JsonOrigin {
    function: &'static str,
    target: String,
    level: Level,
    /// The names of its values.
    names: Vec<String>,
}

impl Line {
    /// Reads a line of a function's log group: a line of JSON as functions log it, or any other text, which becomes the message.
    /// Returns `None` for a line of metrics.
    #[must_use]
    pub fn read(function: &'static str, at: Timestamp, text: &str) -> Option<Self> {
        let json = serde_json::from_str::<Map<String, Value>>(text);
        let (target, level, members) = match json {
            Ok(line) if line.contains_key("_aws") => return None,
            Ok(mut line) => match (text_of(&line, "level").parse(), text_of(&line, "type")) {
                (Ok(level), _) if line.contains_key(MESSAGE) => {
                    let target = text_of(&line, "target").to_owned();
                    line.retain(|name, _| !NO_FIELDS.contains(&name.as_str()));
                    (target, level, line)
                }
                // Lambda's own. The template has it write about invocations that failed, and nothing else.
                (_, "") => (String::new(), Level::INFO, alone(text)),
                _ => (String::new(), Level::WARN, alone(text)),
            },
            Err(_) => (String::new(), Level::INFO, alone(text.trim_end())),
        };
        let (mut packing, mut names) = (Packing::default(), Vec::new());
        for (name, value) in members {
            let index = names.len();
            match value {
                Value::Null => continue,
                Value::String(text) => packing.add(index, format_args!("{text}")),
                Value::Number(number) if number.is_f64() => {
                    packing.add(index, format_args!("{:.3}", number.as_f64().unwrap_or(0.0)));
                }
                other => packing.add(index, format_args!("{other}")),
            }
            names.push(name);
        }
        let origin = JsonOrigin { function, target, level, names };
        Some(packing.line(Origin::Json(Box::new(origin)), at))
    }

    /// The line of an event. It gets its number later.
    pub(super) fn of(event: &Event<'_>, at: Timestamp) -> Self {
        let mut packing = Packing::default();
        event.record(&mut packing);
        Invocation::each_id(|name, id| {
            if name == FUNCTION_REQUEST_ID {
                packing.add(REQUEST_ID, format_args!("{id}"));
            }
        });
        packing.line(Origin::Code(event.metadata()), at)
    }

    /// The level.
    #[must_use]
    pub fn level(&self) -> Level {
        match &self.from {
            Origin::Code(place) => *place.level(),
            Origin::Json(origin) => origin.level,
        }
    }

    /// The module that logged it.
    #[must_use]
    pub fn target(&self) -> &str {
        match &self.from {
            Origin::Code(place) => place.target(),
            Origin::Json(origin) => &origin.target,
        }
    }

    /// The function that logged it, or another origin.
    #[must_use]
    pub fn function(&self) -> &str {
        match &self.from {
            Origin::Code(place) => place.target().split("::").next().unwrap_or_default(),
            Origin::Json(origin) => origin.function,
        }
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        self.all().find(|(name, _)| *name == MESSAGE).map_or("", |(_, message)| message)
    }

    /// The fields without the message, by name: in the order in which they were logged, or, for a line that was read, in the order of
    /// their names.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all().filter(|(name, _)| *name != MESSAGE)
    }

    /// The value of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.all().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// The outcome: the message up to its colon.
    #[must_use]
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

    fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.values.iter().filter_map(move |&(field, end)| {
            let value = self.text.get(start..end as usize)?;
            start = end as usize + BREAK.len_utf8();
            Some((self.from.name(field as usize)?, value))
        })
    }
}

impl Origin {
    /// The name of a field.
    fn name(&self, index: usize) -> Option<&str> {
        match self {
            Self::Code(_) if index == REQUEST_ID => Some(FUNCTION_REQUEST_ID),
            Self::Code(place) => place.fields().iter().nth(index).map(|field| field.name()),
            Self::Json(origin) => origin.names.get(index).map(String::as_str),
        }
    }
}

/// A member that is a text, or nothing.
fn text_of<'l>(line: &'l Map<String, Value>, name: &str) -> &'l str {
    line.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A text that is all there is.
fn alone(text: &str) -> Map<String, Value> {
    Map::from_iter([(MESSAGE.to_owned(), text.into())])
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

    fn line(self, from: Origin, at: Timestamp) -> Line {
        let (text, values) = (self.text.into_boxed_str(), self.values.into_boxed_slice());
        Line { number: 0, at, from, text, values }
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

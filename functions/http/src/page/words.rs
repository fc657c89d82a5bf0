//! The kinds or names to show: a parameter that may be given several times, and that cursors contain.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use shared::platform::paging::MAX_FILTER_BYTES;
use shared::platform::values::{EventName, Kind};

use crate::problem::Problem;
use crate::reader::query::Parameters;

/// The most words of one request: each may be a list of its own.
const MOST: usize = 10;

/// A word that a list can be filtered by. No word contains a comma.
pub trait Word: Display + FromStr<Err: Display> + Ord {
    /// The name of the parameter.
    const PARAMETER: &'static str;
}

impl Word for Kind {
    const PARAMETER: &'static str = "kind";
}

impl Word for EventName {
    const PARAMETER: &'static str = "name";
}

/// A set of words. The empty set stands for all words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words<W>(BTreeSet<W>);

/// Kinds of activities.
pub type Kinds = Words<Kind>;
pub type Names = Words<EventName>;

impl<W: Word> Words<W> {
    /// The name of the parameter.
    pub const PARAMETER: &'static str = W::PARAMETER;

    /// Those that are asked for.
    pub fn parse(parameters: &Parameters<'_>) -> Result<Self, Problem> {
        let parse = |text: &str| {
            text.parse().map_err(|e: W::Err| Problem::of_query(W::PARAMETER, text, &e))
        };
        parameters.all(W::PARAMETER).map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// As a cursor carries them.
    pub fn write(&self) -> Result<Vec<u8>, Problem> {
        let text = self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        if self.0.len() > MOST || text.len() > MAX_FILTER_BYTES {
            let most = format!(
                "expected at most {MOST} {}s, of {MAX_FILTER_BYTES} characters together with a comma between them",
                W::PARAMETER
            );
            return Err(Problem::invalid(W::PARAMETER, most));
        }
        Ok(text.into_bytes())
    }

    /// Those that a cursor carries.
    pub fn read(filter: &[u8]) -> Self {
        let texts = filter.split(|byte| *byte == b',').map(String::from_utf8_lossy);
        Self(texts.filter_map(|text| text.parse().ok()).collect())
    }

    /// True if no word is left out.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &W> {
        self.0.iter()
    }

    /// True if items with this word are shown.
    pub fn show(&self, word: &W) -> bool {
        self.is_all() || self.0.contains(word)
    }
}

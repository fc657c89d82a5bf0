//! The rows of a file of posts.

use std::io::Read;
use std::sync::Arc;

use shared::platform::values::{ActorId, Kind};

use crate::Failure;
use crate::input::{Columns, Input, Lines, Row, RowError, Table};

pub(crate) const COLUMNS: Columns = Columns { required: &["t", "author", "kind"], optional: &[] };
/// The last second of the year 9999.
const LATEST: i64 = 253_402_300_799;
/// The most rows that are put in order in memory: about 300 MB of them.
const MOST_SORTED: u64 = 3_000_000;

/// One row of the file.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    /// The number of its line.
    pub(crate) line: u64,
    pub(crate) seconds: i64,
    pub(crate) author: ActorId,
    pub(crate) kind: Kind,
}

/// The rows of a file up to a limit, in the order of their times, each as often as it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Posts {
    input: Input,
    limit: usize,
    /// All of them, if the file has them in another order.
    sorted: Option<Arc<Vec<Post>>>,
}

impl Posts {
    /// # Errors
    /// [`Failure::Usage`] if a row is bad, or there are too many to put them in order.
    pub(super) fn new(input: Input, limit: Option<usize>) -> Result<Self, Failure> {
        let posts = Self { input, limit: limit.unwrap_or(usize::MAX), sorted: None };
        let (mut rows, mut last, mut disorder) = (0, i64::MIN, None);
        for post in posts.read()? {
            let post = post?;
            if post.seconds < last {
                disorder.get_or_insert(post.line);
            }
            (rows, last) = (rows + 1, post.seconds);
        }
        match disorder {
            None => Ok(posts),
            Some(line) if rows > MOST_SORTED => Err(Failure::Usage(format!(
                "{posts}: line {line}: its time is before that of the row above, and {rows} rows are too many to put them in order \
                 here; sort the file by its column t first"
            ))),
            Some(_) => {
                let mut sorted = posts.read()?.collect::<Result<Vec<_>, _>>()?;
                // Rows of one second stay in their order.
                sorted.sort_by_key(|post| post.seconds);
                Ok(Self { sorted: Some(Arc::new(sorted)), ..posts })
            }
        }
    }

    /// Reads them from the first on.
    pub(super) fn read(
        &self,
    ) -> Result<Box<dyn Iterator<Item = Result<Post, Failure>> + Send>, Failure> {
        if let Some(sorted) = &self.sorted {
            let sorted = Arc::clone(sorted);
            return Ok(Box::new((0..sorted.len()).map(move |n| Ok(sorted[n].clone()))));
        }
        let (input, rows) = (self.input.clone(), self.input.table(COLUMNS)?.take(self.limit));
        Ok(Box::new(rows.map(move |row| {
            row.and_then(|row| Post::read(&row)).map_err(|error| error.of(&input))
        })))
    }
}

impl std::fmt::Display for Posts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.input.fmt(f)
    }
}

/// Reads posts row by row, as `nagare replay` does: the unix second, the author, and the kind.
///
/// # Errors
/// [`Failure::Usage`] if the input is not such a file at all.
pub fn posts_in(
    input: impl Read + Send + 'static,
) -> Result<impl Iterator<Item = Result<(i64, ActorId, Kind), Failure>>, Failure> {
    let rows = Table::open(Lines::open("the input".to_owned(), input)?, COLUMNS)?;
    Ok(rows.map(|row| {
        let post = row.and_then(|row| Post::read(&row)).map_err(|error| error.of(&"the input"));
        post.map(|Post { seconds, author, kind, .. }| (seconds, author, kind))
    }))
}

impl Post {
    pub(crate) fn read(row: &Row) -> Result<Self, RowError> {
        let seconds = |text: &str| {
            let seconds = text.parse().ok().filter(|t| (0..=LATEST).contains(t));
            seconds.ok_or("expected whole unix seconds")
        };
        Ok(Self {
            line: row.number,
            seconds: row.read(0, seconds)?,
            author: row.read(1, ActorId::new)?,
            kind: row.read(2, Kind::new)?,
        })
    }

    /// The id of the row's activity in a run without a name.
    pub(crate) fn activity_name(&self) -> String {
        format!("{}-{}", self.author, self.seconds)
    }
}

//! The rows of a file of posts.

use std::io::Read;

use shared::values::{ActorId, Kind};

use crate::Failure;
use crate::csv_file::{BadLine, Line, RowError, Rows, Source};

/// The file's header.
pub(crate) const HEADER: [&str; 3] = ["t", "author", "kind"];

/// One row of the file.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    /// The number of its line.
    pub(crate) line: u64,
    pub(crate) seconds: i64,
    pub(crate) author: ActorId,
    pub(crate) kind: Kind,
}

/// The rows of a file up to a limit, each as often as it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Posts {
    source: Source,
    limit: Option<usize>,
}

impl Posts {
    pub(super) fn of(source: Source, limit: Option<usize>) -> Self {
        Self { source, limit }
    }

    /// Reads them from the first on.
    pub(super) fn read(
        &self,
    ) -> Result<impl Iterator<Item = Result<Post, Failure>> + use<>, Failure> {
        let source = self.source.clone();
        let rows = source.rows(&HEADER)?.take(self.limit.unwrap_or(usize::MAX));
        Ok(rows.map(move |row| match Post::read(row) {
            Ok(post) => Ok(post),
            Err(RowError::File(failure)) => Err(failure),
            Err(RowError::Line(line)) => Err(Failure::Usage(format!("{source}: {line}"))),
        }))
    }
}

impl std::fmt::Display for Posts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.source.fmt(f)
    }
}

/// Reads posts row by row, as `nagare replay` does: the unix second, the author, and the kind.
///
/// # Errors
/// [`Failure::Usage`] if the input is not such a file at all.
pub fn posts_in(
    input: impl Read + Send + 'static,
) -> Result<impl Iterator<Item = Result<(i64, ActorId, Kind), Failure>>, Failure> {
    let rows = Rows::of(input, "the input".to_owned(), &HEADER)?;
    Ok(rows.map(|row| {
        let Post { seconds, author, kind, .. } = Post::read(row)?;
        Ok((seconds, author, kind))
    }))
}

impl Post {
    pub(crate) fn read(row: Result<Line, RowError>) -> Result<Self, RowError> {
        let Line { number, fields } = row?;
        let bad = |column: usize, problem: &dyn std::fmt::Display| {
            let problem = format!("column {}: {problem}", HEADER[column]);
            RowError::Line(BadLine { number, problem })
        };
        let seconds = fields[0].parse::<i64>().ok().filter(|t| (0..=253_402_300_799).contains(t));
        Ok(Self {
            line: number,
            seconds: seconds.ok_or_else(|| bad(0, &"expected whole unix seconds"))?,
            author: ActorId::new(&fields[1]).map_err(|e| bad(1, &e))?,
            kind: Kind::new(&fields[2]).map_err(|e| bad(2, &e))?,
        })
    }

    /// The id of the row's activity in a run without a name.
    pub(crate) fn activity_name(&self) -> String {
        format!("{}-{}", self.author, self.seconds)
    }
}

//! CSV: the first line names the columns, in any order. Columns that a command does not read are
//! passed over.
//!
//! Columns are separated by commas, semicolons or tabs: the first of them by which the header has the
//! columns that are needed. A record is one line. A quoted field may contain separators, and quotes
//! that are doubled. It ends with its line at the latest, so an unclosed quote costs one line, and
//! does not swallow all lines that follow.

use std::borrow::Cow;
use std::fmt::Display;

use super::{Line, Lines, RowError};
use crate::Failure;

const SEPARATORS: [char; 3] = [',', ';', '\t'];
/// Characters of a header that an error shows.
const SHOWN: usize = 60;

/// The columns that a command reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) required: &'static [&'static str],
    /// They may be absent.
    pub(crate) optional: &'static [&'static str],
}

/// The rows of a file.
pub(crate) struct Table {
    lines: Lines,
    columns: Columns,
    separator: char,
    /// How many columns the header has.
    width: usize,
    /// Where each column that is read stands: the required ones, and then the optional ones.
    places: Vec<Option<usize>>,
}

/// The fields of one line that a command reads.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) number: u64,
    columns: Columns,
    fields: Vec<String>,
}

impl Columns {
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.required.iter().chain(self.optional).copied()
    }
}

impl Table {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// [`Failure::Usage`] says which column is missing or given twice, and what was found instead.
    pub(crate) fn open(mut lines: Lines, columns: Columns) -> Result<Self, Failure> {
        let name = lines.name().to_owned();
        let first = lines.next().transpose().map_err(|error| error.of(&name))?;
        let Line { number, text } = first.unwrap_or(Line { number: 1, text: String::new() });
        let failed = |problem: String| Failure::Usage(format!("{name}: line {number}: {problem}"));
        let found = SEPARATORS.into_iter().find_map(|separator| {
            let header = Fields::split(&text, separator).collect::<Result<Vec<_>, _>>().ok()?;
            let has = |wanted: &&str| header.iter().any(|name| name == wanted);
            columns.required.iter().all(has).then_some((separator, header))
        });
        let Some((separator, header)) = found else {
            return Err(failed(no_header(&text, columns)));
        };
        let places = columns.names().map(|wanted| {
            let mut places = header.iter().enumerate().filter(|(_, name)| *name == wanted);
            match (places.next(), places.next()) {
                (Some(_), Some(_)) => Err(failed(format!("two columns are called {wanted}"))),
                (first, _) => Ok(first.map(|(place, _)| place)),
            }
        });
        let places = places.collect::<Result<_, _>>()?;
        Ok(Self { separator, width: header.len(), places, columns, lines })
    }

    fn row(&self, Line { number, text }: &Line) -> Result<Row, RowError> {
        let (mut fields, mut width) = (vec![String::new(); self.places.len()], 0);
        for field in Fields::split(text, self.separator) {
            let field = field.map_err(|Unclosed { character }| {
                let problem = "the quote is not closed; a quoted field ends in its own row";
                RowError::line(*number, format!("character {character}: {problem}"))
            })?;
            if let Some(wanted) = self.places.iter().position(|place| *place == Some(width)) {
                fields[wanted] = field.into_owned();
            }
            width += 1;
        }
        match width == self.width {
            true => Ok(Row { number: *number, columns: self.columns, fields }),
            false => {
                let problem = format!("expected {} columns, got {width}", self.width);
                Err(RowError::line(*number, problem))
            }
        }
    }
}

impl Iterator for Table {
    type Item = Result<Row, RowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        Some(line.and_then(|line| self.row(&line)))
    }
}

impl Row {
    /// A field, by the place of its column among those that are read. An optional column that is
    /// absent is empty.
    pub(crate) fn field(&self, column: usize) -> &str {
        &self.fields[column]
    }

    /// A field, parsed.
    ///
    /// # Errors
    /// [`RowError::Line`] names the line and the column.
    pub(crate) fn read<'r, T, E: Display>(
        &'r self,
        column: usize,
        parse: impl FnOnce(&'r str) -> Result<T, E>,
    ) -> Result<T, RowError> {
        parse(self.field(column)).map_err(|problem| self.wrong(column, problem))
    }

    /// The error of a field.
    pub(crate) fn wrong(&self, column: usize, problem: impl Display) -> RowError {
        let name = self.columns.names().nth(column).unwrap_or_default();
        RowError::line(self.number, format!("column {name}: {problem}"))
    }
}

/// What is wrong with a line that should be a header.
fn no_header(text: &str, columns: Columns) -> String {
    let expected = columns.required.join(",");
    let expected = format!("expected a header with the columns {expected} in any order");
    match text.chars().next() {
        None => format!("{expected}, got an empty file"),
        Some('{' | '[') => format!(
            "{expected}, got JSON; `nagare publish --file` sends a file of commands, one JSON object a line"
        ),
        Some(_) => {
            let shown: String = text.chars().take(SHOWN).collect();
            format!("{expected}, got {shown:?}")
        }
    }
}

/// The fields of a line.
struct Fields<'t> {
    text: &'t str,
    /// The byte where the next field begins; `None` behind the last.
    at: Option<usize>,
    separator: char,
}

/// A quote that has no end.
#[derive(Debug, PartialEq, Eq)]
struct Unclosed {
    /// Its place in the line, counted from 1.
    character: usize,
}

impl<'t> Fields<'t> {
    fn split(text: &'t str, separator: char) -> Self {
        Self { text, at: Some(0), separator }
    }

    /// The field in quotes that begins here, and how many bytes it has with its quotes.
    fn quoted(&self, rest: &'t str) -> Option<(Cow<'t, str>, usize)> {
        let (mut end, mut has_doubled) = (1, false);
        loop {
            end += rest.get(end..)?.find('"')?;
            let behind = &rest[end + 1..];
            if behind.is_empty() || behind.starts_with(self.separator) {
                break;
            }
            // A single quote in the middle is kept as it is, as spreadsheets do.
            let is_doubled = behind.starts_with('"');
            has_doubled |= is_doubled;
            end += 1 + usize::from(is_doubled);
        }
        let field = &rest[1..end];
        let field = if has_doubled { field.replace("\"\"", "\"").into() } else { field.into() };
        Some((field, end + 1))
    }
}

impl<'t> Iterator for Fields<'t> {
    type Item = Result<Cow<'t, str>, Unclosed>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        let rest = &self.text[at..];
        let (field, length) = if rest.starts_with('"') {
            let Some(quoted) = self.quoted(rest) else {
                return Some(Err(Unclosed { character: self.text[..at].chars().count() + 1 }));
            };
            quoted
        } else {
            let end = rest.find(self.separator).unwrap_or(rest.len());
            (rest[..end].into(), end)
        };
        self.at = (length < rest.len()).then_some(at + length + 1);
        Some(Ok(field))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const COLUMNS: Columns = Columns { required: &["a", "b"], optional: &["c"] };

    /// Each row's fields, or what is wrong with it.
    fn check(text: &str, expected: Result<&[&str], &str>) {
        let lines = Lines::open("f".to_owned(), Cursor::new(text.to_owned())).unwrap();
        let rows = Table::open(lines, COLUMNS).map(|rows| {
            let said = |row: Result<Row, RowError>| match row {
                Ok(row) => format!("{}:{}", row.number, row.fields.join("|")),
                Err(error) => error.of(&"f").to_string(),
            };
            rows.map(said).collect::<Vec<_>>()
        });
        match (rows, expected) {
            (Ok(rows), Ok(expected)) => assert_eq!(rows, expected, "{text:?}"),
            (Err(failure), Err(expected)) => {
                let said = failure.to_string();
                assert!(said.starts_with(expected), "{text:?}: {said}");
            }
            (found, _) => panic!("{text:?}: {found:?}"),
        }
    }

    #[test]
    fn columns_are_found_by_their_names() {
        check("a,b\n1,2", Ok(&["2:1|2|"]));
        check("\"a\",\"b\"\r\n\"1\",\"2\"\r\n", Ok(&["2:1|2|"]));
        check("x,b,c,a\n,2,3,1\n", Ok(&["2:1|2|3"]));
        check("b;a\n2;1\n", Ok(&["2:1|2|"]));
        check("b\ta\n2\t1,5\n", Ok(&["2:1,5|2|"]));
        check("note,a,b\n\"x, \"\"y\"\"\",1,2\n", Ok(&["2:1|2|"]));
        check("a,b\n\"1,5\",\"2\"\"\"\n", Ok(&["2:1,5|2\"|"]));
        check("a,b,\n1,2,\n", Ok(&["2:1|2|"]));
        check("a,b\n,\n", Ok(&["2:||"]));
    }

    #[test]
    fn a_bad_row_costs_no_other() {
        let unclosed =
            "f: line 2: character 3: the quote is not closed; a quoted field ends in its own row";
        check("a,b\n1,\"2\n3,4\n", Ok(&[unclosed, "3:3|4|"]));
        check(
            "a,b\n1\n1,2,3\n4,5",
            Ok(&[
                "f: line 2: expected 2 columns, got 1",
                "f: line 3: expected 2 columns, got 3",
                "4:4|5|",
            ]),
        );
    }

    #[test]
    fn a_header_that_lacks_a_column_is_shown() {
        let expected = "f: line 1: expected a header with the columns a,b in any order, got ";
        for (text, found) in [
            ("", "an empty file"),
            ("A,B\n", "\"A,B\""),
            ("1,2\n", "\"1,2\""),
            ("{\"type\":1}\n", "JSON; `nagare publish --file`"),
            ("\"a,b\n", "\"\\\"a,b\""),
        ] {
            check(text, Err(&format!("{expected}{found}")));
        }
        check("a,b,a\n", Err("f: line 1: two columns are called a"));
    }
}

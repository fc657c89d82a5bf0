//! The events of a file: one JSON object a line, or CSV. The first character of the file says which of the two it is.

use std::io::{BufReader, Read};
use std::path::Path;

use shared::events::{Customer, Event, EventKey, SentEvent};
use shared::values::{CustomerId, EventId, EventName, Payload, TenantId, Timestamp};

use super::super::Failure;
use super::super::csv_file::{BadLine, Line, RowError, Rows};
use super::super::input::{Input, unreadable};
use super::super::lines;
use super::super::records::unpacked;

/// The header of a CSV file.
const HEADER: [&str; 5] = ["tenant_id", "customer_id", "event_id", "name", "at"];

/// A file of events.
#[derive(Debug, Clone)]
pub(super) struct EventFile(Input);

/// An event of a file, and whose it is.
pub(super) type EventRow = Result<(TenantId, SentEvent), RowError>;

impl EventFile {
    /// The file of this name; `-` is standard input.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let read_through = |name: &str, input| rows_of(name, input)?.try_for_each(only_failures);
        Input::of(path, read_through).map(Self)
    }

    /// What it holds, from its beginning.
    pub(super) fn rows(&self) -> Result<impl Iterator<Item = EventRow> + use<>, Failure> {
        rows_of(&self.to_string(), Box::new(self.0.open()?))
    }
}

impl std::fmt::Display for EventFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

fn only_failures(row: EventRow) -> Result<(), Failure> {
    match row {
        Ok(_) | Err(RowError::Line(_)) => Ok(()),
        Err(RowError::File(failure)) => Err(failure),
    }
}

fn rows_of(
    name: &str,
    input: Box<dyn Read + Send>,
) -> Result<Box<dyn Iterator<Item = EventRow>>, Failure> {
    let failed = |e| unreadable(name, &e);
    let mut input = unpacked(input).map_err(failed)?;
    let mut first = Vec::with_capacity(1);
    input.by_ref().take(1).read_to_end(&mut first).map_err(failed)?;
    let is_json = first == b"{";
    let whole = std::io::Cursor::new(first).chain(input);
    if is_json {
        return Ok(Box::new(of_json(name.to_owned(), whole)));
    }
    Ok(Box::new(Rows::of(whole, name.to_owned(), &HEADER)?.map(of_csv)))
}

fn bad(number: u64, problem: impl ToString) -> RowError {
    RowError::Line(BadLine { number, problem: problem.to_string() })
}

/// When it is on the clock of the stack is the stack's to know: nothing lies ahead here.
const NOW: Timestamp = Timestamp::LAST;

fn of_json(name: String, input: impl Read) -> impl Iterator<Item = EventRow> {
    lines::numbered(BufReader::new(input)).filter_map(move |(number, line)| match line {
        Ok(text) if text.trim().is_empty() => None,
        Ok(text) => {
            let sent = SentEvent::parse(&text, NOW);
            Some(match &sent.event {
                Ok(event) => Ok((event.key.customer.tenant_id.clone(), sent)),
                Err(error) => Err(bad(number, error.unredacted())),
            })
        }
        Err(error) => {
            let problem = format!("{name}: line {number}: {error}");
            Some(Err(RowError::File(Failure::Usage(problem))))
        }
    })
}

fn of_csv(row: Result<Line, RowError>) -> EventRow {
    let Line { number, fields } = row?;
    let of = |column: usize, problem: &dyn std::fmt::Display| {
        bad(number, format!("column {}: {problem}", HEADER[column]))
    };
    let tenant_id = TenantId::new(&fields[0]).map_err(|e| of(0, &e))?;
    let customer_id = CustomerId::new(&fields[1]).map_err(|e| of(1, &e))?;
    let event_id = EventId::new(&fields[2]).map_err(|e| of(2, &e))?;
    let name = EventName::new(&fields[3]).map_err(|e| of(3, &e))?;
    let at = Timestamp::parse(&fields[4]).map_err(|e| of(4, &e))?;
    let customer = Customer { tenant_id: tenant_id.clone(), customer_id };
    let key = EventKey { customer, at, event_id };
    Ok((tenant_id, Event { key, name, properties: Payload::default() }.into()))
}

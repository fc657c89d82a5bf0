//! The events of a file: one JSON object a line, or CSV. The first character of the file says which of the two it is.

use shared::history::events::{Customer, Event, EventKey, SentEvent};
use shared::platform::values::{CustomerId, EventId, EventName, Payload, TenantId, Timestamp};

use crate::Failure;
use crate::input::{Columns, Input, Line, Row, RowError, Table};

const COLUMNS: Columns =
    Columns { required: &["tenant_id", "customer_id", "event_id", "name", "at"], optional: &[] };

/// An event of a file, and whose it is.
pub(super) type EventRow = Result<(TenantId, SentEvent), RowError>;

/// The events of a file, from its beginning.
pub(super) fn events_in(input: &Input) -> Result<Box<dyn Iterator<Item = EventRow>>, Failure> {
    let mut lines = input.lines()?;
    match lines.first()? {
        Some('{' | '[') => Ok(Box::new(lines.of_json()?.map(|line| of_json(line?)))),
        _ => Ok(Box::new(Table::open(lines, COLUMNS)?.map(|row| of_csv(&row?)))),
    }
}

/// When it is on the clock of the stack is the stack's to know: nothing lies ahead here.
const NOW: Timestamp = Timestamp::LAST;

fn of_json(Line { number, text }: Line) -> EventRow {
    let sent = SentEvent::parse(&text, NOW);
    match &sent.event {
        Ok(event) => Ok((event.key.customer.tenant_id.clone(), sent)),
        Err(error) => Err(RowError::line(number, error.unredacted())),
    }
}

fn of_csv(row: &Row) -> EventRow {
    let tenant_id = row.read(0, TenantId::new)?;
    let customer =
        Customer { tenant_id: tenant_id.clone(), customer_id: row.read(1, CustomerId::new)? };
    let event_id = row.read(2, EventId::new)?;
    let name = row.read(3, EventName::new)?;
    let key = EventKey { customer, at: row.read(4, Timestamp::parse)?, event_id };
    Ok((tenant_id, Event { key, name, properties: Payload::default() }.into()))
}

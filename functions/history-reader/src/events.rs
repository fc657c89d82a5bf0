//! A page of what a customer of a tenant did (docs/QUERIES.md).
//!
//! It is read like other lists in the order of time (`page/`), and also bounded by [`shared::history::events::History`]. An event is put once and
//! never changes, so a page need not be of one moment: a page that was read while events were put only shows recorded events, and may
//! lack events put meanwhile. That is no different from a page that was read earlier: its `newer_cursor` returns what the client has not
//! been shown, within an hour of the newest, whichever table it is put into.
//!
//! Events with other names than the requested ones are read and skipped.

use serde::Serialize;
use shared::history::events::{Customer, History, ListedEvent, keys};
use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{List, RowChunk, Slice};
use shared::platform::values::{
    ActivityId, CustomerId, EventName, Payload, SortKey, TenantId, Timestamp,
};

use crate::reader::Context;
use function_http::Problem;
use function_http::page::{Cursors, Names, Paging, Request, Source, fill};
use function_http::reader::query::Parameters;
use function_http::response::Answer;

const KNOWN: &[&str] = &["limit", "order", "from", "to", "cursor"];

#[derive(Serialize)]
struct EventsBody<'a> {
    tenant_id: &'a TenantId,
    customer_id: &'a CustomerId,
    items: Vec<EventItem<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
    archived_before: Option<Timestamp>,
}

#[derive(Serialize)]
struct EventItem<'a> {
    /// Events have the sort keys of activities.
    event_id: &'a ActivityId,
    name: &'a EventName,
    at: Timestamp,
    properties: &'a Payload,
}

/// What a customer did, of some names.
struct NamedHistory {
    history: History,
    names: Names,
}

impl Source for NamedHistory {
    type Row = ListedEvent;
    type Shown = ListedEvent;

    fn key(row: &ListedEvent) -> &SortKey {
        &row.key
    }

    async fn read(&mut self, slice: Slice<'_>) -> Result<RowChunk<ListedEvent>, DynamoError> {
        self.history.read(slice).await
    }

    fn is_hidden(&self, row: &ListedEvent) -> bool {
        !self.names.show(&row.name)
    }

    async fn look_up(&mut self, _: &[ListedEvent], _: bool) -> Result<(), DynamoError> {
        Ok(())
    }

    fn shown(&self, row: &ListedEvent) -> Option<ListedEvent> {
        Some(row.clone())
    }

    fn looks_up_by_calls(&self) -> bool {
        false
    }

    fn may_go_on(&self) -> bool {
        self.history.may_go_on()
    }
}

/// `GET /v1/tenants/{tenant_id}/customers/{customer_id}/events`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let tenant_id = cx.path.parameter("tenant_id", TenantId::new)?;
    let customer_id = cx.path.parameter("customer_id", CustomerId::new)?;
    cx.caller.may_read_tenant(&tenant_id)?;
    let customer = Customer { tenant_id, customer_id };
    let list = List::named(format!("events#{customer}"), keys::seen(&customer));
    let parameters = Parameters::with_several(cx.event, KNOWN, &[Names::PARAMETER])?;
    let filter = Names::parse(&parameters)?.write()?;
    let request = Request::parse(cx, &parameters, &list, filter, &[Names::PARAMETER])?;
    let events = &cx.reader.events;
    let history = events.history(customer.clone(), cx.now).await?;
    let paging = Paging::new(cx, &list, &request, cx.now, history.from());
    let mut named = NamedHistory { history, names: Names::read(&request.cursor.filter) };
    let page = fill(&paging, &mut named).await?.page;
    let seal = &cx.requests().seal;
    let cursors = Cursors::new(&paging, &page, seal).await?;
    let items = page.items.iter().map(|(key, event)| EventItem {
        event_id: &key.activity_id,
        name: &event.name,
        at: key.published_at,
        properties: &event.properties,
    });
    let body = EventsBody {
        tenant_id: &customer.tenant_id,
        customer_id: &customer.customer_id,
        items: items.collect(),
        next_cursor: cursors.next.as_ref().map(|cursor| seal.seal(&list, cursor)),
        newer_cursor: seal.seal(&list, &cursors.newer),
        archived_before: named.history.archived_before(),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: page.items.len() })
}

//! The routes: which feature answers which path.

use function_http::reader::{Answering, RequestLine, Requests, Routes};
use function_http::{EVENTS_ROUTE, Route, routes};
use shared::platform::dynamo::Dynamo;
use shared::platform::ledger::Ledger;

use crate::customers::one as customer;
use crate::names::one as name;
use crate::reader::{Context, Reader};
use crate::{alerts, archives, customers, events, log, names, refusals};

routes! { Reader:
    "/v1/tenants/{tenant_id}/customers/{customer_id}/events" => events,
    "/v1/tenants/{tenant_id}/archives" => archives,
    "/v1/tenants/{tenant_id}/customers" => customers,
    "/v1/tenants/{tenant_id}/customers/{customer_id}" => customer,
    "/v1/tenants/{tenant_id}/names" => names,
    "/v1/tenants/{tenant_id}/names/{name}" => name,
    "/v1/tenants/{tenant_id}/alerts" => alerts,
    "/v1/tenants/{tenant_id}/refusals" => refusals,
}

impl Routes for Reader {
    const ROUTES: &'static [&'static str] = ROUTES;
    const POSTS: &'static [&'static str] = &[EVENTS_ROUTE];

    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            ledger: self.ledger.over(dynamo),
            views: self.views.over(dynamo),
            events: self.events.over(dynamo),
            ..self.clone()
        }
    }

    fn answer<'a>(route: Route, cx: &'a Context<'a>) -> Answering<'a> {
        answer(route, cx)
    }

    fn log(line: &RequestLine<'_>) {
        log::log(line);
    }
}

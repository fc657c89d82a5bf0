//! The routes: which feature answers which path.

use function_http::routes;

use crate::customers::one as customer;
use crate::names::one as name;
use crate::{Reader, alerts, archives, customers, events, names, refusals};

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

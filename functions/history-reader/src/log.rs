//! The log lines of requests, with the tenant whose data was requested, if the id is valid.

use function_http::log_request;
use function_http::reader::RequestLine;
use shared::platform::values::TenantId;

pub(crate) fn log(line: &RequestLine<'_>) {
    let tenant = line.path.and_then(|path| path.parameter("tenant_id", TenantId::new).ok());
    let tenant_id = tenant.as_ref().map(TenantId::as_str);
    log_request!(line, tenant_id);
}

//! The log lines of requests, with the viewer whose data was requested, if the id is valid.

use function_http::log_request;
use function_http::reader::RequestLine;
use shared::platform::values::ViewerId;

pub(crate) fn log(line: &RequestLine<'_>) {
    let viewer = line.path.and_then(|path| path.parameter("viewer_id", ViewerId::new).ok());
    let viewer_id = viewer.as_ref().map(ViewerId::as_str);
    log_request!(line, viewer_id);
}

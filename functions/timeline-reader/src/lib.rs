//! The timeline reader: one page of one viewer's timeline (docs/openapi.yaml).
//!
//! ```text
//! handle        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   request     which viewer, and which page of the timeline: everything is parsed here
//!   identity    whether the caller may read it
//!   page        skeleton -> facts -> rules, until the page is full
//!   answer      a page as JSON, with its cursors
//!   problem     what is answered instead
//!   outcome     what is logged and counted of a request
//! ```
//!
//! Its cost does not grow with the number of follows: an ordinary page is one Query for the entries
//! and at most two BatchGetItem for the edges and activities that they name.

mod answer;
mod identity;
mod outcome;
mod page;
mod problem;
mod request;

use std::time::Duration;

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use shared::cursor::CursorSeal;
use shared::store::Store;
use shared::{Clock, Deadline, Metrics, Retention};
use tokio::time::Instant;

pub use identity::{Authorization, AuthorizationError};
use outcome::Outcome;
use page::Page;
use problem::Problem;
use request::Request;

/// How long a caller is kept waiting. A page takes milliseconds; whoever has waited this long is
/// better told to come back.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What the reader works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The tables.
    pub store: Store,
    /// Seals cursors and opens them.
    pub seal: CursorSeal,
    /// Who may read what.
    pub authorization: Authorization,
    /// How long activities are shown.
    pub retention: Retention,
    /// Where answers are counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
}

impl Reader {
    /// Answers one request. Whatever goes wrong is an answer too.
    pub async fn handle(
        &self,
        event: &ApiGatewayV2httpRequest,
        deadline: Deadline,
    ) -> ApiGatewayV2httpResponse {
        let (begun, store) = (Instant::now(), self.store.metered());
        let result = self.read(&store, event, deadline).await;
        let items = result.as_ref().map(|(page, _)| page.activities.len());
        let outcome = Outcome { items, cost: store.tally(), took: begun.elapsed() };
        outcome.log(event);
        outcome.count(&self.metrics, self.clock.now());
        match result {
            Ok((_, response)) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn read(
        &self,
        store: &Store,
        event: &ApiGatewayV2httpRequest,
        deadline: Deadline,
    ) -> Result<(Page, ApiGatewayV2httpResponse), Problem> {
        let segment = request::route(event)?;
        let caller = self.authorization.caller(event)?;
        let viewer = request::viewer(event, segment)?;
        caller.may_read(&viewer)?;
        let request = Request::parse(event, &viewer, &self.seal)?;
        let now = self.clock.now();
        let page = self.page(store, &viewer, &request, now, deadline).await?;
        let retained_from = self.retention.start(now);
        let response = answer::response(&self.seal, &viewer, &request, &page, retained_from)?;
        Ok((page, response))
    }
}

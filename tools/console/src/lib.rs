//! The web console: a stack as one sees it flow. `nagare up` serves it at `/console/` on the API's port,
//! `nagare console` for the stack that the environment names.
//!
//! # How a view works
//!
//! HTML is made here, on the server; the one script is htmx, which asks for a region of a page again and puts it in the
//! place of the old one. Every view is one address with its parameters in the query, so that it can be sent to
//! somebody else, and works without the script as well, but for the moving. What a view cannot show says so in the
//! place where it would be, and the rest of the page stands.
//!
//! A console knows the stack as every other client does, by its tables, queues and permissions. So it costs the stack
//! what a client costs, and nothing while no page is open.
//!
//! # Who may do what
//!
//! It listens on loopback alone, and lends the credentials of whoever started it. So it answers nobody who has not the
//! secret of this run (`access.rs`), however they reach the port: another account of this machine is 401 everywhere. A page
//! elsewhere cannot read it, since no answer allows another origin, and cannot send it forms: `Host` has to be loopback,
//! `Origin`, where there is one, has to be the console itself, `Sec-Fetch-Site` says so, and each form that changes or
//! costs something carries a token of this process. A console of a real account can only look, unless `--write` is given,
//! and asks before each change with the account's number to be typed.

mod access;
mod assets;
mod audit;
mod commands;
mod cost;
mod fields;
mod guard;
mod history;
mod home;
mod inside;
mod layout;
mod letters;
mod live;
mod looking;
mod named;
mod numbers;
mod payload;
mod prelude;
mod reads;
mod social;
mod suggestions;
mod tables;
#[cfg(test)]
mod tests;

use history::{events, tenants};
use social::{activity, people, room, show, timeline};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{ACCEPT, CACHE_CONTROL, VARY};
use http::{HeaderValue, Method};
use shared::platform::runtime::env;
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

pub use access::Access;
use assets::{ICON, SCRIPT, STYLE, asset};
use axum::routing::{any, get, post};
use commands::Sent;
use inside::{faults, log, plots};
use letters::Depths;
use nagare_client::failure::Failure;
use nagare_client::remote::Remote;
use nagare_gateway::ports::intake::Intake;
use nagare_gateway::ports::{self, Bounds, Pages};
use nagare_telemetry::LocalTelemetry;
use reads::Reads;

/// Where it is, below the address of its port.
pub const PATH: &str = "/console/";
/// The variable that says where somebody who may look opens it.
pub const URL: &str = env::CONSOLE_URL;
/// A form is at most this long, in bytes: a message of SQS, escaped, and some more.
const LONGEST_FORM: usize = 4 << 20;
/// Commands whose course can still be watched.
const REMEMBERED: usize = 1_000;
/// Connections at once, where it has a port to itself.
const BROWSERS: usize = 192;

/// What may be changed from a console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    ReadOnly,
    /// All that the caller's credentials may change.
    Write,
}

pub struct Console {
    remote: Remote,
    has_history: bool,
    reads: Reads,
    mode: Mode,
    /// The account and region, if the stack is on AWS.
    account: Option<Account>,
    /// What is known of a stack in this process.
    telemetry: Option<LocalTelemetry>,
    access: Access,
    /// What a form has to carry.
    token: String,
    forms: Intake,
    /// Commands that were sent from here, the latest first.
    sent: Mutex<VecDeque<Arc<Sent>>>,
    /// How deep the queues were while somebody looked.
    depths: Mutex<Depths>,
    /// Names to begin with, as they were a moment ago.
    suggested: tokio::sync::Mutex<suggestions::Remembered>,
}

/// A real account, as the address of its queue names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Twelve digits.
    pub id: String,
    /// Such as `eu-west-1`.
    pub region: String,
    /// Where the region's services are, such as `eu-west-1.amazonaws.com`.
    pub domain: String,
}

impl Console {
    /// # Errors
    /// [`Failure::Usage`] if the stack is not named well enough.
    pub fn new(remote: Remote, mode: Mode, access: Access) -> Result<Self, Failure> {
        let remote = match mode {
            Mode::ReadOnly => remote.only_reading()?,
            Mode::Write => remote,
        };
        let queue = remote.target().required(env::QUEUE_URL)?;
        let region = remote.config().and_then(|config| config.region()).map(ToString::to_string);
        let account = match Account::of_queue(&queue, region.as_deref()) {
            _ if remote.is_local() => None,
            None => return Err(unknown_account(&queue)),
            account => account,
        };
        Ok(Self {
            has_history: remote.history()?.is_on(),
            reads: Reads::of(&remote)?,
            remote,
            mode,
            account,
            telemetry: None,
            access,
            token: Uuid::new_v4().simple().to_string(),
            forms: Intake::of(LONGEST_FORM),
            sent: Mutex::default(),
            depths: Mutex::default(),
            suggested: tokio::sync::Mutex::default(),
        })
    }

    /// The same for a stack that is in this process.
    pub fn with_telemetry(self, telemetry: LocalTelemetry) -> Self {
        Self { telemetry: Some(telemetry), ..self }
    }

    /// The account that it changes, if it is a real one.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    fn router(self) -> Router {
        Self::pages(Arc::new(self))
    }

    /// Its pages in front of an API at the same port, whose address leads browsers to them.
    pub fn in_front_of(self, api: Router) -> Router {
        self.router().fallback_service(api).layer(middleware::from_fn(lead_browsers))
    }

    /// Serves it alone until it is told to stop.
    pub async fn serve(self, listener: TcpListener, stop: watch::Receiver<bool>) {
        let pages = Pages::default().beside(PATH);
        ports::serve(listener, self.router_alone(), Bounds::of(BROWSERS), pages, stop).await;
    }

    fn pages(console: Arc<Self>) -> Router {
        let access = Arc::new(console.access.clone());
        Router::new()
            .route(PATH, get(home::view))
            .route("/console/live", get(live::region))
            .route("/console/timeline", get(timeline::view))
            .route("/console/newer", get(timeline::newer))
            .route("/console/people", get(people::choose))
            .route("/console/person", get(people::view))
            .route("/console/bell", get(people::bell))
            .route("/console/look-as", post(people::look_as))
            .route("/console/room", get(room::view))
            .route("/console/said", get(room::said))
            .route("/console/activity", get(activity::view))
            .route("/console/commands", get(commands::view))
            .route("/console/send", post(commands::send))
            .route("/console/command", get(commands::command))
            .route("/console/state", get(commands::state))
            .route("/console/show", get(show::choose))
            .route("/console/poll", get(show::poll))
            .route("/console/battle", get(show::battle))
            .route("/console/standing", get(show::standing))
            .route("/console/events", get(events::view))
            .route("/console/periods", get(events::periods))
            .route("/console/history", get(events::history))
            .route("/console/tenants", get(tenants::choose))
            .route("/console/tenant", get(tenants::view))
            .route("/console/customer", get(tenants::view_customer))
            .route("/console/name", get(tenants::view_name))
            .route("/console/queues", get(letters::view))
            .route("/console/depths", get(letters::now))
            .route("/console/letter", get(letters::letter))
            .route("/console/redrive", post(letters::again))
            .route("/console/drop", post(letters::remove))
            .route("/console/audit", get(audit::view).post(audit::audit))
            .route("/console/repair", post(audit::repair))
            .route("/console/tables", get(tables::view))
            .route("/console/export", post(tables::export))
            .route("/console/log", get(log::view))
            .route("/console/log-lines", get(log::news))
            .route("/console/log/{message}", get(log::story))
            .route("/console/numbers", get(plots::view))
            .route("/console/numbers-now", get(plots::now))
            .route("/console/faults", get(faults::view).post(faults::set))
            .route("/console/console.css", get(asset("text/css; charset=utf-8", STYLE)))
            .route("/console/htmx.js", get(asset("text/javascript; charset=utf-8", SCRIPT)))
            .route("/console/icon.svg", get(asset("image/svg+xml", ICON)))
            .route("/console", get(async || Redirect::permanent(PATH)))
            .route("/console/{*rest}", any(home::nowhere))
            .with_state(console)
            .layer(middleware::from_fn_with_state(access, guard::protect))
    }

    /// The same on a port that has nothing else: what is elsewhere on it is no less closed.
    fn router_alone(self) -> Router {
        let (access, console) = (Arc::new(self.access.clone()), Arc::new(self));
        let nowhere = any(home::nowhere).with_state(Arc::clone(&console));
        let nowhere = nowhere.layer(middleware::from_fn_with_state(access, guard::protect));
        Self::pages(console).fallback_service(nowhere).layer(middleware::from_fn(lead_browsers))
    }

    fn remember(&self, sent: Sent) -> Arc<Sent> {
        let sent = Arc::new(sent);
        let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_front(Arc::clone(&sent));
        all.truncate(REMEMBERED);
        sent
    }

    fn sent(&self) -> Vec<Arc<Sent>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Account {
    /// `https://sqs.REGION.amazonaws.com/ACCOUNT/NAME`; at any other host, the region is the one that calls are signed for.
    #[must_use]
    pub fn of_queue(url: &str, region: Option<&str>) -> Option<Self> {
        let mut parts = url.strip_prefix("https://")?.split('/');
        let (host, id) = (parts.next()?, parts.next()?);
        let (region, domain) = match host.strip_prefix("sqs.") {
            Some(domain) => (domain.split('.').next()?, domain.to_owned()),
            None => region.map(|region| (region, format!("{region}.amazonaws.com")))?,
        };
        let is_id = id.len() == 12 && id.bytes().all(|b| b.is_ascii_digit());
        is_id.then(|| Self { id: id.to_owned(), region: region.to_owned(), domain })
    }
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "account {} in {}", self.id, self.region)
    }
}

/// Leads browsers from the address of a port to its console. Programs, which do not ask for pages, are answered as before.
async fn lead_browsers(request: Request, next: Next) -> Response {
    let wants_page =
        |accept: &HeaderValue| accept.to_str().is_ok_and(|it| it.contains("text/html"));
    let is_browser = request.headers().get_all(ACCEPT).iter().any(wants_page);
    match request.uri().path() {
        "/" if is_browser && matches!(*request.method(), Method::GET | Method::HEAD) => {
            ([(VARY, ACCEPT.as_str()), (CACHE_CONTROL, "no-store")], Redirect::to(PATH))
                .into_response()
        }
        _ => next.run(request).await,
    }
}

fn unknown_account(queue: &str) -> Failure {
    Failure::Usage(format!(
        "the account of {queue} is not known: {} has to be https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, as the \
         stack's output has it (of another host, AWS_REGION has to be set, too), or a queue of a local stack",
        env::QUEUE_URL
    ))
}

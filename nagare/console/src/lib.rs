//! The web console: a stack as one sees it flow. `nagare up` serves it at `/console/` on the API's port,
//! `nagare console` for the stack that the environment names.
//!
//! ```text
//! access    who looks: whoever has the secret of this run
//! guard     who may ask: of them the console's own pages; the headers of every answer
//! fields    what a request says; what may change something, and what is asked before it does
//! layout    what all pages share
//! assets    style and script, embedded
//! reads     reading as a viewer does, and what it cost
//! cost      what a page cost, and why that much
//! payload   a payload as people read it
//! named     people, things and instants as a page names them
//! suggestions  names to begin with
//! home      the first page
//! live      what goes on right now
//! timeline  a timeline as anybody reads it
//! people    somebody: profile, lists, notifications
//! looking   whom somebody looks as
//! room      what is said in a room
//! activity  one activity, its likes and tags
//! commands  any command from a form, and what becomes of it
//! show      which polls and battles there are, and how they move
//! events    periods of events, and what a customer did
//! tenants   customers and what they come to, names of events, alerts, rules and scores
//! letters   queues and dead letters
//! audit     what is stored against what it should be
//! tables    what is stored under a key, decoded and raw, those of periods as well
//! inside    what goes on in a stack: log, numbers, faults
//! numbers   what that would cost
//! cloudwatch  both of them where the stack is on AWS
//! ```
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
mod activity;
mod assets;
mod audit;
mod cloudwatch;
mod commands;
mod cost;
mod events;
mod fields;
mod guard;
mod home;
mod inside;
mod layout;
mod letters;
mod live;
mod looking;
mod named;
mod numbers;
mod payload;
mod people;
mod reads;
mod room;
mod show;
mod suggestions;
mod tables;
mod tenants;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get};
use http::header::{ACCEPT, CACHE_CONTROL, VARY};
use http::{HeaderValue, Method};
use shared::runtime::env;
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;

pub use access::Access;
use cloudwatch::CloudWatch;
use commands::Sent;
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

/// A console for one stack.
pub struct Console {
    remote: Remote,
    reads: Reads,
    mode: Mode,
    /// The account and region, if the stack is on AWS.
    account: Option<Account>,
    /// What is known of a stack in this process.
    telemetry: Option<LocalTelemetry>,
    /// What says the same of a stack on AWS, or why nothing does.
    cloudwatch: Result<CloudWatch, Failure>,
    /// Who is let in.
    access: Access,
    /// What a form has to carry.
    token: String,
    /// What reads forms.
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
    /// For a stack.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the stack is not named well enough.
    pub fn new(remote: Remote, mode: Mode, access: Access) -> Result<Self, Failure> {
        let remote = match mode {
            Mode::ReadOnly => remote.only_reading()?,
            Mode::Write => remote,
        };
        let queue = remote.target().required(env::QUEUE_URL)?;
        let region = remote.config().and_then(|config| config.region()).map(ToString::to_string);
        let account = match remote.is_local() {
            true => None,
            false => Some(
                Account::of_queue(&queue, region.as_deref())
                    .ok_or_else(|| unknown_account(&queue))?,
            ),
        };
        let cloudwatch = match &account {
            Some(account) => CloudWatch::of(&remote, account),
            None => Err(inside::elsewhere()),
        };
        let reads = Reads::of(&remote)?;
        let token = Uuid::new_v4().simple().to_string();
        let (forms, sent, depths) = (Intake::of(LONGEST_FORM), Mutex::default(), Mutex::default());
        let (telemetry, suggested) = (None, tokio::sync::Mutex::default());
        Ok(Self {
            remote,
            reads,
            mode,
            account,
            telemetry,
            cloudwatch,
            access,
            token,
            forms,
            sent,
            depths,
            suggested,
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

    /// All of its pages.
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
            .merge(home::routes())
            .merge(timeline::routes())
            .merge(people::routes())
            .merge(room::routes())
            .merge(activity::routes())
            .merge(commands::routes())
            .merge(show::routes())
            .merge(events::routes())
            .merge(tenants::routes())
            .merge(letters::routes())
            .merge(audit::routes())
            .merge(tables::routes())
            .merge(inside::routes())
            .merge(assets::routes())
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

    /// The names of its tables, as far as they are known.
    fn tables(&self) -> Vec<String> {
        let names = [
            env::TIMELINES_TABLE,
            env::LEDGER_TABLE,
            env::FACTS_TABLE,
            env::VIEWS_TABLE,
            env::DEAD_LETTERS_TABLE,
        ];
        names.into_iter().filter_map(|name| self.remote.target().optional(name)).collect()
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
    fn of_queue(url: &str, region: Option<&str>) -> Option<Self> {
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

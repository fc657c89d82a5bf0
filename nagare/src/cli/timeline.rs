//! `nagare timeline`: reads a timeline through the HTTP API, as a client would.

use clap::{Args, ValueEnum};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::value::RawValue;
use shared::runtime::clock::Clock;
use shared::runtime::env;
use shared::values::ViewerId;

use super::Failure;
use super::print::{say, tell};
use crate::local::gateway::JwtAuthorizer;

/// How long a token made for one reading is valid, in seconds.
const TOKEN_LIFE: i64 = 300;

#[derive(Debug, Args)]
pub(super) struct Timeline {
    /// Whose timeline.
    viewer: String,
    /// Activities on a page, 1 to 100.
    #[arg(long)]
    limit: Option<u32>,
    /// Which end to begin at.
    #[arg(long)]
    order: Option<Order>,
    /// Keep activities published at this instant or date, or later.
    #[arg(long)]
    from: Option<String>,
    /// Keep activities published before this instant, or on this date or before.
    #[arg(long)]
    to: Option<String>,
    /// Go on from page to page until the end.
    #[arg(long)]
    all: bool,
    /// Print one JSON object for each activity.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Order {
    /// The latest first.
    Newest,
    /// The earliest first.
    Oldest,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Activity<'a> {
    #[serde(borrow)]
    activity_id: &'a str,
    actor_id: &'a str,
    kind: &'a str,
    published_at: &'a str,
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct Problem {
    detail: String,
}

impl Timeline {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let api = Api::from_environment(&self.viewer)?;
        let mut query = self.query();
        let mut shown = 0_u64;
        loop {
            let page = api.page(&query).await?;
            for activity in &page.items {
                self.print(activity)?;
                shown += 1;
            }
            match page.next_cursor.filter(|_| self.all) {
                Some(cursor) => query = self.going_on(cursor),
                None => break,
            }
        }
        if shown == 0 && !self.json {
            tell!("nothing in the timeline of {}", self.viewer);
        }
        Ok(())
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        let order = self.order.map(|order| match order {
            Order::Newest => "newest".to_owned(),
            Order::Oldest => "oldest".to_owned(),
        });
        let given = [
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("order", order),
            ("from", self.from.clone()),
            ("to", self.to.clone()),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn going_on(&self, cursor: String) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        limit.into_iter().chain([("cursor", cursor)]).collect()
    }

    fn print(&self, activity: &RawValue) -> Result<(), Failure> {
        if self.json {
            say!("{activity}")?;
            return Ok(());
        }
        let unexpected = |e| Failure::Unreachable(format!("the API's answer is not a page: {e}"));
        let Activity { activity_id, actor_id, kind, published_at, payload } =
            serde_json::from_str(activity.get()).map_err(unexpected)?;
        say!("{published_at}  {actor_id:<16} {kind:<8} {activity_id:<24} {payload}")?;
        Ok(())
    }
}

/// The API, on behalf of one viewer.
struct Api {
    client: reqwest::Client,
    timeline: Url,
    token: Option<String>,
}

impl Api {
    fn from_environment(viewer: &str) -> Result<Self, Failure> {
        let base = env::required(env::API_URL)?;
        let invalid = || Failure::Usage(format!("{}: expected a URL, got {base}", env::API_URL));
        let mut timeline = Url::parse(&base).map_err(|_| invalid())?;
        timeline.path_segments_mut().map_err(|()| invalid())?.pop_if_empty().extend([
            "v1",
            "timelines",
            viewer,
        ]);
        let token = env::optional(env::TOKEN).or_else(|| own_token(viewer));
        // The same cryptography as in the AWS clients. An error means that it is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build();
        let client = client.map_err(|e| Failure::Unreachable(e.to_string()))?;
        Ok(Self { client, timeline, token })
    }

    async fn page(&self, query: &[(&'static str, String)]) -> Result<Page, Failure> {
        let mut url = self.timeline.clone();
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut request = self.client.get(url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let unreachable = |e: reqwest::Error| {
            let host = self.timeline.origin().ascii_serialization();
            Failure::Unreachable(format!("the API at {host} does not answer: {}", e.without_url()))
        };
        let answer = request.send().await.map_err(unreachable)?;
        let status = answer.status();
        let body = answer.bytes().await.map_err(unreachable)?;
        if status != StatusCode::OK {
            return Err(refusal(status, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|e| Failure::Unreachable(format!("the API's answer is not a page: {e}")))
    }
}

/// The failure for a problem that the API answered.
fn refusal(status: StatusCode, body: &[u8]) -> Failure {
    let problem = serde_json::from_slice::<Problem>(body).map(|problem| problem.detail);
    let sentence =
        format!("{status}: {}", problem.unwrap_or_else(|_| "no reason given".to_owned()));
    match status {
        StatusCode::BAD_REQUEST => Failure::Usage(sentence),
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Failure::Unreachable(sentence)
        }
        _ => Failure::No(sentence),
    }
}

/// A token made with the local stack's key, if the environment has it.
fn own_token(viewer: &str) -> Option<String> {
    let authorizer = JwtAuthorizer::with_key(env::optional(env::JWT_KEY)?);
    let now = Clock::system().now().unix_millis() / 1000;
    ViewerId::new(viewer).ok()?;
    authorizer.mint(viewer, now + TOKEN_LIFE).ok()
}

//! `nagare-bench followers`: all followers of an actor, page after page through the reader's own code, as one client
//! would walk them.

use std::time::Duration;

use aws_lambda_events::encodings::Body;
use clap::Args;
use nagare::Failure;
use nagare::print::print_json;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::read::{event, page, reader};
use super::report::{Measurement, peak_rss_mb};
use super::{ACTOR, on_one_thread};

#[derive(Debug, Args)]
pub(crate) struct Followers {
    /// The endpoint of a `nagare-bench table --follows N`.
    #[arg(long)]
    endpoint: String,
}

/// What the walk cost.
#[derive(Debug, Serialize)]
struct Walk {
    followers: u64,
    pages: usize,
    seconds: f64,
    /// User and system time of this process per page.
    cpu_us_per_page: f64,
    /// What a caller waits for one of the first and of the last thousand pages, half of them less.
    first_p50_ms: f64,
    last_p50_ms: f64,
    peak_rss_mb: f64,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<IgnoredAny>,
    next_cursor: Option<String>,
}

impl Followers {
    /// Runs on one thread, as in the function.
    pub(super) async fn run(self) -> Result<(), Failure> {
        on_one_thread(|| self.measure()).await
    }

    async fn measure(self) -> Result<(), Failure> {
        let reader = reader(&self.endpoint).await?;
        let path = format!("/v1/actors/{ACTOR}/followers");
        let (begun, measurement) = (Instant::now(), Measurement::start()?);
        let (mut followers, mut waited) = (0, Vec::new());
        let mut query = "limit=100".to_owned();
        loop {
            let event = event(&path, json!({"actor_id": ACTOR}), &query, "identity")?;
            let asked = Instant::now();
            let answer = page(&reader, &event).await?;
            waited.push(asked.elapsed());
            let Some(Body::Text(body)) = answer.body else {
                return Err(Failure::Unreachable("an answer that is no text".to_owned()));
            };
            let Page { items, next_cursor } = serde_json::from_str(&body)?;
            followers += items.len() as u64;
            let Some(cursor) = next_cursor else { break };
            query = format!("limit=100&cursor={cursor}");
        }
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), measurement.cpu_seconds()?);
        let some = waited.len().min(1_000);
        print_json(&Walk {
            followers,
            pages: waited.len(),
            seconds,
            cpu_us_per_page: cpu / waited.len() as f64 * 1e6,
            first_p50_ms: median_ms(&waited[..some]),
            last_p50_ms: median_ms(&waited[waited.len() - some..]),
            peak_rss_mb: peak_rss_mb()?,
        })
    }
}

fn median_ms(waited: &[Duration]) -> f64 {
    let mut waited = waited.to_vec();
    waited.sort_unstable();
    waited[waited.len() / 2].as_secs_f64() * 1e3
}

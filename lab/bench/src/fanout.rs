//! `nagare-bench fanout`: one activity into the timelines of many followers, over the writer's own
//! write path.

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use nagare::Failure;
use nagare::print::print_json;
use nagare_client::tables::Tables;
use nagare_local::connector::{self, InProcess};
use nagare_local::engine::Engine;
use nagare_local::schema;
use nagare_local::sqs::{Queues, Wire};
use nagare_operator::progress;
use shared::platform::dynamo::Usage;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{ActivityId, ActorId, Retention, SortKey, ViewerId};
use shared::social::timelines::{EntryWrite, Timelines};

use super::report::Measurement;
use super::{ACTOR, follower, in_flight, on_one_thread, tables_at};

/// Followers whose entries are written at once, as in the writer.
const PAGE: usize = 2_500;
/// Pages in flight at once, as in the writer.
const PAGES: usize = 3;
/// How long one page is tried.
const PATIENCE: Duration = Duration::from_secs(600);

#[derive(Debug, Args)]
pub(crate) struct Fanout {
    /// How many followers.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    followers: u64,
    /// A DynamoDB endpoint; its timelines table is the one that NAGARE_TIMELINES_TABLE names, or
    /// `nagare-timelines`. Without it the embedded tables are written to, and their work counts too.
    #[arg(long)]
    endpoint: Option<String>,
    /// Calls in flight at once.
    #[arg(long, default_value_t = shared::platform::dynamo::IN_FLIGHT, value_parser = in_flight)]
    in_flight: usize,
}

impl Fanout {
    /// Runs on one thread, as in the function.
    pub(super) async fn run(self) -> Result<(), Failure> {
        on_one_thread(|| self.measure()).await
    }

    async fn measure(self) -> Result<(), Failure> {
        let tables = match &self.endpoint {
            Some(endpoint) => tables_at(endpoint, self.in_flight).await?,
            None => embedded(self.in_flight)?,
        };
        // The segments of a large fan-out are written in bulk too.
        let timelines = tables.timelines.in_bulk();
        let measurement = Measurement::start()?;
        let usage = self.write(&timelines).await?;
        print_json(&measurement.report(usage)?)?;
        Ok(())
    }

    async fn write(&self, timelines: &Timelines) -> Result<Usage, Failure> {
        let now = Clock::system().now();
        let retention = Retention::default();
        // An id of its own, so that a table can tell writers apart.
        let activity_id = ActivityId::new(format!("bench-{}", std::process::id()));
        let activity_id = activity_id.map_err(|e| Failure::Usage(e.to_string()))?;
        let actor = ActorId::new(ACTOR).map_err(|e| Failure::Usage(e.to_string()))?;
        let sort_key = SortKey { published_at: now, activity_id }.to_string();
        let bar = progress::bar(self.followers, "entries");
        let expires_at = retention.expires_at(now);
        let pages = (0..self.followers).step_by(PAGE).map(async |first| {
            let last = self.followers.min(first + PAGE as u64);
            let viewers = (first..last).map(|n| ViewerId::new(follower(n)));
            let viewers: Vec<_> = viewers.filter_map(Result::ok).collect();
            let (sort_key, actor) = (&sort_key, &actor);
            let puts = viewers.iter().map(|viewer| EntryWrite::Put {
                viewer,
                sort_key,
                actor,
                expires_at,
            });
            let deadline = Deadline::after(PATIENCE);
            let usage = timelines.until(deadline).write(puts, deadline).await?.whole()?;
            bar.inc(last - first);
            Ok(usage)
        });
        let written = stream::iter(pages).buffer_unordered(PAGES);
        let usage = written.try_fold(Usage::default(), async |mut sum, usage| {
            sum += usage;
            Ok::<_, Failure>(sum)
        });
        let usage = usage.await?;
        bar.finish_and_clear();
        Ok(usage)
    }
}

/// Empty embedded tables.
fn embedded(in_flight: usize) -> Result<Tables, Failure> {
    let broken = |problem: String| Failure::Unreachable(problem);
    let engine = Engine::in_memory().map_err(|e| broken(e.to_string()))?;
    let queues =
        Queues::in_memory(Vec::new(), Arc::new(|| 0)).map_err(|e| broken(e.to_string()))?;
    let inside = InProcess::new(engine, Wire::new(queues, "http://queue.local"));
    let client = connector::dynamodb(SharedHttpConnector::new(inside));
    Ok(Tables::with_in_flight(client, &schema::names(), in_flight))
}

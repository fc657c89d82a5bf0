//! `nagare bench fanout`: one activity into the timelines of many followers, over the writer's own
//! write path.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use clap::Args;
use shared::store::{EntryWrite, Store, Tables, Tally, sdk_config};
use shared::{ActivityId, ActorId, Clock, Deadline, Retention, SortKey, ViewerId, env};

use super::super::{Failure, progress};
use super::report::{Meter, print};
use super::{follower, in_flight};
use crate::queue::{Queues, Wire};
use crate::stack::connector::{self, InProcess};
use crate::stack::engine::Engine;
use crate::stack::schema;

/// Followers whose entries are written at once, as the writer does it.
const PAGE: u64 = 2_500;
/// How long a page is tried for.
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
    /// Calls under way at once.
    #[arg(long, default_value_t = shared::store::IN_FLIGHT, value_parser = in_flight)]
    in_flight: usize,
}

impl Fanout {
    /// On one thread, as in the function.
    pub(super) async fn run(self) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let measured = tokio::task::spawn_blocking(move || runtime.block_on(self.measure()));
        measured.await.map_err(|e| Failure::Unreachable(e.to_string()))?
    }

    async fn measure(self) -> Result<(), Failure> {
        let store = self.store().await?.with_in_flight(self.in_flight);
        let meter = Meter::start()?;
        let tally = self.write(&store).await?;
        print(&meter.report(tally)?);
        Ok(())
    }

    /// The store as the functions make it, but for where it leads.
    async fn store(&self) -> Result<Store, Failure> {
        let Some(endpoint) = &self.endpoint else { return embedded() };
        let timelines = env::optional(env::TIMELINES_TABLE);
        let timelines = timelines.unwrap_or_else(|| schema::tables().timelines);
        let config = sdk_config().await;
        let config = aws_sdk_dynamodb::config::Builder::from(&config).endpoint_url(endpoint);
        let client = Client::from_conf(config.build());
        Ok(Store::new(client, Tables { timelines, ..schema::tables() }))
    }

    async fn write(&self, store: &Store) -> Result<Tally, Failure> {
        let now = Clock::system().now();
        let retention = Retention::default();
        // Of its own, so that a table can tell writers from each other.
        let activity_id = ActivityId::new(format!("bench-{}", std::process::id()));
        let activity_id = activity_id.map_err(|e| Failure::Usage(e.to_string()))?;
        let actor = ActorId::new("bench").map_err(|e| Failure::Usage(e.to_string()))?;
        let sort_key = SortKey { published_at: now, activity_id }.to_string();
        let bar = progress::bar(self.followers, "entries");
        let (mut tally, mut first) = (Tally::default(), 0);
        while first < self.followers {
            let last = self.followers.min(first + PAGE);
            let viewers = (first..last).map(|n| ViewerId::new(follower(n)));
            let viewers: Vec<_> = viewers.filter_map(Result::ok).collect();
            let puts = viewers.iter().map(|viewer| EntryWrite::Put {
                viewer,
                sort_key: &sort_key,
                actor: &actor,
                expires_at: retention.expires_at(now),
            });
            tally += store.write_entries(puts, Deadline::after(PATIENCE)).await?;
            first = last;
            bar.set_position(first);
        }
        bar.finish_and_clear();
        Ok(tally)
    }
}

/// Embedded tables, empty.
fn embedded() -> Result<Store, Failure> {
    let broken = |problem: String| Failure::Unreachable(problem);
    let engine = Engine::in_memory().map_err(|e| broken(e.to_string()))?;
    let queues =
        Queues::in_memory(Vec::new(), Arc::new(|| 0)).map_err(|e| broken(e.to_string()))?;
    let inside = InProcess::new(engine, Wire::new(queues, "http://queue.local"));
    Ok(Store::new(connector::dynamodb(SharedHttpConnector::new(inside)), schema::tables()))
}

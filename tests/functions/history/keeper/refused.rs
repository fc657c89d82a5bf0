//! DynamoDB refuses operations on tables for hours: too many at once, or the table is in use.

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::Fault;
use shared::history::events::PeriodState;
use tests::World;

use super::striking::Strike;
use super::{
    DROPPED, SEALED, bring, check_archive, check_nothing_is_lost, in_table, keeping, record, row,
    state, ticks,
};

/// The table of the period after the next has to be there by now.
const UNMADE: &str = "2026-12-31T12:00:00Z";

fn changes_a_table(request: &HttpRequest) -> bool {
    let target = request.headers().get("x-amz-target").unwrap_or_default();
    ["CreateTable", "UpdateTable", "DeleteTable"].iter().any(|it| target.ends_with(it))
}

/// What all ticks of some hours said of failed steps and of periods without tables.
async fn ticks_of_hours(world: &World, from: &str) -> (u64, u64) {
    let before = world.metrics.lines().len();
    for hours in 0..5 {
        world.clock.set(
            from.parse::<shared::platform::values::Timestamp>()
                .unwrap()
                .plus_millis(hours * 3_600_000),
        );
        let deadline = shared::platform::runtime::deadline::Deadline::after(
            std::time::Duration::from_secs(300),
        );
        assert!(world.keeper.tick(deadline).await.unwrap().more_due);
    }
    let lines = world.metrics.lines().split_off(before);
    let sum = |name: &str| lines.iter().filter_map(|line| line[name].as_u64()).sum();
    (sum("FailedSteps"), sum("UnmadePeriods"))
}

/// The other periods go on, a metric tells of it, nothing is lost, and all is caught up once it is over.
#[tokio::test(start_paused = true)]
async fn tables_that_cannot_be_made_or_dropped_hold_up_nothing_else() {
    for fault in [Fault::LimitExceeded, Fault::InUse] {
        let strike = Strike::on(changes_a_table);
        let world = keeping(World::behind(|inside| strike.before(inside)));
        ticks(&world.keeper).await;
        let recorded = record(&world, 0..40);
        bring(&world, &recorded);
        strike.set(Some(fault));
        let (failed, _) = ticks_of_hours(&world, SEALED).await;
        assert_eq!(state(&world), PeriodState::Verified, "what needs no table goes on");
        // That a table is in use is no failure: somebody is about to make it.
        assert_eq!(failed, if fault == Fault::LimitExceeded { 5 } else { 0 });
        check_archive(&world, &recorded);
        ticks_of_hours(&world, DROPPED).await;
        let dropping = row(&world);
        assert!(dropping.state == PeriodState::Verified && dropping.dropping, "{dropping:?}");
        assert_eq!(in_table(&world).unwrap(), recorded);
        let (_, unmade) = ticks_of_hours(&world, UNMADE).await;
        assert_eq!(unmade, 5, "{fault:?}");
        strike.set(None);
        assert_eq!(ticks(&world.keeper).await.failed, 0);
        assert_eq!(state(&world), PeriodState::Dropped, "{fault:?}");
        check_nothing_is_lost(&world, &recorded);
        let next = world.keeper.periods.newest_until(|_| false).await.unwrap();
        let next = next.iter().find(|row| row.period.to_string() == "2027-01").unwrap();
        assert_eq!(next.state, PeriodState::Made, "{fault:?}");
    }
}

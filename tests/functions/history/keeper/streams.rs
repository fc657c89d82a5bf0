//! Streams are mapped to the projector, compared with the archive, and unmapped; a table goes only with three equal witnesses.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use nagare_local::faults::Fault;
use nagare_local::{lambda, stream_source};
use serde_json::Value;
use shared::history::events::{PeriodRow, PeriodState};
use tests::{World, soon};

use super::striking::Strike;
use super::{
    DROPPED, EXPIRED, SEALED, WITHIN, bring, in_table, keeping, lived_until, mapped, record, row,
    state, table, ticks,
};

/// Folds what the streams have that are mapped.
async fn fold(world: &World) {
    for table in world.engine.streams_left().unwrap() {
        for records in world.engine.stream_of(&table, 0, usize::MAX).unwrap().chunks(20) {
            let batch = stream_source::event_of(&table, "shard", records).unwrap();
            let answer = world.fold(batch, soon()).await.unwrap();
            assert_eq!(answer.batch_item_failures, []);
        }
    }
}

/// A period that took events, which nobody has folded, and is at an instant.
async fn unfolded(world: &World, at: &str) {
    ticks(&world.keeper).await;
    record(world, 0..30);
    for instant in [SEALED, DROPPED] {
        if instant <= at {
            world.set_clock(instant);
            ticks(&world.keeper).await;
        }
    }
}

#[tokio::test]
async fn a_stream_is_mapped_with_its_table_and_unmapped_when_it_is_folded() {
    let world = keeping(World::new());
    ticks(&world.keeper).await;
    assert_eq!((mapped(&world), row(&world).folded), (vec![table()], false));
    let request = world.engine.mappings().unwrap().remove(0).request;
    let request: Value = serde_json::from_str(&request).unwrap();
    assert_eq!(request["FunctionName"], "history-projector");
    assert_eq!(request["StartingPosition"], "TRIM_HORIZON");
    record(&world, 0..30);
    world.set_clock(SEALED);
    ticks(&world.keeper).await;
    ticks(&world.keeper).await;
    assert_eq!(mapped(&world), [table()], "not all is folded");
    fold(&world).await;
    ticks(&world.keeper).await;
    let row = row(&world);
    assert_eq!((row.state, row.folded), (PeriodState::Verified, true));
    assert_eq!(mapped(&world), [""; 0]);
    world.set_clock(DROPPED);
    ticks(&world.keeper).await;
    assert_eq!(state(&world), PeriodState::Dropped);
}

#[tokio::test]
async fn a_stream_that_brought_less_is_a_dispute_until_it_has_brought_the_rest() {
    let world = keeping(World::new());
    unfolded(&world, DROPPED).await;
    for _ in 0..2 {
        let disputed = row(&world);
        assert_eq!((disputed.state, disputed.heals), (PeriodState::Disputed, true));
        let why = disputed.dispute.unwrap();
        assert!(why.starts_with("the archive has 30 events with the sum "), "{why}");
        assert!(why.contains(", and the stream has brought 0 with "), "{why}");
        assert_eq!(in_table(&world).unwrap().len(), 30);
        world.set_clock(EXPIRED);
        ticks(&world.keeper).await;
    }
    // As a replay, or dead letters that were sent again.
    fold(&world).await;
    ticks(&world.keeper).await;
    let row = row(&world);
    assert!(row.state == PeriodState::Dropped && row.dispute.is_none() && !row.heals);
    assert_eq!((in_table(&world), mapped(&world)), (None, Vec::new()));
}

/// As many events, and another among them.
#[tokio::test]
async fn a_stream_that_brought_others_is_a_dispute() {
    let world = keeping(World::new());
    let mut lines = lived_until(&world, WITHIN).await;
    let last = lines.pop_last().unwrap();
    lines.insert(last.replace("login", "logon"));
    bring(&world, &lines);
    for at in [SEALED, DROPPED] {
        world.set_clock(at);
        ticks(&world.keeper).await;
    }
    assert_eq!(state(&world), PeriodState::Disputed);
    assert_eq!(in_table(&world).unwrap().len(), 60);
}

/// What the stream has brought ends no other dispute.
#[tokio::test]
async fn other_disputes_do_not_heal() {
    let world = keeping(World::new());
    let lines = lived_until(&world, WITHIN).await;
    world.set_clock(SEALED);
    ticks(&world.keeper).await;
    let disputed = row(&world);
    let (state, dispute) = (PeriodState::Disputed, Some("seen by somebody".to_owned()));
    let disputed = PeriodRow { state, dispute, ..disputed };
    assert!(world.keeper.periods.replace(&disputed).await.unwrap());
    bring(&world, &lines);
    world.set_clock(DROPPED);
    ticks(&world.keeper).await;
    assert_eq!(row(&world).state, PeriodState::Disputed);
}

/// A keeper that stood still has made a mapping that another had deleted.
#[tokio::test]
async fn no_mapping_outlives_its_table() {
    let world = keeping(World::new());
    lived_until(&world, SEALED).await;
    let mapping = world.engine.mappings().unwrap().into_iter().find(|it| it.table == table());
    ticks(&world.keeper).await;
    assert_eq!((mapped(&world), row(&world).folded), (Vec::new(), true));
    assert!(world.engine.add_mapping(&mapping.unwrap()).unwrap());
    world.set_clock(DROPPED);
    ticks(&world.keeper).await;
    assert_eq!((state(&world), mapped(&world)), (PeriodState::Dropped, Vec::new()));
}

/// What may befall all calls of Lambda.
fn of_lambda() -> Strike {
    Strike::on(|request| request.uri().starts_with(lambda::ENDPOINT))
}

/// No event is taken where Lambda maps no stream; and once it does, each stream has one mapping.
#[tokio::test(start_paused = true)]
async fn no_table_is_made_without_its_mapping() {
    for fault in [
        Fault::Denied,
        Fault::Throttled,
        Fault::ServerError,
        Fault::LostAnswer,
        Fault::CutAnswer,
        Fault::TableMissing,
    ] {
        let strike = of_lambda();
        let world = keeping(World::behind(|inside| strike.before(inside)));
        strike.set(Some(fault));
        let ticked = world.keeper.tick(soon()).await.unwrap();
        // Where half of an answer comes, its status says what happened.
        let (is_said, expected) = match fault {
            Fault::CutAnswer => (false, PeriodState::Current),
            _ => (true, PeriodState::Planned),
        };
        assert_eq!((ticked.more_due, state(&world)), (is_said, expected), "{fault:?}");
        strike.set(None);
        ticks(&world.keeper).await;
        assert_eq!((state(&world), mapped(&world)), (PeriodState::Current, vec![table()]));
    }
}

/// What is asked is signed for Lambda.
#[tokio::test]
async fn calls_of_lambda_are_signed() {
    #[derive(Debug)]
    struct Seeing(SharedHttpConnector, Arc<Mutex<Vec<String>>>);
    impl HttpConnector for Seeing {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            if request.uri().starts_with(lambda::ENDPOINT) {
                let signed = request.headers().get("authorization").unwrap_or_default();
                self.1.lock().unwrap().push(format!("{} {signed}", request.method()));
            }
            self.0.call(request)
        }
    }
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let by = Arc::clone(&seen);
    let world = keeping(World::behind(|inside| SharedHttpConnector::new(Seeing(inside, by))));
    lived_until(&world, DROPPED).await;
    let seen = seen.lock().unwrap();
    for method in ["POST", "GET", "DELETE"] {
        assert!(seen.iter().any(|call| call.starts_with(method)), "{method}");
    }
    assert!(
        seen.iter().all(|call| call.contains("/us-east-1/lambda/aws4_request, SignedHeaders="))
    );
}

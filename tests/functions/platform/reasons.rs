//! The reasons of dead letters: the alerter knows each that the functions give, and the runbook says what to do.

use std::collections::BTreeSet;

use fanout_writer::Failure;
use shared::history::events::PeriodLength;
use shared::history::tenants::TooManyDefinitions;
use shared::platform::dead_letters::{
    REASONS, RECEIVES_EXHAUSTED, STREAM_BATCH, UNFOLDABLE, known_reason,
};
use shared::platform::dynamo::DynamoError;
use shared::platform::message::CommandError;
use shared::platform::outbound::BusError;
use shared::platform::queue::SendError;
use shared::platform::runtime::deadline::DeadlineExceeded;
use shared::platform::values::{RefusalReason, Timestamp};

#[test]
fn every_reason_is_known_and_in_the_runbook() {
    let text = String::new;
    let (at, period) = (Timestamp::FIRST, PeriodLength::Day.period_of(Timestamp::FIRST));
    let event_id = || "e1".parse().unwrap();
    let failures = [
        CommandError::NotAnObject(text()).into(),
        CommandError::unknown_type("x", text()).into(),
        CommandError::Missing("type").into(),
        Failure::Conflict("live-1".parse().unwrap()),
        Failure::Full {
            viewer_id: "bob".parse().unwrap(),
            poll_id: "mvp".parse().unwrap(),
            most: 7,
        },
        TooManyDefinitions.into(),
        Failure::EventTooLate { event_id: event_id(), at, period, until: at },
        Failure::EventConflict { event_id: event_id(), at },
        Failure::HistoryOff,
        Failure::NotMade(period),
        DynamoError::Throttled.into(),
        DynamoError::Contended.into(),
        DynamoError::Unavailable(text()).into(),
        DynamoError::TableMissing(text()).into(),
        DynamoError::Denied(text()).into(),
        DynamoError::Rejected { code: text(), message: text() }.into(),
        DynamoError::Corrupt { location: text(), expected: "" }.into(),
        DynamoError::from(DeadlineExceeded).into(),
        Failure::Queue(DeadlineExceeded.into()),
        Failure::Queue(SendError::Throttled),
        Failure::Queue(SendError::Missing),
        Failure::Queue(SendError::Refused { code: text(), message: text() }),
        Failure::Bus(BusError::Throttled),
        Failure::Bus(BusError::Missing),
        Failure::Bus(BusError::Denied(text())),
    ];
    // What a producer, a person or a tenant is the reason of pages nobody, and is bounded.
    for failure in &failures {
        let is_refusal = failure.is_permanent() && !failure.is_refusal();
        assert_eq!(RefusalReason::parse(failure.reason()).is_some(), is_refusal, "{failure}");
    }
    let mut reasons: BTreeSet<_> = failures.iter().map(Failure::reason).collect();
    reasons.extend([RECEIVES_EXHAUSTED, UNFOLDABLE, STREAM_BATCH]);
    reasons.insert(RefusalReason::TOO_MANY_NAMES.as_str());
    assert_eq!(reasons, BTreeSet::from(REASONS));
    let runbook = include_str!("../../../docs/OPERATIONS.md");
    for reason in REASONS {
        assert_eq!(known_reason(reason), reason);
        assert!(runbook.contains(&format!("`{reason}`")), "{reason}");
    }
    assert_eq!(known_reason("somebody's words"), "other");
}

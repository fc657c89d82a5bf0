//! The variables that the function reads.

shared::variables!(
    ARCHIVE_BUCKET,
    EVENT_BUS_NAME,
    EVENT_CAPACITY,
    EVENT_SETTINGS,
    EVENTS_TABLE_PREFIX,
    LEDGER_TABLE,
    QUEUE_ARN,
    STREAM_MAPPING,
    VIEWS_TABLE,
);

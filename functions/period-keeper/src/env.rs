//! The variables that the function reads.

shared::variables!(
    ARCHIVE_BUCKET,
    EVENT_BUS_NAME,
    EVENT_SETTINGS,
    EVENTS_TABLE_PREFIX,
    LEDGER_TABLE,
    STREAM_MAPPING,
    VIEWS_TABLE,
);

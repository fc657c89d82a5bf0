//! The variables that the function reads.

shared::variables!(
    ARCHIVE_BUCKET,
    AUTHORIZATION,
    CLAIMS,
    CURSOR_SECRETS,
    EVENT_SETTINGS,
    EVENTS_TABLE_PREFIX,
    LEDGER_TABLE,
    LOG_ONE_IN,
    VIEWS_TABLE,
);

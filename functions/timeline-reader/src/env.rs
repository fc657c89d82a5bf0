//! The variables that the function reads.

shared::variables!(
    AUTHORIZATION,
    CLAIMS,
    CURSOR_SECRETS,
    FACTS_TABLE,
    IDLE_DAYS,
    LEDGER_TABLE,
    LOG_ONE_IN,
    PUBLIC_CACHE_SECONDS,
    RETENTION_DAYS,
    TIMELINES_TABLE,
    VIEWS_TABLE,
);

//! The variables that the function reads.

shared::variables!(
    AUTHORIZATION,
    CLAIMS,
    EVENT_LATENESS_DAYS,
    EVENT_PERIOD,
    LOG_ONE_IN,
    QUEUE_URL,
    TENANT_EVENTS_PER_SECOND,
);

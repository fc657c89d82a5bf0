//! The variables that the function reads.

shared::variables!(
    DEAD_LETTER_QUEUE_URL,
    EVENT_BUS_NAME,
    EVENTS_TABLE_PREFIX,
    FACTS_TABLE,
    INTERNAL_SECRETS,
    LEDGER_TABLE,
    ONLY_SHARD,
    VIEWS_TABLE,
);

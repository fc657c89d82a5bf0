//! The variables that the function reads.

shared::variables!(
    DEAD_LETTER_QUEUE_URL,
    EVENT_BUS_NAME,
    FACTS_TABLE,
    INTERNAL_SECRETS,
    ONLY_SHARD,
    READ_NOTIFICATION_DAYS,
    VIEWS_TABLE,
);

//! The variables that the function reads.

shared::variables!(AUTHORIZATION, LOG_ONE_IN, QUEUE_URL, TENANT_CLAIM, TENANT_EVENTS_PER_SECOND);

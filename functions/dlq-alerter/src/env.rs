//! The variables that the function reads.

shared::variables!(DEAD_LETTERS_TABLE, INTERNAL_SECRETS, QUEUE_ARN);

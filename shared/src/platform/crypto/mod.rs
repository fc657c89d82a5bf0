//! Seals, digests and hexadecimal digits.

pub mod hash;
pub mod seal;

//! Tests of the whole. Each test binary is a folder beside this one.

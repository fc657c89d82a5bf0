//! Erasures beside everything else, with slow calls: nothing that was stated before is left, and
//! everything that is stated afterwards counts.

mod customers;
mod people;

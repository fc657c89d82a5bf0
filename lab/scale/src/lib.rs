//! Nagare at a scale that nobody tries on a developer's machine, over a model of DynamoDB.
//!
//! ```text
//! scenarios      what is tried; docs/SCALE.md has the results
//!   setup, stage how Nagare is deployed, and a deployment to play on
//!   fan_out      publishes and deletes     } loads: each says, tick by tick, what it wants of the tables,
//!     writers    invocations and the queue }   and receives what was served
//!   reading      pages                     }
//!   following    follows                   }
//!   one_timeline backfills and purges      }
//!     product    what each of these asks for, by the real key codec and the real constants
//!   world        three tables, and the ticks
//!     table      partitions, and what a table admits as a whole
//!       partition  1,000 writes and 3,000 reads a second, and where it is split when it is hot
//!       growth     twice the former peak
//!       bucket     units a second
//!       space      where keys lie
//!   collection   what is asked of a table
//!   usage, delays, report   what is counted, and how it is printed
//! ```
//!
//! It is a fluid: what is wanted and served in a tick of a tenth of a second are amounts of units, not
//! calls. A fan-out to 50 million followers is a few segments that move through their ranges of hashes,
//! so memory does not grow with the size of what is simulated.

pub mod bucket;
pub mod collection;
pub mod delays;
pub mod fan_out;
pub mod following;
pub mod growth;
pub mod one_timeline;
pub mod partition;
pub mod product;
pub mod reading;
pub mod report;
pub mod scenarios;
pub mod setup;
pub mod space;
mod stage;
pub mod table;
pub mod usage;
pub mod world;
pub mod writers;

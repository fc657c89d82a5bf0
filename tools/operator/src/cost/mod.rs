//! The bill of a month on AWS, before anything is deployed: counts, times measured units, times prices.
//!
//! ```text
//! units.csv  the consumption of each command, fold and page, as a test measures it
//! consumed   the rows of that table
//! counts     the commands and pages of a month, from a graph and its posts or from daily numbers
//! prices     what AWS charges
//! month      the requests of a month, each with its row
//! bill       the lines and their sum
//! ```

pub mod bill;
pub mod consumed;
pub mod counts;
pub mod month;
pub mod prices;

/// Days of a month.
pub const DAYS: f64 = 30.0;

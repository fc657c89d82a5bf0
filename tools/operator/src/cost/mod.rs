//! What the service costs on AWS, before it is deployed.
//!
//! ```text
//! work    what one publish, one follow and one page need of the tables, the queue and the functions
//! likes   what one like needs, and one undo
//! polls_battles what one vote needs, and one hit
//! rooms   what one message in a room needs
//! events  what events of tenants need, and their archives
//! answers how many bytes a viewer is sent
//! sizes   how many bytes the items of the tables have, by DynamoDB's rules
//! month   a month of them: of a graph and its posts, or of daily numbers
//! prices  what AWS charges for each
//! bill    the lines and their sum
//! ```
//!
//! `work` follows the code of the functions call by call. `tests/functions/platform/units/mod.rs` compares it with the
//! units that the tables report for the same commands; whoever changes what a command calls changes
//! `work` with it.

pub mod answers;
pub mod bill;
pub mod events;
pub mod likes;
pub mod month;
pub mod polls_battles;
pub mod prices;
pub mod rooms;
mod sizes;
pub mod work;

pub use sizes::{Activity, Edge, Hit, Message};

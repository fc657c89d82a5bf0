//! The web console: a stack as one sees it flow. `nagare up` serves it at `/console/` on the API's port,
//! `nagare console` for the stack that the environment names.
//!
//! # How a view works
//!
//! HTML is made here, on the server; the one script is htmx, which asks for a region of a page again and puts it in the
//! place of the old one. Every view is one address with its parameters in the query, so that it can be sent to
//! somebody else, and works without the script as well, but for the moving. What a view cannot show says so in the
//! place where it would be, and the rest of the page stands.
//!
//! A console knows the stack as every other client does, by its tables, queues and permissions. So it costs the stack
//! what a client costs, and nothing while no page is open.
//!
//! # Who may do what
//!
//! It listens on loopback alone, and lends the credentials of whoever started it. So it answers nobody who has not the
//! secret of this run (`access.rs`), however they reach the port: another account of this machine is 401 everywhere. A page
//! elsewhere cannot read it, since no answer allows another origin, and cannot send it forms: `Host` has to be loopback,
//! `Origin`, where there is one, has to be the console itself, `Sec-Fetch-Site` says so, and each form that changes or
//! costs something carries a token of this process. A console of a real account can only look, unless `--write` is given,
//! and asks before each change with the account's number to be typed.

mod access;
mod account;
mod address;
mod assets;
mod audit;
mod commands;
mod console;
mod cost;
mod depth;
mod fields;
mod guard;
mod history;
mod home;
mod inside;
mod layout;
mod letters;
mod live;
mod looking;
mod named;
mod numbers;
mod payload;
mod prelude;
mod reads;
mod router;
mod sent;
mod social;
mod suggested;
mod suggestions;
mod tables;
#[cfg(test)]
mod tests;

pub use access::Access;
pub use account::Account;
pub use address::{PATH, URL};
pub use console::{Console, Mode};

//! Pages of activities, each as it was at one moment.
//!
//! ```text
//! consistent pages of activities, each as it was at one moment
//! rows      what a list of activities consists of
//! doubt     what may have changed while a page was read
//! likes     how many like what is on it
//! answer    a page of activities as JSON, with its cursors
//! ```
//!
//! What all lists in the order of time have in common is in [`function_http::page`].
//!
//! # One page, one moment
//!
//! The rows of a page are those of one moment. A row that is in the list throughout is on the walk once.
//!
//! | list | protocol |
//! |---|---|
//! | timeline, actor's activities, tagged | *checked*: rows, hidden actors and records are read until they are of one moment ([`consistent`]) |
//! | likes | *one query, then by key*: the row of a like says which of its entries was in force at the query |
//! | notifications | *by version*: the inbox has the same version before its rows are read and with the views of their activities; after three attempts, what was read meanwhile is added |
//! | following, followers | *one query*: a row says all. If too few are in force, a longer query reads from the same start |
//! | tags of an activity | *one query*, between two looks at the activity |
//! | messages | *a bound*: messages that arrived after the last arrival at the start are left out |
//!
//! The contents that a list only refers to (profiles, and the activities of likes) are read after its rows, each as it is then.

mod answer;
mod consistent;
mod doubt;
mod likes;
mod rows;

pub(crate) use answer::{Head, answer};
pub(crate) use consistent::ConsistentPageReader;
pub(crate) use likes::AskedLikes;
pub(crate) use rows::{Rows, Target};

pub(crate) use function_http::page::{Kinds, Paging, Request, parameters};

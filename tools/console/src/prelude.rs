//! What every view names.

pub(crate) use std::sync::Arc;

pub(crate) use axum::extract::State;
pub(crate) use axum::response::{IntoResponse, Redirect, Response};
pub(crate) use http::StatusCode;
pub(crate) use maud::{Markup, html};
pub(crate) use nagare_client::failure::Failure;
pub(crate) use serde_json::Value;

pub(crate) use super::fields::{Fields, Posted, Wanted};
pub(crate) use super::layout::{self, Page, Place, items, number, text};
pub(crate) use super::looking::LooksAs;
pub(crate) use super::{Console, Mode, PATH, cost, named, payload};

/// The console that a request is to.
pub(crate) type Here = State<Arc<Console>>;

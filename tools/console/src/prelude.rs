//! What every view names.

pub(crate) use std::sync::Arc;

pub(crate) use axum::extract::State;
pub(crate) use axum::response::{IntoResponse, Redirect, Response};
pub(crate) use http::StatusCode;
pub(crate) use maud::{Markup, html};
pub(crate) use nagare_client::failure::Failure;
pub(crate) use serde_json::Value;

pub(crate) use crate::address::PATH;
pub(crate) use crate::console::{Console, Mode};
pub(crate) use crate::fields::{Fields, Posted, Wanted};
pub(crate) use crate::layout::{self, Page, Place, items, number, text};
pub(crate) use crate::looking::LooksAs;
pub(crate) use crate::{cost, named, payload};

/// The console that a request is to.
pub(crate) type Here = State<Arc<Console>>;

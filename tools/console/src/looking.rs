//! Whom somebody looks as: forms are filled in for that person, and the header counts what they have not read.
//!
//! It is a cookie of the browser and says nothing about who may look: whoever is let in may look as anybody.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use shared::platform::values::ViewerId;

use crate::access::cookies;
use crate::address::PATH;
use crate::console::Console;
use crate::{layout, named};

const NAME: &str = "nagare-looks-as";

/// Whom this browser looks as, if it is anybody.
#[derive(Debug, Clone)]
pub(super) struct LooksAs(pub(super) Option<String>);

impl<S: Sync> FromRequestParts<S> for LooksAs {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let value = cookies(&parts.headers, NAME).next();
        let value = value.and_then(|value| percent_decode_str(value).decode_utf8().ok());
        Ok(Self(value.and_then(|id| ViewerId::new(id).ok()).map(|id| id.to_string())))
    }
}

/// What makes a browser look as somebody, or as nobody.
pub(super) fn cookie(id: Option<&str>) -> String {
    let value = utf8_percent_encode(id.unwrap_or_default(), NON_ALPHANUMERIC);
    let ends = if id.is_none() { "; Max-Age=0" } else { "" };
    format!("{NAME}={value}; Path=/console; HttpOnly; SameSite=Strict{ends}")
}

/// What is in its place in the header (`layout::page`).
pub(super) fn bell(id: Option<&str>, unread: Option<u64>) -> Markup {
    let Some(id) = id else {
        return html! { div #bell { a href={ (PATH) "people" } { "Look as…" } } };
    };
    let unread = unread.unwrap_or(0);
    let address = named::path("person", &[("id", id), ("show", "notifications")]);
    html! {
        div #bell hx-get={ (PATH) "bell" } hx-trigger="load delay:5s" hx-swap="outerHTML" {
            (named::person(id)) " "
            a class="bell" href=(address) aria-label=(layout::counted(unread, "unread notification", "unread notifications")) {
                span aria-hidden="true" { "♥ " (unread) }
            }
        }
    }
}

/// Offers to look as somebody, or to look as them no longer.
pub(super) fn offer(console: &Console, id: &str, looks: Option<&str>) -> Markup {
    html! {
        form method="post" action={ (PATH) "look-as" } class="row" aria-label="Look as" {
            (layout::token(console))
            @if looks == Some(id) { button type="submit" class="second" { "Look as nobody" } }
            @else {
                input type="hidden" name="id" value=(id);
                button type="submit" class="second" { "Look as " (id) }
                span class="quiet" { "Forms are then filled in for them, and the header counts what they have not read." }
            }
        }
    }
}

//! What a console sees that is in the process of the stack itself: what its functions say, what was counted, and what goes
//! wrong on purpose. A console of any other stack says in their place where to look.
//!
//! ```text
//! log     lines, newest first, as filtered by the address; what became of one message
//! plots   the numbers of the last hour, and what they cost
//! faults  a form with everything that can go wrong
//! ```

mod faults;
mod log;
mod plots;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::{Markup, html};

use super::journal::Journal;
use super::layout::{self, Place};
use super::numbers::Numbers;
use super::{Console, PATH};
use crate::faults::FaultsHandle;

/// What is known of a stack in this process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Inside {
    /// What the functions say.
    pub journal: Journal,
    /// What was counted.
    pub numbers: Numbers,
    /// What goes wrong on purpose. It may change while the stack runs.
    pub faults: FaultsHandle,
}

pub(super) fn routes() -> Router<Arc<Console>> {
    Router::new().merge(log::routes()).merge(plots::routes()).merge(faults::routes())
}

impl Console {
    /// A view of the inside, or what to do instead where it is another process's.
    fn inside_view(
        &self,
        place: Place,
        title: &str,
        instead: &Markup,
        view: impl FnOnce(&Inside) -> Markup,
    ) -> Response {
        let content = match &self.inside {
            Some(inside) => view(inside),
            None => absent(self, instead),
        };
        layout::page(self, place, title, content).into_response()
    }
}

/// What is said where there is no inside.
fn absent(console: &Console, instead: &Markup) -> Markup {
    html! {
        p role="status" class="problem" {
            "This console is not in the process of its stack, so it does not see this."
        }
        @match console.account {
            None => p { "The stack's own console does: open " code { (PATH) } " at the port of its API." },
            Some(_) => (instead),
        }
    }
}

/// Of a region where there is no inside.
fn gone() -> Response {
    StatusCode::NOT_FOUND.into_response()
}

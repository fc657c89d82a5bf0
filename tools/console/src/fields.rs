//! What a request says: the fields of its query, or of a form; and what has to be so before a form changes anything.
//!
//! A handler that changes something takes [`Posted`], which there is only if the console may write, the form carries
//! the token, and, on a real account, its number was typed to a question. One that only costs something, because it reads
//! much, takes [`Wanted`]: a form with the token. So no handler can forget to ask, and no link makes anybody pay.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::request::Parts;
use maud::html;

use crate::console::{Console, Mode};
use crate::layout::{self, Place, TOKEN};

/// The field in which a question is answered.
const CONFIRMED: &str = "confirmed";
/// What answers a question where no account is named.
const YES: &str = "yes";

/// Fields by name, in their order. What is empty is as if it were not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// As a query or a form has them.
    pub(super) fn parse(text: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(text);
        Self(pairs.into_owned().filter(|(_, value)| !value.trim().is_empty()).collect())
    }

    /// A field, without the blanks around it.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.trim())
    }

    /// Those with these names, and a limit in any case.
    pub(super) fn limited<'a>(
        &'a self,
        names: &'a [&'a str],
        limit: &'a str,
    ) -> Vec<(&'a str, &'a str)> {
        let limit = self.get("limit").unwrap_or(limit);
        self.given(names).into_iter().chain([("limit", limit)]).collect()
    }

    /// Those with these names, for a query.
    pub(super) fn given<'a>(&'a self, names: &'a [&'a str]) -> Vec<(&'a str, &'a str)> {
        names.iter().filter_map(|name| Some((*name, self.get(name)?))).collect()
    }
}

impl<S: Sync> FromRequestParts<S> for Fields {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::parse(parts.uri.query().unwrap_or_default().as_bytes()))
    }
}

/// A form with the token of this process, for what costs something and changes nothing.
pub(super) struct Wanted(pub(super) Fields);

impl FromRequest<Arc<Console>> for Wanted {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Arc<Console>) -> Result<Self, Response> {
        let body = console.forms.read(request.into_body()).await.map_err(|refusal| {
            let why = format!("{refusal} Nothing was changed.");
            refused(refusal.into_response().status(), "Not read", &why)
        })?;
        let fields = Fields::parse(&body.bytes);
        if fields.get(TOKEN) != Some(&console.token) {
            let why = "The form is from before this console was started. Go back, load the page again, and send it \
                       once more. Nothing was changed.";
            return Err(refused(StatusCode::FORBIDDEN, "Outdated form", why));
        }
        Ok(Self(fields))
    }
}

fn refused(status: StatusCode, title: &str, why: &str) -> Response {
    (status, layout::bare(title, why)).into_response()
}

pub(super) struct Posted {
    pub(super) fields: Fields,
    /// Where it was sent.
    path: String,
}

impl FromRequest<Arc<Console>> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Arc<Console>) -> Result<Self, Response> {
        let path = request.uri().path().to_owned();
        if console.mode == Mode::ReadOnly {
            let why = "This console only looks. `nagare console --write` starts one that may change the stack.";
            return Err(refused(StatusCode::FORBIDDEN, "Read-only", why));
        }
        let Wanted(fields) = Wanted::from_request(request, console).await?;
        let posted = Self { fields, path };
        match &console.account {
            None => Ok(posted),
            Some(account) => {
                posted.asked(console, &format!("This changes {account}."), Some(&account.id))
            }
        }
    }
}

impl Posted {
    /// The same, if a question was answered; otherwise a page with the question.
    pub(super) fn confirmed(self, console: &Console, question: &str) -> Result<Self, Response> {
        match console.account {
            // It was asked already.
            Some(_) => Ok(self),
            None => self.asked(console, question, None),
        }
    }

    fn asked(
        self,
        console: &Console,
        question: &str,
        account: Option<&str>,
    ) -> Result<Self, Response> {
        let answer = self.fields.get(CONFIRMED);
        if answer == Some(account.unwrap_or(YES)) {
            return Ok(self);
        }
        let kept = self.fields.0.iter().filter(|(name, _)| name != CONFIRMED && name != TOKEN);
        let kept: Vec<_> = kept.cloned().collect();
        let content = html! {
            form method="post" action=(self.path) class="card" {
                p { strong { (question) } }
                @if answer.is_some() { (layout::problem(&"That is not its number. Nothing was changed.")) }
                table {
                    caption { "What is sent" }
                    tbody {
                        @for (name, value) in kept.iter().filter(|(name, _)| name != "back") {
                            tr { th scope="row" { (name) } td class="code" { (value) } }
                        }
                    }
                }
                (layout::hidden(&kept))
                (layout::token(console))
                @match account {
                    None => input type="hidden" name=(CONFIRMED) value=(YES);,
                    Some(_) => {
                        label for="confirmed" { "Type the account's number to go on" }
                        input #confirmed name=(CONFIRMED) required autocomplete="off" inputmode="numeric" autofocus;
                    }
                }
                p class="row" {
                    button type="submit" class="danger" { "Confirm" }
                    a href="./" { "Cancel" }
                }
            }
        };
        Err(layout::page(console, Place::None, "Are you sure?", content).into_response())
    }
}

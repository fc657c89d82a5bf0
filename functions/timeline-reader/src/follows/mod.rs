//! Whom a viewer follows, and who follows an actor, each with their profile: two calls a page, one for the list and
//! one for the profiles.

pub(crate) mod followers;
pub(crate) mod following;

use std::collections::HashMap;
use std::fmt::Display;

use serde::Serialize;
use shared::follows::{ListPage, Listed};
use shared::profiles::Profiles;
use shared::values::{Packer, Payload, Timestamp, Unpacker, ViewerId};

use crate::Context;
use crate::http::list;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{DEFAULT_LIMIT, limit};

#[derive(Serialize)]
struct Item<'a> {
    viewer_id: &'a ViewerId,
    since: Timestamp,
    profile: Option<&'a Payload>,
}

/// Which page of a list is asked for.
struct Request {
    /// Beyond whom it begins.
    after: Option<ViewerId>,
    limit: usize,
}

/// Which list a cursor belongs to: its name, and its owner.
struct List<'a, W> {
    name: &'static str,
    whose: &'a W,
}

impl<W: Display> List<'_, W> {
    fn request(&self, cx: &Context<'_>) -> Result<Request, Problem> {
        let parameters = Parameters::of(cx.event, &["limit", "cursor"])?;
        let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
        let after = parameters
            .get("cursor")
            .map(|text| list::open(cx, self.name, self.whose, text, read))
            .transpose()?;
        Ok(Request { after, limit })
    }

    async fn answer(&self, cx: &Context<'_>, page: ListPage) -> Result<Answer, Problem> {
        let ListPage { listed, next } = page;
        let profiles = Profiles::new(&cx.reader.ledger);
        let ids = listed.iter().map(|Listed { viewer_id, .. }| viewer_id);
        let profiles = match listed.is_empty() {
            true => HashMap::new(),
            false => profiles.profiles(ids).await?,
        };
        let items = listed.iter().map(|Listed { viewer_id, since }| Item {
            viewer_id,
            since: *since,
            profile: profiles.get(viewer_id).map(|profile| &profile.payload),
        });
        let next_cursor = next.map(|last| self.seal(cx, &last));
        list::answer(items.collect(), next_cursor)
    }

    /// A cursor to go on beyond somebody.
    fn seal(&self, cx: &Context<'_>, last: &ViewerId) -> String {
        let mut packer = Packer::default();
        packer.text(last.as_str());
        cx.reader.seal.seal_in(self.name, self.whose, &packer.into_bytes())
    }
}

fn read(position: &[u8]) -> Option<ViewerId> {
    let mut unpacker = Unpacker::new(position);
    let last = ViewerId::new(unpacker.text()?).ok()?;
    unpacker.is_empty().then_some(last)
}

//! Whom a viewer follows, and who follows an actor, each with their profile: two calls a page, one for the list and
//! one for the profiles.

pub(crate) mod followers;
pub(crate) mod following;

use std::collections::HashMap;
use std::fmt::Display;

use serde::Serialize;
use shared::platform::values::{Packer, Payload, Timestamp, Unpacker, ViewerId};
use shared::social::follows::{ListPage, ListedPerson};
use shared::social::profiles::Profiles;

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::List;
use function_http::response::Answer;

#[derive(Serialize)]
struct FollowItem<'a> {
    viewer_id: &'a ViewerId,
    since: Timestamp,
    profile: Option<&'a Payload>,
}

/// The answer with a page of a list.
async fn answer<W: Display>(
    cx: &Context<'_>,
    list: &List<'_, W>,
    page: ListPage,
) -> Result<Answer, Problem> {
    let ListPage { listed, next } = page;
    let profiles = Profiles::new(&cx.reader.ledger);
    let ids = listed.iter().map(|ListedPerson { viewer_id, .. }| viewer_id);
    let profiles = match listed.is_empty() {
        true => HashMap::new(),
        false => profiles.profiles(ids).await?,
    };
    let items = listed.iter().map(|ListedPerson { viewer_id, since }| FollowItem {
        viewer_id,
        since: *since,
        profile: profiles.get(viewer_id).map(|profile| &profile.payload),
    });
    list.answer(items.collect(), next.as_ref().map(beyond))
}

/// The position beyond somebody.
fn beyond(last: &ViewerId) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.text(last.as_str());
    packer.into_bytes()
}

fn read(position: &[u8]) -> Option<ViewerId> {
    let mut unpacker = Unpacker::new(position);
    let last = ViewerId::new(unpacker.text()?).ok()?;
    unpacker.is_empty().then_some(last)
}

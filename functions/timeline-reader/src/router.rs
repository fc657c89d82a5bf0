//! The routes: which feature answers which path.

use function_http::reader::{Answering, RequestLine, Requests, Routes};
use function_http::{Route, routes};
use shared::platform::dynamo::Dynamo;
use shared::platform::ledger::Ledger;

use crate::battle::hit;
use crate::follows::{followers, following};
use crate::reader::{Context, Reader};
use crate::{
    activity, actor, battle, likes, log, notifications, poll, profile, room, tagged, tags, timeline,
};

routes! { Reader:
    "/v1/timelines/{viewer_id}" => timeline,
    "/v1/profiles/{viewer_id}" => profile,
    "/v1/activities/{activity_id}" => activity,
    "/v1/actors/{actor_id}/activities" => actor,
    "/v1/activities/{activity_id}/tags" => tags,
    "/v1/viewers/{viewer_id}/likes" => likes,
    "/v1/viewers/{viewer_id}/tagged" => tagged,
    "/v1/viewers/{viewer_id}/following" => following,
    "/v1/actors/{actor_id}/followers" => followers,
    "/v1/notifications/{viewer_id}" => notifications,
    "/v1/polls/{poll_id}" => poll,
    "/v1/battles/{battle_id}" => battle,
    "/v1/battles/{battle_id}/hits/{hit_id}" => hit,
    "/v1/rooms/{room_id}/messages" => room,
}

impl Routes for Reader {
    const ROUTES: &'static [&'static str] = ROUTES;

    fn requests(&self) -> &Requests {
        &self.requests
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    fn public_cache_seconds(&self) -> u8 {
        self.public_cache_seconds
    }

    fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            ledger: self.ledger.over(dynamo),
            facts: self.facts.over(dynamo),
            views: self.views.over(dynamo),
            timelines: self.timelines.over(dynamo),
            ..self.clone()
        }
    }

    fn answer<'a>(route: Route, cx: &'a Context<'a>) -> Answering<'a> {
        answer(route, cx)
    }

    fn log(line: &RequestLine<'_>) {
        log::log(line);
    }
}

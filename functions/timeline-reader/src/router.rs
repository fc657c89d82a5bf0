//! The routes: which feature answers which path.

use aws_lambda_events::event::apigw::ApiGatewayV2httpRequest;

use crate::Context;
use crate::battle::hit;
use crate::customers::one as customer;
use crate::follows::{followers, following};
use crate::http::path::{Path, Route};
use crate::http::problem::Problem;
use crate::http::response::Shareable;
use crate::names::one as name;
use crate::{
    activity, actor, alerts, archives, battle, customers, events, likes, names, notifications,
    poll, profile, refusals, room, tagged, tags, timeline,
};

macro_rules! routes {
    ($($template:literal => $feature:ident,)*) => {
        /// The paths of `GET` requests, with the names of their parameters in braces.
        pub const ROUTES: &[&str] = &[$($template,)*];

        /// Answers a request to one of the paths.
        pub(crate) async fn answer(route: Route, cx: &Context<'_>) -> Result<Shareable, Problem> {
            // Boxed, so that the largest future does not determine the size of all.
            $(
                if route == Route($template) {
                    return Box::pin($feature::get(cx)).await.map(Shareable::from);
                }
            )*
            Err(Problem::NotFound(ROUTES))
        }
    };
}

routes! {
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
    "/v1/tenants/{tenant_id}/customers/{customer_id}/events" => events,
    "/v1/tenants/{tenant_id}/archives" => archives,
    "/v1/tenants/{tenant_id}/customers" => customers,
    "/v1/tenants/{tenant_id}/customers/{customer_id}" => customer,
    "/v1/tenants/{tenant_id}/names" => names,
    "/v1/tenants/{tenant_id}/names/{name}" => name,
    "/v1/tenants/{tenant_id}/alerts" => alerts,
    "/v1/tenants/{tenant_id}/refusals" => refusals,
}

/// The path that an event asks for, if there is such a path.
pub(crate) fn matched(event: &ApiGatewayV2httpRequest) -> Option<(Route, Path<'_>)> {
    ROUTES.iter().find_map(|template| {
        let route = Route(template);
        Some((route, Path::of(event, route)?))
    })
}

//! The routes: which feature answers which path.

use function_http::routes;

use crate::battle::hit;
use crate::follows::{followers, following};
use crate::{
    Reader, activity, actor, battle, likes, notifications, poll, profile, room, tagged, tags,
    timeline,
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

//! Reads a poll. Every authenticated caller may read every poll; how somebody voted is shown to them alone.

use serde::Serialize;
use shared::platform::values::{ActorId, Choice, Payload, PollId, Timestamp};
use shared::social::polls::{Poll, PollDefinition, PollRules, Polls};

use crate::reader::Context;
use function_http::Problem;
use function_http::response::{Answer, Shareable};

#[derive(Serialize)]
struct PollBody<'a> {
    poll_id: &'a PollId,
    actor_id: &'a ActorId,
    payload: &'a Payload,
    opens_at: Timestamp,
    closes_at: Timestamp,
    state: PollPhase,
    choices: Vec<ChoiceVotes<'a>>,
    votes: u64,
    vote: Option<&'a Choice>,
}

#[derive(Serialize)]
struct ChoiceVotes<'a> {
    choice: &'a Choice,
    votes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum PollPhase {
    Upcoming,
    Open,
    Closed,
}

impl PollPhase {
    fn at(now: Timestamp, opens_at: Timestamp, end: Timestamp) -> Self {
        if now >= end {
            Self::Closed
        } else if now >= opens_at {
            Self::Open
        } else {
            Self::Upcoming
        }
    }
}

/// `GET /v1/polls/{poll_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Shareable, Problem> {
    let id = cx.path.parameter("poll_id", PollId::new)?;
    let viewer = cx.own_part();
    let polls = Polls::new(&cx.reader.facts, &cx.reader.views);
    let poll = polls.poll(&id, viewer, cx.now).await?;
    let Poll { definition, end, votes, vote } = poll.ok_or(Problem::NotFound(&[]))?;
    let PollDefinition { rules: PollRules { actor_id, choices, opens_at, .. }, payload } =
        &definition;
    let counted =
        choices.iter().zip(&votes).map(|(choice, votes)| ChoiceVotes { choice, votes: *votes });
    let body = PollBody {
        poll_id: &id,
        actor_id,
        payload,
        opens_at: *opens_at,
        closes_at: end,
        state: PollPhase::at(cx.now, *opens_at, end),
        choices: counted.collect(),
        votes: votes.iter().sum(),
        vote: vote.as_ref(),
    };
    let answer = Answer { body: serde_json::to_string(&body)?, items: 1 };
    Ok(Shareable { answer, is_public: viewer.is_none() })
}

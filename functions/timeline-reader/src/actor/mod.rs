//! A page of what an actor published: of any age, also of some kinds alone. Every authenticated caller may read every
//! activity.

use std::collections::BTreeSet;

use shared::activities::changes::Fingerprint;
use shared::activities::{Activities, Published};
use shared::dynamo::DynamoError;
use shared::paging::{List, MAX_FILTER_BYTES, Stretch};
use shared::runtime::deadline::Deadline;
use shared::values::{ActorId, Kind, Span, Timestamp};

use crate::Context;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{AskedLikes, Head, Moment, Paging, Request, Rows, Target, answer, parameters};

/// Kinds that may be asked for at once. Each is a list of its own.
const MOST_KINDS: usize = 10;

/// What an actor published.
struct Outbox<'a> {
    activities: Activities,
    actor: &'a ActorId,
    /// Of which kinds; of all, if there are none.
    kinds: BTreeSet<Kind>,
    deadline: Deadline,
}

impl Rows for Outbox<'_> {
    async fn rows(
        &self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Stretch<Target>, DynamoError> {
        let Self { activities, actor, kinds, deadline } = self;
        let rows = if kinds.is_empty() {
            activities.published_by(actor, span, after, limit, *deadline).await?
        } else {
            activities.published_of_kinds(actor, kinds, span, after, limit, *deadline).await?
        };
        let targets = rows.rows.into_iter().map(|key| (key, (*actor).clone()));
        Ok(Stretch { rows: targets.collect(), read: rows.read, next: rows.next })
    }

    fn lists(&self) -> usize {
        self.kinds.len().max(1)
    }

    fn leaving(&self) -> Option<Fingerprint> {
        (!self.kinds.is_empty()).then(|| Fingerprint::of_lists(self.actor))
    }

    fn shows(&self, published: &Published) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&published.kind)
    }
}

/// `GET /v1/actors/{actor_id}/activities`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let actor = cx.path.parameter("actor_id", ActorId::new)?;
    let parameters = parameters(cx.event, &["kind"])?;
    let list = List::about("activities", &actor);
    let filter = write(&kinds(&parameters)?)?;
    let request = Request::parse(cx, &parameters, &list, filter, &["kind"])?;
    let likes = AskedLikes::new(cx, &request);
    let timelines = cx.reader.timelines.over(cx.dynamo);
    let outbox = Outbox {
        activities: Activities::new(&cx.reader.ledger.over(cx.dynamo)),
        actor: &actor,
        kinds: read(&request.cursor.filter),
        deadline: cx.deadline,
    };
    let paging = Paging::new(cx, &list, &request, cx.now, Timestamp::FIRST);
    let page = Moment::new(cx, &outbox, &timelines, &likes, cx.now).page(&paging).await?;
    let head = Head::Actor { actor_id: &actor };
    answer(cx, &paging, &page, &likes.shown(), head).await
}

fn kinds(parameters: &Parameters<'_>) -> Result<BTreeSet<Kind>, Problem> {
    let kinds = parameters.all("kind").map(Kind::new).collect::<Result<_, _>>();
    kinds.map_err(|e| Problem::invalid("kind", e.to_string()))
}

/// The kinds as a cursor carries them. No kind contains a comma.
fn write(kinds: &BTreeSet<Kind>) -> Result<Vec<u8>, Problem> {
    let text = kinds.iter().map(Kind::as_str).collect::<Vec<_>>().join(",");
    if kinds.len() > MOST_KINDS || text.len() > MAX_FILTER_BYTES {
        let most = format!(
            "expected at most {MOST_KINDS} kinds, of {MAX_FILTER_BYTES} characters together with a comma between them"
        );
        return Err(Problem::invalid("kind", most));
    }
    Ok(text.into_bytes())
}

fn read(filter: &[u8]) -> BTreeSet<Kind> {
    let texts = filter.split(|byte| *byte == b',').map(String::from_utf8_lossy);
    texts.filter_map(|text| Kind::new(text).ok()).collect()
}

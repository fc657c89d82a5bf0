//! A page of what an actor published: of any age, also of some kinds alone. Every authenticated caller may read every
//! activity.

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{List, RowChunk, Slice};
use shared::platform::values::{ActorId, SortKey, Timestamp};
use shared::social::activities::changes::ActivityFingerprint;
use shared::social::activities::{Activities, Published};

use crate::page::{
    AskedLikes, ConsistentPageReader, Head, Kinds, Paging, Request, Rows, Target, answer,
    parameters,
};
use crate::reader::Context;
use function_http::Problem;
use function_http::response::Shareable;

/// What an actor published.
struct Outbox<'a> {
    activities: Activities,
    actor: &'a ActorId,
    kinds: Kinds,
}

impl Outbox<'_> {
    async fn of_all_kinds(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        let Self { activities, actor, .. } = self;
        let rows = activities.published_by(actor, slice);
        Ok(self.targets(rows.await?))
    }

    async fn of_its_kinds(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        let Self { activities, actor, kinds } = self;
        let rows = activities.published_of_kinds(actor, kinds.iter(), slice);
        Ok(self.targets(rows.await?))
    }

    fn targets(&self, rows: RowChunk<SortKey>) -> RowChunk<Target> {
        let targets = rows.rows.into_iter().map(|key| (key, self.actor.clone()));
        RowChunk { rows: targets.collect(), read: rows.read, next: rows.next }
    }
}

impl Rows for Outbox<'_> {
    async fn rows(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        match self.kinds.is_all() {
            true => self.of_all_kinds(slice).await,
            false => self.of_its_kinds(slice).await,
        }
    }

    /// Of several kinds those of all: a row may go from the list of one kind to that of another, and leaves the outbox
    /// never.
    async fn rows_of_one_list(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        match self.kinds.count() {
            1 => self.of_its_kinds(slice).await,
            _ => self.of_all_kinds(slice).await,
        }
    }

    fn may_have_moved(&self, changed: Option<&[ActivityFingerprint]>) -> bool {
        let left = ActivityFingerprint::of_lists(self.actor);
        self.kinds.count() > 1 && changed.is_none_or(|changed| changed.contains(&left))
    }

    fn shows(&self, published: &Published) -> bool {
        self.kinds.show(&published.kind)
    }
}

/// `GET /v1/actors/{actor_id}/activities`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Shareable, Problem> {
    let actor = cx.path.parameter("actor_id", ActorId::new)?;
    let parameters = parameters(cx.event, &[Kinds::PARAMETER])?;
    let list = List::about("activities", &actor);
    let filter = Kinds::parse(&parameters)?.write()?;
    let request = Request {
        own: cx.own_part().cloned(),
        ..Request::parse(cx, &parameters, &list, filter, &[Kinds::PARAMETER])?
    };
    let likes = AskedLikes::new(cx, &request);
    let timelines = &cx.reader.timelines;
    let outbox = Outbox {
        activities: Activities::new(&cx.reader.ledger),
        actor: &actor,
        kinds: Kinds::read(&request.cursor.filter),
    };
    let paging = Paging::new(cx, &list, &request, cx.now, Timestamp::FIRST);
    let page =
        ConsistentPageReader::new(cx, &outbox, timelines, &likes, cx.now).page(&paging).await?;
    let head = Head::Actor { actor_id: &actor };
    let answer = answer(cx, &paging, &page, &likes.shown(), head).await?;
    Ok(Shareable { answer, is_public: request.own.is_none() })
}

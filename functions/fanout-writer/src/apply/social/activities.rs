//! Publish, update and delete.

use shared::command::Command;
use shared::platform::dynamo::DynamoError;
use shared::platform::outbound::Happened;
use shared::social::activities::owner::Owner;
use shared::social::activities::{
    ActivityChange, ActivityKey, ActivityUpdate, Delete, Publish, Published,
};
use shared::social::fanout::{FanOut as Noted, FanOutKind};
use shared::social::follows::FollowerRange;

use super::tags::{self, ListingProgress};
use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;
use crate::fanout::{FanOut, turn};

/// Claims the id, records the activity, lists it in its actor's outbox, and only then reads the followers: a follow that comes
/// meanwhile finds it in the outbox. It is then listed for everybody who was tagged before; a later tag finds the claim.
/// An activity older than retention is recorded too, because pages of actors and of tagged people show any age, but it reaches
/// no timeline.
pub(crate) async fn publish(cx: &Context, publish: Publish) -> Result<Disposition, Failure> {
    let Some(merged) = cx.activities.publish(&publish).await? else {
        return Err(Failure::Conflict(publish.activity_id));
    };
    let (key, sort_key) = (publish.key(), publish.sort_key());
    let deleted = merged.now.deleted;
    cx.activities.list_in_outbox(&key.actor_id, &sort_key, deleted).await?;
    let was_published = merged.before.published.is_some();
    let noted_beyond = cx.noted_beyond(was_published);
    let (mut noted, mut has_listed_many) = (None, false);
    let kind = if deleted { FanOutKind::Remove } else { FanOutKind::Insert };
    let mut turn = turn(cx, &key, kind, FollowerRange::ALL).await;
    // Nothing is left to do for an activity that was deleted before it was published.
    if !deleted {
        // One after the other, like all of the above: fan-outs of one batch must not begin at the same moment.
        owned(cx, &key, false).await?;
        noted = noted_of(cx, &key, kind, was_published).await?;
        if !has_ended(noted.as_ref()) {
            match tags::list_all(cx, &key.actor_id, &sort_key, noted_beyond).await? {
                ListingProgress::All { many } => has_listed_many = many,
                ListingProgress::Stopped => return cx.hand_on(Command::Publish(publish)).await,
            }
        }
    }
    if !cx.retains(sort_key.published_at) {
        if has_listed_many {
            note_ended(cx, &key, 0).await?;
        }
        return Ok(Disposition::Expired);
    }
    // The delete removes what was written before. Only a delivery that wrote and died may have left something, and none
    // writes before the record says that the activity is published.
    match (deleted, was_published) {
        (true, false) => return Ok(Disposition::Suppressed),
        (true, true) if !cx.delivery.redelivered => return Ok(Disposition::Applied(None)),
        _ => {}
    }
    let disposition = match has_ended(noted.as_ref()) {
        true => Disposition::Applied(None),
        false => {
            FanOut::new(cx, key.clone(), sort_key, kind, noted_beyond)
                .run(noted, turn.as_mut())
                .await?
        }
    };
    if let Disposition::Applied(Some(end)) = &disposition
        && has_listed_many
    {
        note_ended(cx, &key, end.entries).await?;
    }
    // The segments continue by themselves. A large audience is not served yet, but its timelines are being written.
    if let Some(Published { at, kind, payload }) = merged.now.visible() {
        let ActivityKey { activity_id, actor_id } = key;
        cx.tell(Happened::ActivityPublished { activity_id, actor_id, kind, payload }, at).await?;
    }
    Ok(disposition)
}

/// Records the edit. Readers look the content up, so there is nothing to fan out. The edit of an
/// activity that is not published yet is kept for it.
pub(crate) async fn update(cx: &Context, update: ActivityUpdate) -> Result<Disposition, Failure> {
    let (key, change) = update.into();
    cx.activities.merge(&key, change).await?;
    Ok(Disposition::Applied(None))
}

/// Records the tombstone, which hides the activity from all readers at once, and then removes its entries.
pub(crate) async fn delete(cx: &Context, delete: Delete) -> Result<Disposition, Failure> {
    let (key, change): (ActivityKey, ActivityChange) = delete.into();
    let merged = cx.activities.merge(&key, change).await?;
    let Some(published) = merged.now.published else {
        return Ok(Disposition::Applied(None));
    };
    let sort_key = published.sort_key(&key);
    cx.activities.list_in_outbox(&key.actor_id, &sort_key, true).await?;
    owned(cx, &key, true).await?;
    if !cx.retains(sort_key.published_at) {
        return Ok(Disposition::Applied(None));
    }
    let was_deleted = merged.before.deleted;
    let mut turn = turn(cx, &key, FanOutKind::Remove, FollowerRange::ALL).await;
    let noted = noted_of(cx, &key, FanOutKind::Remove, was_deleted).await?;
    if has_ended(noted.as_ref()) {
        return Ok(Disposition::Applied(None));
    }
    let noted_beyond = cx.noted_beyond(was_deleted);
    FanOut::new(cx, key, sort_key, FanOutKind::Remove, noted_beyond).run(noted, turn.as_mut()).await
}

/// Reads the note of a repeated command's fan-out. It reads nothing if the record has changed, so a first command makes no
/// read for it; nothing after a delivery that may have died; and nothing for handed-on work, which has notes of its own.
async fn noted_of(
    cx: &Context,
    key: &ActivityKey,
    kind: FanOutKind,
    is_repeated: bool,
) -> Result<Option<Noted>, DynamoError> {
    match is_repeated && !cx.delivery.may_have_progress() {
        true => cx.fan_outs.noted(key, kind).await,
        false => Ok(None),
    }
}

fn has_ended(noted: Option<&Noted>) -> bool {
    noted.is_some_and(|noted| noted.ended_at.is_some())
}

/// Notes that a publish with many tags is complete.
async fn note_ended(cx: &Context, key: &ActivityKey, entries: u64) -> Result<(), DynamoError> {
    let now = cx.clock.now();
    cx.fan_outs.note_ended(key, FanOutKind::Insert, [now, now], entries).await
}

/// Records among the facts who published an activity, after its record says so. The projector, which folds its likes, relies
/// on that order.
async fn owned(cx: &Context, key: &ActivityKey, deleted: bool) -> Result<(), DynamoError> {
    let owner = Owner { actor_id: key.actor_id.clone(), deleted };
    owner.record(&cx.facts, &key.activity_id).await
}

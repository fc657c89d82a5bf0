//! Erases a viewer from hits: the damage stays, the name is removed.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::log::{self, HITS, Landed};
use super::{BattleRow, VIEWER};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::projection::Change;
use crate::platform::values::ViewerId;

/// Removes a name from hits that have landed. Returns false if it is not there.
pub(super) fn forget(hits: &mut [Landed], viewer: &ViewerId) -> bool {
    let mut is_there = false;
    for hit in hits.iter_mut().filter(|hit| hit.viewer_id.as_ref() == Some(viewer)) {
        hit.viewer_id = None;
        is_there = true;
    }
    is_there
}

/// Removes a name from a block of the log. Returns false if it is not there.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn forget_in_log(block: &mut Row<'_>, viewer: &ViewerId) -> Result<bool, DynamoError> {
    let mut hits = log::read(block)?;
    let is_there = forget(&mut hits, viewer);
    block.item.insert(HITS.to_owned(), AttributeValue::B(Blob::new(log::pack(&hits))));
    Ok(is_there)
}

/// Removes the name of a viewer from a change that waits for a battle.
pub fn without_name(mut change: Change, viewer: &ViewerId) -> Change {
    if let Some(BattleRow::Hit(..)) = BattleRow::of(&change.key) {
        for image in [&mut change.before, &mut change.after].into_iter().flatten() {
            let name = image.get(VIEWER).and_then(|name| name.as_s().ok());
            if name.is_some_and(|name| name == viewer.as_str()) {
                image.remove(VIEWER);
            }
        }
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::{BattleId, HitId, Timestamp};
    use crate::social::battles::{Hit, keys};

    fn hit(viewer: Option<&str>) -> Hit {
        Hit {
            hit_id: HitId::new("h").expect("an id"),
            viewer_id: viewer.map(|id| ViewerId::new(id).expect("an id")),
            damage: 7,
            at: Timestamp::from_unix_millis(0),
        }
    }

    #[test]
    fn what_was_done_stays_without_the_name() {
        let anna = ViewerId::new("anna").expect("an id");
        let landed = |viewer| Landed::from(&hit(viewer));
        let mut hits = [landed(Some("anna")), landed(Some("bob")), landed(None)];
        assert!(forget(&mut hits, &anna));
        assert_eq!(hits, [landed(None), landed(Some("bob")), landed(None)]);
        assert!(!forget(&mut hits, &anna));
        let change = |viewer| Change {
            key: keys::hit(&BattleId::new("b").expect("an id"), &hit(None).hit_id),
            before: None,
            after: Some(hit(viewer).write()),
            sequence: "1".parse().expect("a number"),
            at: Timestamp::from_unix_millis(0),
            redriven: None,
        };
        assert_eq!(without_name(change(Some("anna")), &anna), change(None));
        assert_eq!(without_name(change(Some("bob")), &anna), change(Some("bob")));
    }
}

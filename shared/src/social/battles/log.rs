//! The order in which hits have landed.

use super::Hit;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::values::{HitId, Packer, Unpacker, ViewerId};

/// The attribute of a block that has the hits.
pub(super) const HITS: &str = "hits";

/// A hit that has landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    pub hit_id: HitId,
    /// Who hit; `None` if erased.
    pub viewer_id: Option<ViewerId>,
    pub damage: u64,
}

impl From<&Hit> for Landed {
    fn from(Hit { hit_id, viewer_id, damage, .. }: &Hit) -> Self {
        Self { hit_id: hit_id.clone(), viewer_id: viewer_id.clone(), damage: *damage }
    }
}

/// As they are stored.
pub fn pack(hits: &[Landed]) -> Vec<u8> {
    let mut packer = Packer::default();
    for Landed { hit_id, viewer_id, damage } in hits {
        packer.text(hit_id.as_str());
        packer.text(viewer_id.as_ref().map_or("", ViewerId::as_str));
        packer.number(*damage);
    }
    packer.into_bytes()
}

/// Cuts hits into blocks, each of which ends with the hit that reaches a size in bytes.
pub(super) fn blocks(hits: &[Landed], size: usize) -> impl Iterator<Item = &[Landed]> {
    let mut packed = 0;
    hits.chunk_by(move |hit, _| {
        packed += weight(hit);
        if packed >= size {
            packed = 0;
        }
        packed > 0
    })
}

/// The most bytes that a hit takes.
fn weight(Landed { hit_id, viewer_id, .. }: &Landed) -> usize {
    let viewer = viewer_id.as_ref().map_or(0, |viewer| viewer.as_str().len());
    hit_id.as_str().len() + viewer + 14
}

/// What [`pack`] has written.
pub fn unpack(bytes: &[u8]) -> Option<Vec<Landed>> {
    let (mut unpacker, mut hits) = (Unpacker::new(bytes), Vec::new());
    while !unpacker.is_empty() {
        let hit_id = HitId::new(unpacker.text()?).ok()?;
        let viewer_id = match unpacker.text()? {
            "" => None,
            viewer => Some(ViewerId::new(viewer).ok()?),
        };
        hits.push(Landed { hit_id, viewer_id, damage: unpacker.number()? });
    }
    Some(hits)
}

/// The hits in a block of the log.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read(block: &Row<'_>) -> Result<Vec<Landed>, DynamoError> {
    Ok(block.packed(HITS, "hits that landed", unpack)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hits() -> impl Strategy<Value = Vec<Landed>> {
        let viewer = proptest::option::of("[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]");
        let hit = ("[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", viewer, any::<u64>());
        let hit = hit.prop_map(|(hit, viewer, damage)| Landed {
            hit_id: HitId::new(hit).expect("an id"),
            viewer_id: viewer.map(|viewer| ViewerId::new(viewer).expect("an id")),
            damage,
        });
        prop::collection::vec(hit, 0..20)
    }

    proptest! {
        #[test]
        fn a_log_survives_being_stored(hits in hits()) {
            prop_assert_eq!(unpack(&pack(&hits)), Some(hits));
        }

        #[test]
        fn blocks_are_of_all_hits_and_of_bounded_size(hits in hits(), size in 1_usize..2_000) {
            let cut: Vec<_> = blocks(&hits, size).collect();
            prop_assert_eq!(cut.concat(), hits.as_slice());
            for block in cut {
                let (_, rest) = block.split_last().expect("a hit");
                prop_assert!(pack(rest).len() < size);
            }
        }

        #[test]
        fn other_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = unpack(&bytes);
        }
    }
}

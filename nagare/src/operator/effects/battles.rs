//! Battles.

use shared::battles::{BattleHit, BattleOpened, Definition, Hit};
use shared::dynamo::DynamoError;
use shared::values::BattleId;

use super::{Effects, Standing, soon};

impl Effects {
    /// An opening: it is on record. Another one under the same id makes it a dead letter.
    pub(super) async fn battle_opened(
        &self,
        opened: &BattleOpened,
    ) -> Result<Standing, DynamoError> {
        let (battle, definition): (BattleId, Definition) = opened.clone().into();
        let there = self.battles.definition(&battle, soon()).await?;
        Ok(if there == Some(definition) { Standing::applied() } else { Standing::Pending })
    }

    /// A hit: it is on record. Whether it lands is decided later.
    pub(super) async fn hit(&self, hit: &BattleHit) -> Result<Standing, DynamoError> {
        let (battle, hit): (BattleId, Hit) = hit.clone().into();
        let there = self.battles.hit_state(&battle, &hit.hit_id, soon()).await?;
        let is_there = there.is_some_and(|(there, _)| there == hit);
        Ok(if is_there { Standing::applied() } else { Standing::Pending })
    }
}

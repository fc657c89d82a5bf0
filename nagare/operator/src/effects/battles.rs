//! Battles.

use shared::battles::{BattleHit, BattleOpened, Definition, Hit, HitState};
use shared::dynamo::DynamoError;
use shared::values::BattleId;

use super::{CommandStatus, Effects};

impl Effects {
    /// An opening: it is on record. Another one under the same id makes it a dead letter.
    pub(super) async fn battle_opened(
        &self,
        opened: &BattleOpened,
    ) -> Result<CommandStatus, DynamoError> {
        let (battle, definition): (BattleId, Definition) = opened.clone().into();
        let there = self.battles.definition(&battle).await?;
        Ok(if there == Some(definition) {
            CommandStatus::applied()
        } else {
            CommandStatus::Pending
        })
    }

    /// A hit: it is on record, and has landed or come too late, which is decided once. Without the battle it waits.
    pub(super) async fn hit(&self, hit: &BattleHit) -> Result<CommandStatus, DynamoError> {
        let (battle, hit): (BattleId, Hit) = hit.clone().into();
        let there = self.battles.hit_state(&battle, &hit.hit_id).await?;
        let Some((_, state)) = there.filter(|(there, _)| *there == hit) else {
            return Ok(CommandStatus::Pending);
        };
        Ok(match state {
            HitState::Landed => CommandStatus::applied(),
            HitState::Late => {
                CommandStatus::Overtaken("the boss was defeated before this hit".to_owned())
            }
            HitState::Pending => match self.battles.definition(&battle).await? {
                Some(_) => CommandStatus::Pending,
                None => CommandStatus::but("there is no such battle yet: the hit waits for it"),
            },
        })
    }
}

//! `nagare battle`: starts a battle with a boss, hits it, and shows its state.

use clap::{Args, Subcommand};
use nagare_client::clock;
use shared::command::Command;
use shared::platform::values::{ActorId, BattleId, HitId, Payload, Timestamp, ViewerId};
use shared::social::battles::{BattleHit, BattleOpened, MAX_DAMAGE, MAX_HP};
use uuid::Uuid;

use crate::Failure;
use crate::social::show::{self, Show};
use crate::submit::Submission;

#[derive(Debug, Subcommand)]
pub(crate) enum Battle {
    /// Start a battle with a boss. The battle's id belongs to the first that is opened under it.
    Open(OpenBattle),
    /// Hit the boss.
    Hit(Hit),
    /// Show how a battle stands.
    Show(ShowBattle),
}

#[derive(Debug, Args)]
pub(crate) struct OpenBattle {
    /// The battle's id.
    battle: BattleId,
    /// Who opens it.
    #[arg(long)]
    actor: ActorId,
    /// How much damage the boss withstands, 1 to 10^15.
    #[arg(long, value_name = "N", value_parser = hp)]
    hp: u64,
    /// When, as an RFC 3339 instant; now, if it is not given.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    /// What is kept with it, a JSON value of at most 4 KiB.
    #[arg(long, value_name = "JSON")]
    payload: Option<Payload>,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct Hit {
    /// The battle's id.
    battle: BattleId,
    /// Who hits.
    viewer: ViewerId,
    /// How hard, 1 to 10^9.
    #[arg(value_parser = damage)]
    damage: u64,
    /// The hit's id within its battle: the same one lands once, however often it is sent. One of its own, if it is
    /// not given.
    #[arg(long, value_name = "ID")]
    hit_id: Option<HitId>,
    /// When, as an RFC 3339 instant; now, if it is not given. It does not decide which hit lands first.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct ShowBattle {
    /// The battle's id.
    battle: BattleId,
    #[command(flatten)]
    show: Show,
}

impl Battle {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Open(open) => open.send().await,
            Self::Hit(hit) => hit.send().await,
            Self::Show(ShowBattle { battle, show }) => {
                show.run::<show::ShownBattle>(battle.as_str()).await
            }
        }
    }
}

impl OpenBattle {
    async fn send(self) -> Result<(), Failure> {
        let Self { battle: battle_id, actor: actor_id, hp, at, payload, submission } = self;
        let at = at.unwrap_or_else(|| clock::clock().now());
        let payload = payload.unwrap_or_default();
        let opened = BattleOpened { battle_id, actor_id, hp, at, payload };
        submission.send(Command::OpenBattle(opened)).await
    }
}

impl Hit {
    async fn send(self) -> Result<(), Failure> {
        let Self { battle: battle_id, viewer: viewer_id, damage, hit_id, at, submission } = self;
        let hit_id = match hit_id {
            Some(hit_id) => hit_id,
            None => HitId::new(Uuid::new_v4().to_string())?,
        };
        let at = at.unwrap_or_else(|| clock::clock().now());
        submission.send(Command::Hit(BattleHit { battle_id, hit_id, viewer_id, damage, at })).await
    }
}

fn hp(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_HP).contains(number));
    number.ok_or_else(|| format!("expected a whole number of hit points from 1 to {MAX_HP}"))
}

fn damage(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_DAMAGE).contains(number));
    number.ok_or_else(|| format!("expected a whole number from 1 to {MAX_DAMAGE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_bounds() {
        assert_eq!(hp("1000000000000000"), Ok(MAX_HP));
        assert_eq!(damage("1000000000"), Ok(MAX_DAMAGE));
        for text in ["0", "-1", "1.5", "1000000000000001", "ten", ""] {
            assert!(hp(text).is_err() && damage(text).is_err(), "{text}");
        }
        assert!(damage("1000000001").is_err());
    }
}

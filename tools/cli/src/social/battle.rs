//! `nagare battle`: starts a battle with a boss, hits it, and shows its state.

use clap::{Args, Subcommand};
use nagare_client::clock;
use shared::command::Command;
use shared::platform::values::{ActorId, BattleId, Payload, Timestamp};
use shared::social::battles::{BattleOpened, MAX_HP};

use crate::Failure;
use crate::social::show::{self, Show};
use crate::social::verb::{self, Verb};
use crate::submit::Submission;

#[derive(Debug, Subcommand)]
pub(crate) enum Battle {
    /// Start a battle with a boss. The battle's id belongs to the first that is opened under it.
    Open(OpenBattle),
    /// Hit the boss.
    Hit(Verb<verb::Hit>),
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

fn hp(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_HP).contains(number));
    number.ok_or_else(|| format!("expected a whole number of hit points from 1 to {MAX_HP}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_bounds() {
        assert_eq!(hp("1000000000000000"), Ok(MAX_HP));
        for text in ["0", "-1", "1.5", "1000000000000001", "ten", ""] {
            assert!(hp(text).is_err(), "{text}");
        }
    }
}

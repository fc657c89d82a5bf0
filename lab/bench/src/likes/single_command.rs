//! What single commands cost in each design.

use nagare::Failure;
use nagare_local::faults::Faults;

use super::super::NAGARE;
use super::super::stage::Stage;
use super::ours::{self, Pace};
use super::plan::LikesPlan;
use super::report::SingleCommand;
use super::transaction::{self, Design};

/// Of m3's and of the code that ships.
pub(super) async fn single_commands() -> Result<[SingleCommand; 2], Failure> {
    Ok([lone_m3().await?, lone_nagare().await?])
}

async fn lone_m3() -> Result<SingleCommand, Failure> {
    let (stage, design) = (Stage::new(&Faults::default())?, Design::in_four());
    let now = stage.clock.now();
    let (like, undo) = (LikesPlan::one(now)?, LikesPlan::undo(now)?);
    let mut units = Vec::new();
    for plan in [&like, &like, &undo] {
        stage.meter.reset();
        transaction::run(&stage, &design, plan, 1).await?;
        let measured = stage.meter.read();
        units.push(measured.all_units() + measured.refused_units);
    }
    Ok(SingleCommand { design: "m3", like: units[0], duplicate: units[1], undo: units[2] })
}

async fn lone_nagare() -> Result<SingleCommand, Failure> {
    let stage = Stage::new(&Faults::default())?;
    ours::publish(&stage).await?;
    let now = stage.clock.now();
    let (like, undo) = (LikesPlan::one(now)?, LikesPlan::undo(now)?);
    let mut units = Vec::new();
    for plan in [&like, &like, &undo] {
        stage.meter.reset();
        ours::run(&stage, plan, 1, Pace::Storm).await?;
        let measured = stage.meter.read();
        units.push(measured.all_units() + measured.refused_units);
    }
    Ok(SingleCommand { design: NAGARE, like: units[0], duplicate: units[1], undo: units[2] })
}

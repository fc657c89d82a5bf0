//! Repairs of what differs, as the command line makes them: beside everything else there is something that differs for a moment.

use fastrand::Rng;
use nagare_operator::audit::{
    Auditor, LikedAuditor, PagesAuditor, RoomsAuditor, TagsAuditor, ViewsAuditor,
};
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{ActivityId, RoomId, ViewerId};
use tests::World;

use crate::platform::usage::count;
use crate::social::commands::viewers;
use crate::social::features::{likes, rooms};

/// Of how many repairs of views one is made: each puts thousands of rows.
const RARELY: u8 = 12;

/// Repairs something. What fails is repaired another time.
pub(crate) async fn repair(world: &World, mut random: Rng) {
    count("repairs");
    let _ = repair_some(world, &mut random).await;
}

async fn repair_some(world: &World, random: &mut Rng) -> Result<(), DynamoError> {
    let tables = &world.tables;
    let (ledger, clock) = (&tables.ledger, world.clock.clone());
    let viewer = ViewerId::new(random.choice(viewers().collect::<Vec<_>>()).unwrap()).unwrap();
    let activities: Vec<_> = likes::activities().map(|id| ActivityId::new(&id).unwrap()).collect();
    let auditor =
        || Auditor::new(ledger, tables.timelines.clone(), world.writer.retention, clock.clone());
    match random.u8(0..7) {
        0 => {
            let auditor = auditor();
            let differences = auditor.differences(&viewer).await?;
            auditor.repair(&viewer, &differences).await
        }
        1 => {
            let auditor = auditor();
            let differences = auditor.following_differences(&viewer).await?;
            auditor.repair_following(&differences).await
        }
        2 => {
            let auditor = RoomsAuditor::new(ledger, clock);
            let rooms = rooms::ROOMS.map(|room| room.parse::<RoomId>().unwrap());
            auditor.repair(&auditor.differences(&rooms).await?).await
        }
        3 => {
            let auditor = TagsAuditor::new(ledger, clock);
            let activity = random.choice(&activities).unwrap();
            let mut differences = auditor.of_activity(activity).await?;
            differences.extend(auditor.of_viewer(&viewer).await?);
            auditor.repair(&differences).await
        }
        4 => {
            let auditor = LikedAuditor::new(ledger, &tables.facts);
            auditor.repair(&auditor.differences(&viewer).await?).await
        }
        5 => {
            let auditor = PagesAuditor::new(ledger);
            auditor.repair(&auditor.differences(&activities).await?).await
        }
        _ if random.u8(0..RARELY) > 0 => Ok(()),
        _ => {
            let auditor = ViewsAuditor::new(&tables.facts, &tables.views, clock);
            drop(auditor.activities(&activities, true).await);
            drop(auditor.inboxes(&[viewer], true).await);
            Ok(())
        }
    }
}

//! Profiles.

use shared::social::profiles::{ProfileUpdate, Profiles};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records the update, unless a later one is on record. Readers look profiles up, so there is nothing to
/// fan out.
pub(crate) async fn update(cx: &Context, update: ProfileUpdate) -> Result<Disposition, Failure> {
    Profiles::new(&cx.ledger).update(&update).await?;
    Ok(Disposition::Applied(None))
}

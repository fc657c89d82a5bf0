//! The lists of what viewers like, compared with the rows that say what they like.

use std::collections::BTreeSet;

use serde::Serialize;
use shared::platform::dynamo::Query;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::values::{ActivityId, Timestamp, ViewerId};
use shared::social::likes::{Like, LikeList, Likes, keys};

use crate::Result;
use crate::scan::scan;

/// An entry that should be there, or should not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LikedDifference {
    pub viewer_id: ViewerId,
    pub activity_id: ActivityId,
    /// Since when it is liked, or listed as if it were.
    pub liked_at: Timestamp,
    pub listed: bool,
}

/// Compares lists of what viewers like with the facts.
#[derive(Debug, Clone)]
pub struct LikedAuditor {
    facts: Facts,
    likes: Likes,
    list: LikeList,
}

impl LikedAuditor {
    pub fn new(ledger: &Ledger, facts: &Facts) -> Self {
        let (likes, list) = (Likes::new(facts), LikeList::new(ledger));
        Self { facts: facts.clone(), likes, list }
    }

    /// All viewers who like something, or have liked it. Reads all facts.
    pub async fn likers(&self) -> Result<Vec<ViewerId>> {
        let query = Query { projection: Some("pk, sk"), ..Query::default() };
        let mut likers = BTreeSet::new();
        scan(self.facts.table(), "facts read", query, |row| {
            likers
                .extend(keys::of_like(row.text("pk")?, row.text("sk")?).map(|(viewer, _)| viewer));
            Ok(())
        })
        .await?;
        Ok(likers.into_iter().collect())
    }

    /// What differs in the list of a viewer.
    pub async fn differences(&self, viewer: &ViewerId) -> Result<Vec<LikedDifference>> {
        let listed = self.list.all(viewer).await?;
        let liked = self.likes.of_viewer(viewer).await?;
        let (listed, liked): (BTreeSet<_>, BTreeSet<_>) =
            (listed.into_iter().collect(), liked.into_iter().collect());
        let differs = |like: &Like, listed| LikedDifference {
            viewer_id: viewer.clone(),
            activity_id: like.activity_id.clone(),
            liked_at: like.liked_at,
            listed,
        };
        let missing = liked.difference(&listed).map(|like| differs(like, false));
        let extra = listed.difference(&liked).map(|like| differs(like, true));
        Ok(missing.chain(extra).collect())
    }

    /// Adds entries that are missing, and removes those of activities that are not liked.
    pub async fn repair(&self, differences: &[LikedDifference]) -> Result<()> {
        let viewers: BTreeSet<_> = differences.iter().map(|it| &it.viewer_id).collect();
        for viewer in viewers {
            self.list.repair(viewer, &self.likes).await?;
        }
        Ok(())
    }
}

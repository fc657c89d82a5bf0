//! Which pages are read, and by whom they are answered.

use clap::Args;

use super::{number, share};
use crate::cost::month::Pages;

#[derive(Debug, Args)]
pub(super) struct PageOptions {
    /// Pages that viewers ask for in a day.
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    reads_per_day: f64,
    /// The share of these that a cache in front answers, from 0 to 1. What the cache costs is not in the bill.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    cached_share: f64,
    /// The share of the other pages that are polls which find nothing new, from 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    empty_share: f64,
    /// The share of those with activities that show likes (`include=likes`), from 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "0")]
    likes_share: f64,
    /// Activities on a page that is no such poll, on average.
    #[arg(long, value_name = "N", value_parser = number, default_value = "20")]
    activities_per_read: f64,
    /// Of its activities, and the one beyond it, how many the reader has to look up: the others it has kept. `nagare
    /// bench kept` counts them.
    #[arg(long, value_name = "N", value_parser = number, default_value = "2.5")]
    records_per_read: f64,
}

impl PageOptions {
    pub(super) fn pages(&self) -> Pages {
        Pages {
            per_day: self.reads_per_day,
            cached: self.cached_share,
            empty: self.empty_share,
            with_likes: self.likes_share,
            activities: self.activities_per_read,
            records: self.records_per_read,
        }
    }
}

//! What a page cost, and why that much.

use maud::{Markup, html};

use crate::reads::ReadCost;

/// Why a page of a timeline costs what it does.
pub(super) const OF_TIMELINE: &str = "Two calls at once ask for a page of entries, and for whom the viewer has left and what has \
     changed lately. What the entries point to comes with three more, however many there are: the records of the \
     activities, how many like each of them, and which of them the viewer likes. Each record, count and like is an item of \
     its own, so 20 activities take about 60 units. A reader that goes on running keeps the records, and pays for most of \
     them once.";
/// Why a poll does.
pub(super) const OF_POLL: &str = "Two calls at once ask for what was opened, and for the sums. How many have voted makes no difference.";
/// Why a battle does.
pub(super) const OF_BATTLE: &str = "Two calls at once ask for what was opened, and for how it stands. How many have hit makes \
     no difference.";

/// What an answer cost, and `why`. There is one on a page.
pub(super) fn shown(cost: &ReadCost, why: &str) -> Markup {
    let millis = cost.took.as_secs_f64() * 1e3;
    html! {
        div class="cost" {
            dl aria-label="What this page cost" {
                div { dt { "calls" } dd { (cost.calls) } }
                div {
                    dt { "read units" }
                    dd { (cost.units) }
                }
                div { dt { "ms" } dd { (format!("{millis:.1}")) } }
            }
            // It may be in a region that is made again each second: who reads it goes on reading.
            details #why class="more" hx-preserve="true" {
                summary #why-that-much { "Why that much?" }
                p { (why) }
                p {
                    "Calls are requests to the tables. A read unit is what DynamoDB charges for: up to 4 KB of one answer, or of each \
                     item where several are asked for by their keys; half as much where what was written a moment ago may be missing. \
                     The time is from the question to the answer within this process, the tables' answers included."
                }
            }
        }
    }
}

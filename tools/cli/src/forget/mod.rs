//! `nagare forget`: everything about one person, as viewer and as actor, or the events of a tenant.

mod tenant;

use clap::Args;
use nagare_client::clock;
use nagare_client::compaction::compact;
use nagare_client::remote::Remote;
use nagare_operator::erasure::{Erasure, letters};
use nagare_operator::event_scope::EventScope;
use serde::Serialize;
use shared::platform::values::{ActorId, CustomerId, TenantId, Timestamp};

use super::Failure;
use super::print::{counted, print_json, say, tell};

#[derive(Debug, Args)]
pub(super) struct Forget {
    /// The viewer's or actor's id.
    #[arg(required_unless_present = "tenant", conflicts_with = "tenant")]
    person: Option<ActorId>,
    /// The tenant whose events are erased, from tables and archives.
    #[arg(long)]
    tenant: Option<TenantId>,
    /// Only those of this customer of the tenant.
    #[arg(long, requires = "tenant")]
    customer: Option<CustomerId>,
    /// Print what was done as a JSON object.
    #[arg(long)]
    json: bool,
}

/// What was found and erased, in numbers.
#[derive(Debug, Serialize)]
struct ErasureReport {
    person_id: ActorId,
    activities: usize,
    followers: usize,
    followees: usize,
    /// Entries of their own timeline that nobody they followed accounts for.
    entries: usize,
    /// Progress records that named them.
    progress: usize,
    /// Tags of them.
    tags: usize,
    /// Likes, theirs and of what they published.
    likes: usize,
    /// Votes, theirs and in polls that they opened.
    votes: usize,
    /// Hits, theirs and in battles that they opened.
    hits: usize,
    /// Polls that they opened.
    polls: usize,
    /// Battles that they opened.
    battles: usize,
    /// Messages that they posted, or had deleted before.
    messages: usize,
    dead_letters: usize,
    /// Parts of large dead letters that no letter needed, whomever they were about.
    dead_letter_parts: usize,
    /// The same, but stored so recently that their letter may still be on its way.
    dead_letter_parts_waiting: usize,
    /// When the last tombstone expires.
    tombstones_until: Timestamp,
    /// Commands that had not been applied by the end, whomever they are about.
    commands_waiting: u64,
}

impl Forget {
    pub(super) async fn run(self) -> Result<(), Failure> {
        if let Some(tenant_id) = self.tenant {
            return tenant::run(EventScope { tenant_id, customer_id: self.customer }, self.json)
                .await;
        }
        let person_id = self.person.ok_or_else(|| Failure::Usage("nobody is named".to_owned()))?;
        let remote = Remote::from_environment().await?;
        let letters = remote.dead_letters()?;
        let (ledger, timelines, clock) = (remote.ledger()?, remote.timelines()?, clock::clock());
        let retention = remote.retention()?;
        let (facts, views) = (remote.facts()?, remote.views()?);
        let erasure = Erasure::new(
            person_id.clone(),
            &ledger,
            (&facts, &views),
            timelines,
            retention,
            clock.clone(),
        );
        let erasure = erasure.map_err(|e| Failure::Usage(e.to_string()))?;
        let erased = erasure.run().await?;
        let commands_waiting = remote.messages().await?;
        let now = clock.now();
        let dead_letters = letters::remove_those_of(&letters, &person_id, now).await?;
        let (dead_letter_parts, dead_letter_parts_waiting) =
            letters::remove_spare_parts(&letters, now).await?;
        compact(remote.target()).await?;
        let report = ErasureReport {
            person_id,
            activities: erased.activities,
            followers: erased.followers,
            followees: erased.followees,
            entries: erased.entries,
            progress: erased.progress,
            tags: erased.tags,
            likes: erased.likes,
            votes: erased.votes,
            hits: erased.hits,
            polls: erased.polls,
            battles: erased.battles,
            messages: erased.messages,
            dead_letters,
            dead_letter_parts,
            dead_letter_parts_waiting,
            tombstones_until: erasure.until(),
            commands_waiting,
        };
        print(&report, self.json)?;
        if !remote.is_local() && !self.json {
            tell!(
                "copies remain that nothing can shorten: what the streams had before for 24 hours, and point-in-time \
                 recovery for 35 days (docs/OPERATIONS.md, \"Deleting a person's data\")"
            );
        }
        Ok(())
    }
}

fn print(report: &ErasureReport, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(report);
    }
    let number = |n: &usize, one, many| counted(*n as u64, one, many);
    let ErasureReport {
        person_id, activities, followers, followees, entries, dead_letters, ..
    } = report;
    say!(
        "{person_id}: {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}; tombstones without content go by {}",
        number(activities, "activity", "activities"),
        number(followers, "follower", "followers"),
        number(followees, "followee", "followees"),
        number(entries, "other entry", "other entries"),
        number(&report.tags, "tag", "tags"),
        number(&report.likes, "like", "likes"),
        number(&report.votes, "vote", "votes"),
        number(&report.hits, "hit", "hits"),
        number(&report.polls, "poll", "polls"),
        number(&report.battles, "battle", "battles"),
        number(&report.messages, "message", "messages"),
        number(dead_letters, "dead letter", "dead letters"),
        report.tombstones_until
    )?;
    if report.commands_waiting > 0 {
        let waiting = counted(report.commands_waiting, "command was", "commands were");
        tell!("{waiting} still on the way; run this again once the queue is empty");
    }
    if report.dead_letter_parts_waiting > 0 {
        let parts = number(&report.dead_letter_parts_waiting, "part", "parts");
        tell!("{parts} of dead letters stored just now; run this again in an hour");
    }
    Ok(())
}

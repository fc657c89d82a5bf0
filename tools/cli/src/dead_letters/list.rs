//! `nagare dead-letters list`.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use clap::Args;
use nagare_client::clock::clock;
use shared::history::refusals::{LISTED_DAYS, RefusalCount, Refusals};
use shared::platform::dead_letters::{DeadLetter, DeadLetters};
use shared::platform::values::RefusalReason;

use super::act::left_out;
use super::reason::{Groups, Reason, group};
use super::which::Latest;
use super::{PrintedLetter, each_letter};
use crate::Failure;
use crate::print::{print_json, printable, say, tell};

/// Letters of one reason that are printed for people who do not say how many.
const READABLE: NonZeroUsize = NonZeroUsize::new(20).unwrap();
/// Characters of a detail on a line. `show` prints all of it.
const DETAIL: usize = 160;

#[derive(Debug, Args)]
pub(crate) struct ListLetters {
    /// List each letter of this reason, the oldest first: the latest 20, or as many as --limit says.
    #[arg(long)]
    reason: Option<Reason>,
    /// List this many letters and no more, the latest.
    #[arg(long)]
    limit: Option<NonZeroUsize>,
    /// Print one JSON object for each letter, the oldest first.
    #[arg(long)]
    json: bool,
}

/// The refusals of the last days, by reason.
type RefusalCounts = BTreeMap<RefusalReason, RefusalCount>;

/// The letters of one reason.
struct Group {
    count: u64,
    unverified: u64,
    latest: DeadLetter,
}

impl ListLetters {
    pub(super) async fn run(
        &self,
        letters: &DeadLetters,
        refusals: &Refusals,
    ) -> Result<(), Failure> {
        match self {
            Self { reason: None, limit: None, json: false } => reasons(letters, refusals).await,
            _ => self.each(letters, refusals).await,
        }
    }

    /// Prints a line for each letter.
    async fn each(&self, letters: &DeadLetters, refusals: &Refusals) -> Result<(), Failure> {
        let limit = self.limit.or((!self.json).then_some(READABLE));
        let (mut latest, mut found, mut groups) = (Latest::new(limit), 0, Groups::default());
        each_letter(letters, |letter| {
            groups.add(&letter);
            if self.reason.as_ref().is_none_or(|reason| reason.selects(&letter)) {
                found += 1;
                latest.add(letter.stored_at, letter.id.clone(), letter);
            }
        })
        .await?;
        let listed = latest.in_order();
        match self.json {
            true => {
                let counts = refusals.all(clock().now()).await?;
                listed.iter().try_for_each(|letter| {
                    let refusals_without_letter = without_letter(&counts, &letter.reason);
                    print_json(&PrintedLetter {
                        refusals_without_letter,
                        ..PrintedLetter::from(letter)
                    })
                })?;
            }
            false => listed.iter().try_for_each(|letter| say!("{}", printable(&line(letter))))?,
        }
        self.conclude(listed.len(), found, &groups)
    }

    /// Says what is not listed.
    fn conclude(&self, listed: usize, found: usize, groups: &Groups) -> Result<(), Failure> {
        match &self.reason {
            Some(reason) if found == 0 => {
                groups.check(reason)?;
                tell!("no dead letter has the reason {reason}");
            }
            None if found == 0 && !self.json => tell!("there are no dead letters"),
            _ if listed < found && !self.json => {
                tell!("the latest {listed} of {found}; --limit N lists more");
            }
            _ => {}
        }
        Ok(())
    }
}

/// Prints a line for each reason, the most frequent first, and then the refusals that are counted without a letter.
async fn reasons(letters: &DeadLetters, refusals: &Refusals) -> Result<(), Failure> {
    let mut groups = BTreeMap::new();
    each_letter(letters, |letter| count(&mut groups, letter)).await?;
    let counts = refusals.all(clock().now()).await?;
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
    for (reason, group) in &groups {
        say!("{}", printable(&reason_line(reason, group, &more(&counts, reason))))?;
    }
    let is_listed = |reason: &str| groups.iter().any(|(listed, _)| *listed == reason);
    for reason in counts.keys().map(|reason| reason.as_str()).filter(|reason| !is_listed(reason)) {
        let more = more(&counts, reason);
        if !more.is_empty() {
            say!("{reason:<18} {:>8}{more}", 0)?;
        }
    }
    match groups.is_empty() {
        true => tell!("there are no dead letters"),
        false => tell!("--reason REASON lists the letters of one reason; `show ID` prints one"),
    }
    let unverified = groups.iter().map(|(_, group)| group.unverified).sum();
    if unverified > 0 {
        tell!("{}", left_out(unverified));
    }
    Ok(())
}

fn count(groups: &mut BTreeMap<&'static str, Group>, letter: DeadLetter) {
    let order = |letter: &DeadLetter| (letter.stored_at, letter.id.clone());
    let unverified = u64::from(!letter.is_verified());
    match groups.get_mut(group(&letter)) {
        None => drop(groups.insert(group(&letter), Group { count: 1, unverified, latest: letter })),
        Some(group) => {
            group.count += 1;
            group.unverified += unverified;
            if order(&group.latest) < order(&letter) {
                group.latest = letter;
            }
        }
    }
}

/// Refusals of a reason that are counted without a letter, if there are any.
fn without_letter(counts: &RefusalCounts, reason: &str) -> Option<u64> {
    let count = RefusalReason::parse(reason).and_then(|reason| counts.get(&reason));
    count.map(|count| count.without_letter).filter(|count| *count > 0)
}

/// The same in words.
fn more(counts: &RefusalCounts, reason: &str) -> String {
    let of = |more| {
        let refused = RefusalReason::parse(reason).and_then(|reason| counts.get(&reason));
        let refused = refused.map_or(0, |count| count.refused);
        format!("  and {more} without a letter, {refused} refused in {LISTED_DAYS} days")
    };
    without_letter(counts, reason).map_or_else(String::new, of)
}

fn reason_line(reason: &str, Group { count, latest, .. }: &Group, more: &str) -> String {
    let DeadLetter { id, stored_at, .. } = latest;
    format!("{reason:<18} {count:>8}  latest {stored_at}  example {id}  {}{more}", detail(latest))
}

fn line(letter: &DeadLetter) -> String {
    let DeadLetter { id, reason, stored_at, receive_count, .. } = letter;
    format!("{id}  {stored_at}  {reason:<18} receives {receive_count}  {}", detail(letter))
}

/// The beginning of a letter's detail, behind a mark if nothing shows where the letter comes from.
fn detail(letter: &DeadLetter) -> String {
    let mark = if letter.is_verified() { "" } else { "(unverified) " };
    let detail = &letter.detail;
    match detail.char_indices().nth(DETAIL) {
        None => format!("{mark}{detail}"),
        Some((end, _)) => format!("{mark}{}…", &detail[..end]),
    }
}

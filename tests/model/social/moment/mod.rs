//! Whether a page is whole: exactly what the contract's query answers at one moment.
//!
//! # The rule
//!
//! A page is whole if there is a set S of commands with three properties.
//!
//! 1. S holds every command that was in effect before the page was asked for, and none that no handler had
//!    been given before it was answered. A command is in effect once it is acknowledged and nothing of it is
//!    still on its way.
//! 2. S is closed in real time: with a command it holds all that were in effect before that one was first
//!    given to a handler.
//! 3. The page is what the query over S answers, in order, content, kind and payload, for its range, its
//!    limit and the position that it goes on from, with `now` between question and answer. Without a
//!    `next_cursor` nothing of the query over S lies beyond it. With one and a full page, something does. With one and a
//!    short page, it is the beginning of that answer.
//!
//! Commands of S combine as in the [reference](crate::social::reference): of follows of one edge and of updates of one
//! activity the latest counts, deletes are final, and of several publishes of one id one owns it. All that
//! a command brings about is in or out together: a follow shows all that it brings in, or nothing.
//!
//! A command that is never in effect, because it died or gave up, or a message that goes on with it did, is in S
//! or not, and in S for one page and not for the next. In one case a command may be half in effect, because a
//! publish claims its id before it is recorded: a publish that is not in S may own the id anyway, so that
//! others that are in S are refused and nothing is shown under the id. A publish cannot own an id if another was
//! in effect before it began.
//!
//! The reader gives a `next_cursor` without knowing what is beyond once it has passed 500 entries, or if the page
//! has a hundred. No history here has that many activities; a longer one would have the page reported.
//!
//! # How it is decided
//!
//! The first time that a command is given to a handler, and the first time that it is known to be in effect, are
//! *events*, and all events are numbered. A *moment* lies between two events. At a moment some commands are in
//! effect, some have not begun, and the others are *in flight*.
//!
//! S is closed in real time if and only if there is a moment such that S holds all that is in effect by then,
//! and nothing that begins later. (If S is closed, take the moment right after the last beginning in S. If
//! there is such a moment, whatever is in effect before some command of S begins is in effect by then.)
//!
//! So every moment between question and answer is tried, and the commands in flight are free, each by itself.
//! Hence there is nothing to search for. Of an activity alone it can be said whether it may, must or cannot be
//! shown, given the edge to its actor; and of edges no more have to say `followed` than those whose activities
//! are shown and those that cannot say otherwise, because one that hides everything never hides too much. Only
//! a `next_cursor` asks for something that is shown, and one more actor is enough for it. The work is at most
//! the number of moments times that of activities, and for each actor once more: there is no bound to meet.

mod page;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::social::commands::{RETENTION, What};
use crate::social::reference::Shown;
pub(crate) use page::Page;

/// A command that some handler was given.
struct Command {
    what: What,
    begun: usize,
    /// The event with which it was in effect, if it was.
    in_effect: Option<usize>,
}

/// The commands of a run, in the order in which they began.
#[derive(Default)]
pub(crate) struct Log {
    events: usize,
    commands: Vec<Command>,
}

/// When a page was asked for, or answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instant {
    /// The events until then.
    pub(crate) events: usize,
    /// What the clock showed. Of clocks that differ: the earliest for a question, the latest for an answer.
    pub(crate) now: i64,
}

/// Where retention ends. What lies between the two instants may be retained or not.
#[derive(Clone, Copy)]
struct Retained {
    nothing_before: i64,
    all_from: i64,
}

impl Log {
    /// Notes that a handler is given a command.
    pub(crate) fn begin(&mut self, what: &What) {
        if self.commands.iter().all(|command| command.what != *what) {
            let (what, begun) = (what.clone(), self.event());
            self.commands.push(Command { what, begun, in_effect: None });
        }
    }

    /// Notes that a command is in effect.
    pub(crate) fn take_effect(&mut self, what: &What) {
        let event = self.event();
        let command = self.commands.iter_mut().find(|command| command.what == *what);
        command.expect("it was begun").in_effect.get_or_insert(event);
    }

    fn event(&mut self) -> usize {
        self.events += 1;
        self.events - 1
    }

    pub(crate) fn events(&self) -> usize {
        self.events
    }

    /// Whether a page is whole. If it is not: what is wrong with it at the moments between its question and its
    /// answer, and the commands that this is about.
    pub(crate) fn whole(&self, page: &Page<'_>) -> Result<(), String> {
        let mut problems: Vec<Problem> = Vec::new();
        for events in page.asked.events..=page.answered.events {
            let moment = ExpectedState::of(self, page.walk.viewer, events);
            for retained in moment.retained(page) {
                match moment.answers(page, retained) {
                    Ok(()) => return Ok(()),
                    Err(problem) if problems.contains(&problem) => {}
                    Err(problem) => problems.push(problem),
                }
            }
        }
        let concerned = self.commands.iter().filter(|command| command.concerns(page, &problems));
        let concerned: String = concerned.map(|command| format!("\n  {command}")).collect();
        let problems: Vec<_> = problems.into_iter().map(|problem| problem.text).collect();
        let shown: Vec<_> = page.items.iter().map(|shown| shown.id.as_str()).collect();
        let (asked, answered) = (page.asked.events, page.answered.events);
        Err(format!(
            "{shown:?}, asked for at {asked}, answered at {answered}, {}{concerned}",
            problems.join(", or ")
        ))
    }
}

/// What is wrong with a page at one moment.
#[derive(PartialEq)]
struct Problem {
    text: String,
    /// The id and the actor of an activity.
    about: Option<(String, String)>,
}

impl Problem {
    fn of_the_page(text: impl Into<String>) -> Self {
        Self { text: text.into(), about: None }
    }

    fn about(id: &str, actor: &str, text: String) -> Self {
        Self { text, about: Some((id.to_owned(), actor.to_owned())) }
    }
}

impl Command {
    /// Whether it is about an activity with which something is wrong, or about the edge to its actor.
    fn concerns(&self, page: &Page<'_>, problems: &[Problem]) -> bool {
        let mut about = problems.iter().filter_map(|problem| problem.about.as_ref());
        match &self.what {
            What::Publish { id, .. } | What::Update { id, .. } | What::Delete { id, .. } => {
                about.any(|(about, _)| about == id)
            }
            What::Follow { viewer, actor, .. } => {
                viewer == page.walk.viewer && about.any(|(_, about)| about == actor)
            }
            What::Feature(_) => false,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, begun, in_effect } = self;
        let end = in_effect.map_or_else(|| "?".to_owned(), |event| event.to_string());
        write!(f, "from {begun} to {end}: {}", what.body())
    }
}

/// What the commands say at one moment to one viewer. Those in effect are certain; those in flight, and no
/// others besides, may count or not.
#[derive(Default)]
struct ExpectedState<'a> {
    follows: BTreeMap<&'a str, Vec<Change>>,
    publishes: BTreeMap<&'a str, Vec<Publish<'a>>>,
    /// By id and actor: whether they are certain.
    deletes: BTreeMap<(&'a str, &'a str), bool>,
    updates: BTreeMap<(&'a str, &'a str), Vec<Update<'a>>>,
}

struct Change {
    /// When, and whether it is an unfollow. The greatest counts.
    at: (i64, bool),
    certain: bool,
}

struct Publish<'a> {
    command: &'a Command,
    id: &'a str,
    actor: &'a str,
    at: i64,
    kind: &'a str,
    payload: &'a Value,
    certain: bool,
}

struct Update<'a> {
    at: i64,
    kind: Option<&'a str>,
    payload: &'a Value,
    certain: bool,
}

impl<'a> ExpectedState<'a> {
    fn of(log: &'a Log, viewer: &str, events: usize) -> Self {
        let mut moment = Self::default();
        for command in log.commands.iter().take_while(|command| command.begun < events) {
            let certain = command.in_effect.is_some_and(|event| event < events);
            moment.take(command, viewer, certain);
        }
        moment
    }

    fn take(&mut self, command: &'a Command, viewer: &str, certain: bool) {
        match &command.what {
            What::Publish { id, actor, at, kind, payload } => {
                let publish = Publish { command, id, actor, at: *at, kind, payload, certain };
                self.publishes.entry(id).or_default().push(publish);
            }
            What::Update { id, actor, at, kind, payload } => {
                let update = Update { at: *at, kind: kind.as_deref(), payload, certain };
                self.updates.entry((id, actor)).or_default().push(update);
            }
            What::Delete { id, actor } => drop(self.deletes.insert((id, actor), certain)),
            What::Follow { viewer: follower, actor, at, following } if follower == viewer => {
                let change = Change { at: (*at, !following), certain };
                self.follows.entry(actor).or_default().push(change);
            }
            What::Follow { .. } | What::Feature(_) => {}
        }
    }

    /// Where retention may end while a page is answered: wherever it makes a difference.
    fn retained(&self, page: &Page<'_>) -> Vec<Retained> {
        let [first, last] = [page.asked, page.answered].map(|instant| instant.now - RETENTION);
        if page.clocks_apart {
            return vec![Retained { nothing_before: first, all_from: last }];
        }
        let passing = self.publishes.values().flatten().map(|publish| publish.at);
        let passing = passing.filter(|at| (first..last).contains(at)).map(|at| at + 1);
        let ends: BTreeSet<_> = passing.chain([first]).collect();
        ends.into_iter().map(|at| Retained { nothing_before: at, all_from: at }).collect()
    }

    /// Whether the query answers a page at this moment.
    fn answers(&self, page: &Page<'_>, retained: Retained) -> Result<(), Problem> {
        page.is_in_order().map_err(Problem::of_the_page)?;
        for shown in page.items {
            self.may_show(page, shown, retained).map_err(|problem| {
                let text = format!("shows {} of {}, {problem}", shown.id, shown.actor);
                Problem::about(&shown.id, &shown.actor, text)
            })?;
        }
        let shown = page.items.iter().map(|shown| shown.actor.as_str());
        let unavoidable =
            self.follows.keys().copied().filter(|actor| !self.may_follow(actor, false));
        let followed: BTreeSet<&str> = shown.chain(unavoidable).collect();
        if let Some(Publish { id, actor, .. }) = self.missing(page, retained, &followed) {
            return Err(Problem::about(id, actor, format!("misses {id} of {actor}")));
        }
        let has_looked = page.is_full() && !page.short_queries;
        match page.more && has_looked && !self.goes_on(page, retained, &followed) {
            true => Err(Problem::of_the_page("has a next_cursor, and nothing is beyond")),
            false => Ok(()),
        }
    }

    fn may_show(&self, page: &Page<'_>, shown: &Shown, end: Retained) -> Result<(), &'static str> {
        let (id, actor) = (shown.id.as_str(), shown.actor.as_str());
        let mut publishes = self.owners(id);
        let publish = publishes.find(|publish| (publish.actor, publish.at) == (actor, shown.at));
        let publish = publish.ok_or("which was not published so")?;
        if !self.may_follow(actor, true) {
            Err("whose actor is not followed")
        } else if self.deletes.get(&(id, actor)) == Some(&true) {
            Err("which is deleted")
        } else if shown.at < end.nothing_before {
            Err("which is past retention")
        } else if !page.walk.holds(shown.at) {
            Err("which is out of range")
        } else if !self.may_say(publish, shown) {
            Err("which does not say that")
        } else {
            Ok(())
        }
    }

    /// Whether the viewer may follow an actor, or may not follow them.
    fn may_follow(&self, actor: &str, following: bool) -> bool {
        let changes = self.follows.get(actor).map_or(&[][..], Vec::as_slice);
        let latest = changes.iter().filter(|change| change.certain).map(|change| change.at).max();
        let mut later = changes.iter().map(|change| Some(change.at)).filter(|at| *at > latest);
        let is = |at: Option<(i64, bool)>| at.is_some_and(|(_, left)| !left) == following;
        is(latest) || later.any(is)
    }

    /// The publishes of an id that may own it.
    fn owners(&self, id: &str) -> impl Iterator<Item = &Publish<'a>> {
        let publishes = self.publishes.get(id).map_or(&[][..], Vec::as_slice);
        publishes.iter().filter(|publish| {
            let begun = publish.command.begun;
            let before = |other: &Publish<'_>| other.command.in_effect.is_some_and(|e| e < begun);
            !publishes.iter().any(before)
        })
    }

    /// Whether an activity may have this kind and payload. One update in flight decides on each of them, or
    /// none does.
    fn may_say(&self, publish: &Publish<'_>, shown: &Shown) -> bool {
        let updates = self.updates.get(&(publish.id, publish.actor));
        let updates = updates.map_or(&[][..], Vec::as_slice);
        let says = |open: &[&Update<'_>]| {
            let all = || updates.iter().filter(|u| u.certain).chain(open.iter().copied());
            let payload = all().map(|u| (u.at, u.payload.to_string())).max();
            let kind = all().filter_map(|u| Some((u.at, u.kind?))).max();
            payload.map_or_else(|| publish.payload.to_string(), |(_, text)| text) == shown.payload
                && kind.map_or(publish.kind, |(_, kind)| kind) == shown.kind
        };
        let open = || updates.iter().filter(|update| !update.certain);
        says(&[]) || open().any(|one| open().any(|other| says(&[one, other])))
    }

    /// An activity that would have to be on the page if these actors are followed, and is not.
    fn missing(
        &self,
        page: &Page<'_>,
        retained: Retained,
        followed: &BTreeSet<&str>,
    ) -> Option<&Publish<'a>> {
        let must_be_shown = |publish: &&Publish<'_>| {
            publish.certain
                && publish.at >= retained.all_from
                && page.covers((publish.at, publish.id))
                && followed.contains(publish.actor)
                && !self.deletes.contains_key(&(publish.id, publish.actor))
        };
        let mut absent = self.publishes.keys().filter(|id| !page.shows(id));
        absent.find_map(|id| {
            let mut owners = self.owners(id).peekable();
            let first = owners.peek().copied();
            first.filter(|_| owners.all(|publish| must_be_shown(&publish)))
        })
    }

    /// Whether there may be something beyond a page.
    fn goes_on(&self, page: &Page<'_>, end: Retained, followed: &BTreeSet<&str>) -> bool {
        let absent = self.publishes.keys().filter(|id| !page.shows(id));
        let mut beyond = absent.flat_map(|id| self.owners(id)).filter(|publish| {
            publish.at >= end.nothing_before
                && page.is_beyond((publish.at, publish.id))
                && self.deletes.get(&(publish.id, publish.actor)) != Some(&true)
        });
        beyond.any(|Publish { actor, .. }| {
            let followed = &followed.iter().copied().chain([*actor]).collect();
            self.may_follow(actor, true) && self.missing(page, end, followed).is_none()
        })
    }
}

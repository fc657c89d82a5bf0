//! `show`, of polls and of battles: the state of one, read through the HTTP API as a client would, once or until it is over.
//!
//! ```text
//! poll     the answer for a poll, as lines
//! battle   the answer for a battle, as lines
//! bars     shares of a whole
//! screen   in place on a terminal, line after line elsewhere
//! ```

mod bars;
mod battle;
mod poll;
mod screen;

use std::time::Duration;

use clap::Args;
use nagare_client::api::{Api, Query};
use nagare_client::clock;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use shared::platform::values::{Timestamp, ViewerId};
use tokio::time::Instant;

use crate::Failure;
use crate::print::{one_line, say};
use screen::Screen;

pub(crate) use battle::ShownBattle;
pub(crate) use poll::ShownPoll;

/// How often the API is asked.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long to go on after the end: what was sent before it may still be on its way.
const SETTLING: Duration = Duration::from_secs(2);
/// How long to go on where the API does not answer, or has nothing yet.
const PATIENCE: Duration = Duration::from_secs(10);
/// The caller where no viewer is named: an API that takes tokens wants somebody's, and shows everybody the same.
const ANYBODY: &str = "anybody";

/// What is said of how something is shown.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Whose part in it to show, too.
    #[arg(long)]
    viewer: Option<ViewerId>,
    /// Go on until it is over: drawn again in place on a terminal, one line for each change elsewhere.
    #[arg(long)]
    watch: bool,
    /// Print the API's answer, one JSON object a line: with --watch one for each change.
    #[arg(long)]
    json: bool,
}

/// An answer of the API that shows how something stands.
pub(crate) trait Contest: DeserializeOwned {
    /// What it is, and how one opens it.
    const WHAT: &'static str;
    /// The folder of its path.
    const FOLDER: &'static str;

    /// Several lines for a screen of some width.
    fn lines(&self, viewer: Option<&ViewerId>, width: usize, now: Timestamp) -> Vec<String>;
    /// The same in one line.
    fn line(&self) -> String;
    /// True if nothing comes any more but what is on its way.
    fn is_over(&self) -> bool;
}

/// What the API has answered.
struct Answer<S> {
    text: Box<RawValue>,
    contest: S,
}

impl Show {
    /// Shows what has an id.
    ///
    /// # Errors
    /// [`Failure::No`] if there is nothing under that id, and those of [`Api::get`].
    pub(crate) async fn run<S: Contest>(self, id: &str) -> Result<(), Failure> {
        let caller = self.viewer.as_ref().map_or(ANYBODY, ViewerId::as_str);
        let mut api = Api::on_behalf_of(caller).await?;
        let mut screen = Screen::new();
        if self.watch {
            return self.watch::<S>(&mut api, id, &mut screen).await;
        }
        let answer = self.ask::<S>(&mut api, id).await?.ok_or_else(|| absent::<S>(id))?;
        match self.json {
            true => say!("{}", one_line(&answer.text)),
            false => screen.draw(&self.lines(&answer.contest, &screen)),
        }
    }

    async fn watch<S: Contest>(
        &self,
        api: &mut Api,
        id: &str,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let (mut answered_at, mut ended_at) = (Instant::now(), None);
        let mut shown: Option<Answer<S>> = None;
        loop {
            let missing = match self.ask::<S>(api, id).await {
                Ok(Some(answer)) => {
                    answered_at = Instant::now();
                    if answer.contest.is_over() {
                        ended_at.get_or_insert(answered_at);
                    }
                    self.print(&answer, shown.as_ref(), screen)?;
                    shown = Some(answer);
                    None
                }
                Ok(None) => Some(absent::<S>(id)),
                Err(failure @ Failure::Unreachable(_)) => Some(failure),
                Err(failure) => return Err(failure),
            };
            match missing {
                Some(failure) if answered_at.elapsed() > PATIENCE => return Err(failure),
                None if ended_at.is_some_and(|at| at.elapsed() > SETTLING) => return Ok(()),
                _ => tokio::time::sleep(INTERVAL).await,
            }
        }
    }

    async fn ask<S: Contest>(&self, api: &mut Api, id: &str) -> Result<Option<Answer<S>>, Failure> {
        let viewer = self.viewer.iter().map(|viewer| ("viewer", viewer.to_string()));
        let query: Query = viewer.collect();
        let Some(text) = api.find::<Box<RawValue>>(&["v1", S::FOLDER, id], &query).await? else {
            return Ok(None);
        };
        let unexpected = |e| Failure::Unreachable(format!("the API's answer is unexpected: {e}"));
        let contest = serde_json::from_str(text.get()).map_err(unexpected)?;
        Ok(Some(Answer { text, contest }))
    }

    /// Shows what is different from what was shown before.
    fn print<S: Contest>(
        &self,
        answer: &Answer<S>,
        before: Option<&Answer<S>>,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let is_same = before.is_some_and(|before| before.text.get() == answer.text.get());
        match (self.json, screen.is_terminal()) {
            // The time that is left changes, too.
            (false, true) => screen.draw(&self.lines(&answer.contest, screen)),
            _ if is_same => Ok(()),
            (true, _) => say!("{}", one_line(&answer.text)),
            (false, false) => say!("{}", answer.contest.line()),
        }
    }

    fn lines<S: Contest>(&self, contest: &S, screen: &Screen) -> Vec<String> {
        contest.lines(self.viewer.as_ref(), screen.width(), clock::clock().now())
    }
}

fn absent<S: Contest>(id: &str) -> Failure {
    let what = S::WHAT;
    Failure::No(format!(
        "there is no {what} {id}: `nagare {what} open` opens one, which takes a moment (--wait waits for it)"
    ))
}

/// A payload as it is shown, behind two blanks; nothing for null.
fn shown_payload(payload: &RawValue) -> String {
    match payload.get() {
        "null" => String::new(),
        _ => format!("  {}", one_line(payload)),
    }
}

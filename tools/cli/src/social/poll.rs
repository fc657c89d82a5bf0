//! `nagare poll` and `nagare vote`: opens polls, closes them, votes, and shows their state.

use clap::{Args, Subcommand};
use nagare_client::clock;
use shared::command::Command;
use shared::platform::values::{ActorId, Choice, Payload, PollId, Timestamp, ViewerId};
use shared::social::polls::{PollClosed, PollOpened, Vote};

use crate::Failure;
use crate::social::show::{self, Show};
use crate::span::Span;
use crate::submit::Submission;

#[derive(Debug, Subcommand)]
pub(crate) enum Poll {
    /// Put a question. Its id belongs to the first that is opened under it.
    Open(OpenPoll),
    /// End a poll before its time: the earliest end wins.
    Close(Close),
    /// Show how a poll stands.
    Show(ShowPoll),
}

#[derive(Debug, Args)]
pub(crate) struct OpenPoll {
    /// The poll's id.
    poll: PollId,
    /// Who puts the question, and may close it before its time.
    #[arg(long)]
    actor: ActorId,
    /// What one can vote for: 2 to 32 different ones, in the order in which they are shown.
    #[arg(long = "choice", value_name = "CHOICE", required = true)]
    choices: Vec<Choice>,
    /// How long it is open: 60s, 15m, 1h, 7d.
    #[arg(long = "for", value_name = "TIME", required_unless_present = "closes_at")]
    open_for: Option<Span>,
    /// Instead: the first instant at which no vote counts any more, as RFC 3339.
    #[arg(long, value_name = "T", conflicts_with = "open_for")]
    closes_at: Option<Timestamp>,
    /// The first instant at which a vote counts, as RFC 3339; now, if it is not given. It may lie ahead.
    #[arg(long, visible_alias = "at", value_name = "T")]
    opens_at: Option<Timestamp>,
    /// What is kept with it, a JSON value of at most 4 KiB.
    #[arg(long, value_name = "JSON")]
    payload: Option<Payload>,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct Close {
    /// The poll's id.
    poll: PollId,
    /// Who has opened it: nobody else can end it.
    #[arg(long)]
    actor: ActorId,
    /// The first instant at which no vote counts any more, as RFC 3339; now, if it is not given.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
pub(crate) struct ShowPoll {
    /// The poll's id.
    poll: PollId,
    #[command(flatten)]
    show: Show,
}

#[derive(Debug, Args)]
pub(crate) struct CastVote {
    /// Who votes.
    viewer: ViewerId,
    /// The poll's id.
    poll: PollId,
    /// What for.
    #[arg(required_unless_present = "withdraw", conflicts_with = "withdraw")]
    choice: Option<Choice>,
    /// Take the vote back.
    #[arg(long)]
    withdraw: bool,
    /// When, as an RFC 3339 instant; now, if it is not given. The latest within the poll's time wins.
    #[arg(long, value_name = "T")]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

impl Poll {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::Open(open) => open.send().await,
            Self::Close(close) => close.send().await,
            Self::Show(ShowPoll { poll, show }) => show.run::<show::ShownPoll>(poll.as_str()).await,
        }
    }
}

impl OpenPoll {
    async fn send(self) -> Result<(), Failure> {
        let opened = self.opened(clock::clock().now())?;
        self.submission.send(Command::OpenPoll(opened)).await
    }

    fn opened(&self, now: Timestamp) -> Result<PollOpened, Failure> {
        let Self { poll: poll_id, actor: actor_id, choices, .. } = self;
        for (n, choice) in choices.iter().enumerate() {
            if choices[..n].contains(choice) {
                return Err(Failure::Usage(format!(
                    "--choice {choice} is there twice; give each choice once"
                )));
            }
        }
        if !(2..=32).contains(&choices.len()) {
            return Err(Failure::Usage(format!(
                "a poll has 2 to 32 choices, and here are {}; give --choice once for each",
                choices.len()
            )));
        }
        let opens_at = self.opens_at.unwrap_or(now);
        let end = self.open_for.map(|span| opens_at.plus_millis(span.as_millis()));
        let closes_at = end.or(self.closes_at).ok_or_else(|| {
            Failure::Usage("say how long it is open: --for 60s, or --closes-at".to_owned())
        })?;
        if closes_at <= opens_at {
            return Err(Failure::Usage(format!(
                "--closes-at {closes_at} has to be later than {opens_at}, when it opens"
            )));
        }
        Ok(PollOpened {
            poll_id: poll_id.clone(),
            actor_id: actor_id.clone(),
            choices: choices.clone(),
            opens_at,
            closes_at,
            payload: self.payload.clone().unwrap_or_default(),
        })
    }
}

impl Close {
    async fn send(self) -> Result<(), Failure> {
        let Self { poll: poll_id, actor: actor_id, at, submission } = self;
        let at = at.unwrap_or_else(|| clock::clock().now());
        submission.send(Command::ClosePoll(PollClosed { poll_id, actor_id, at })).await
    }
}

impl CastVote {
    pub(crate) async fn send(self) -> Result<(), Failure> {
        let Self { viewer: viewer_id, poll: poll_id, choice, at, submission, .. } = self;
        let at = at.unwrap_or_else(|| clock::clock().now());
        submission.send(Command::Vote(Vote { poll_id, viewer_id, choice, at })).await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        open: OpenPoll,
    }

    fn opened(given: &[&str]) -> Result<PollOpened, String> {
        let now = "2026-11-20T12:00:00Z".parse().unwrap();
        let line = ["open", "mvp", "--actor", "anna"].iter().chain(given);
        let parsed = Line::try_parse_from(line).map_err(|e| e.to_string())?;
        parsed.open.opened(now).map_err(|e| e.to_string())
    }

    #[test]
    fn a_poll_lasts_from_its_opening() {
        let choices = ["--choice", "red", "--choice", "blue"];
        let of = |more: &[&str]| opened(&[&choices, more].concat()).unwrap();
        let text = |poll: PollOpened| (poll.opens_at.to_string(), poll.closes_at.to_string());
        let (opens, closes) = text(of(&["--for", "60s"]));
        assert_eq!(
            (opens.as_str(), closes.as_str()),
            ("2026-11-20T12:00:00.000Z", "2026-11-20T12:01:00.000Z")
        );
        for name in ["--at", "--opens-at"] {
            let (opens, closes) = text(of(&[name, "2026-11-21T00:00:00Z", "--for", "1h"]));
            assert_eq!(
                (opens.as_str(), closes.as_str()),
                ("2026-11-21T00:00:00.000Z", "2026-11-21T01:00:00.000Z")
            );
        }
    }

    #[test]
    fn mistakes_say_how_to_mend_them() {
        for (given, said) in [
            ("--choice red --for 60s", "give --choice once for each"),
            ("--choice red --choice red --for 60s", "give each choice once"),
            ("--choice red --choice blue", "--for <TIME>"),
            ("--choice red --choice blue --for 60", "such as 15m"),
            ("--choice red --choice blue --closes-at 2026-11-20T11:00:00Z", "later than"),
            ("--for 60s", "--choice <CHOICE>"),
        ] {
            let problem = opened(&given.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert!(problem.contains(said), "{given}: {problem}");
        }
    }
}

//! The command line: the name and the arguments of each command, and how it ends.
//!
//! Commands other than `up` talk to the stack that the environment names (one in an AWS account, for example), and otherwise to the
//! local stack that runs (`client`). Each command is a module with one `run`. All commands that send a command to the queue report
//! what became of it in the same way (`submit`).

mod audit;
mod backlog;
mod bus;
mod console;
mod dead_letters;
mod detach;
mod down;
mod estimate;
mod exports;
mod forget;
mod help;
mod history;
mod input;
mod list_pages;
mod log;
mod pages;
pub mod print;
mod shell;
mod social;
mod span;
mod status;
mod submit;
mod time;
mod token;
mod up;

use history::{events, tenant};
use social::{
    battle, fanout, follows, notifications, people, poll, profile, publish, replay, room, timeline,
    verb,
};
use std::process::ExitCode;

use clap::{Args, FromArgMatches as _, Parser, Subcommand};
use shared::command::Command;
use shared::platform::values::{ActivityId, ActorId, Kind, Payload, Timestamp};
use shared::social::activities::{ActivityUpdate, Delete};

pub use follows::follows_in;
pub use nagare_client::failure::Failure;
use nagare_client::{call_timeout, clock};
use print::tell;
pub use replay::posts_in;
use submit::Submission;
pub use up::stopped;
use verb::Verbs;

use nagare_client::visible::is_hidden;

/// The whole program. It is here and not in the binary so that it is compiled once: what is `async` is
/// compiled where it is run.
#[tokio::main]
pub async fn main() -> ExitCode {
    let parsed = help::command().try_get_matches();
    let ended = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli.run().await,
        // What was typed may come from somewhere else.
        Err(said) if said.to_string().contains(is_hidden) => {
            tell!("{said}");
            return ExitCode::from(u8::try_from(said.exit_code()).unwrap_or(2));
        }
        Err(said) => match said.print() {
            // Help that was asked for; an error goes to standard error, and has its own exit code.
            Err(unwritten) if !said.use_stderr() => Err(print::unwritable(unwritten)),
            _ => return ExitCode::from(u8::try_from(said.exit_code()).unwrap_or(2)),
        },
    };
    exit_code(ended)
}

/// Says why a command failed, if it did, and how its process ends.
pub fn exit_code(ended: Result<(), Failure>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            match &failure {
                Failure::WithoutEffect(_) => print::note_caution(&format!("nagare: {failure}")),
                closed if closed.is_closed_output() => {}
                _ => tell!("nagare: {failure}"),
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// A social backend on your own machine, and the tools for one on AWS.
///
/// Without a command: `nagare up --sample`. Exit codes: 0 done, 1 the answer is
/// no, 2 wrong usage or bad input, 3 the stack could not be reached or did not
/// answer in time (10 s for each call, or NAGARE_CALL_TIMEOUT).
#[derive(Debug, Parser)]
#[command(name = "nagare", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Subcommands>,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Run the local stack in one process.
    ///
    /// Tables, queues, the functions, the HTTP API and the console.
    Up(Box<up::Up>),
    /// End a local stack that runs.
    Down(down::Down),
    /// Show which stack it is, whether it answers, and what waits.
    Status(status::Status),
    /// Print the local stack's variables: `eval "$(nagare env)"`.
    Env(exports::Env),
    /// Serve the web console of a stack, on AWS too.
    Console(console::ServeConsole),
    /// Print a token for VIEWER, for a local stack with --auth.
    Token(token::Token),
    #[command(flatten)]
    Verbs(Verbs),
    /// Import follows from a file.
    #[command(subcommand)]
    Follows(FollowsCommand),
    /// Publish an activity, or send a file of commands.
    Publish(publish::Publish),
    /// Change what an activity says.
    Update(UpdateActivity),
    /// Delete an activity permanently.
    Delete(DeleteActivity),
    /// Publish the rows of a CSV file as if they were happening now.
    Replay(replay::Replay),
    /// Set or show what somebody's profile says.
    #[command(subcommand)]
    Profile(profile::Profile),
    /// Open a poll, close it, and watch the votes.
    #[command(subcommand)]
    Poll(poll::Poll),
    /// Vote for CHOICE in POLL as VIEWER.
    #[command(override_usage = "nagare vote [OPTIONS] <VIEWER> <POLL> <CHOICE|--withdraw>")]
    Vote(poll::CastVote),
    /// Start a battle with a boss, hit it, and watch it.
    #[command(subcommand)]
    Battle(battle::Battle),
    /// Post a message of AUTHOR in ROOM.
    #[command(override_usage = "nagare say [OPTIONS] <ROOM> <AUTHOR> <TEXT|--payload <JSON>>")]
    Say(room::Say),
    /// Delete a message of AUTHOR permanently.
    Unsay(room::Unsay),
    /// Read a timeline.
    Timeline(timeline::Timeline),
    /// Read what ACTOR published, of any age.
    Page(timeline::PageOfActor),
    /// Read whom VIEWER follows.
    Following(people::Following),
    /// Read who follows ACTOR.
    Followers(people::Followers),
    /// Read what VIEWER is notified of, and mark it as read.
    Notifications(notifications::Notifications),
    /// Read what VIEWER is tagged in.
    Tagged(timeline::Tagged),
    /// Read the messages of ROOM, and follow new ones.
    Room(room::Room),
    /// Show what a local stack tells other systems by its event bus.
    ///
    /// The events that the functions send to EventBridge on AWS, where the template's EventBusName names a bus. A local stack keeps the last
    /// 1,000.
    Bus(bus::Bus),
    /// Show how far the fan-out of a large actor's activity has come.
    Fanout(fanout::Fanout),
    /// Record what customers of tenants did.
    #[command(subcommand)]
    Events(events::Events),
    /// Read what CUSTOMER of TENANT did.
    History(events::History),
    #[command(subcommand)]
    Tenant(tenant::Tenant),
    /// Compare what viewers see with the source of truth.
    ///
    /// An audit of activities, polls or battles writes 4,096 rows among the facts for each of the three, which expire after
    /// a day: by them it knows that all facts are folded.
    Audit(audit::Audit),
    /// List commands that gave up, send them again, or drop them.
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    /// Remove everything about one person, viewer and actor alike.
    ///
    /// Their timeline, follows, activities, profile, likes and what they are notified of, votes and hits, polls and battles,
    /// tags, messages, memberships of rooms, and dead letters. When it returns, nothing shows the name any more. Copies
    /// remain that nothing can shorten: what the streams had before (24 hours) and point-in-time recovery (35 days).
    Forget(forget::Forget),
    /// Print what a month on AWS costs, by service.
    Estimate(estimate::Estimate),
    /// Print completions for bash, zsh, fish, elvish or powershell.
    Completions(shell::Completions),
    /// Print the manual page: `nagare man | man -l -`.
    Man(shell::ManPage),
}

#[derive(Debug, Subcommand)]
enum FollowsCommand {
    /// Import a CSV file (or CSV.gz, or `-` for standard input) with the header `follower,followee`.
    Import(follows::Import),
}

#[derive(Debug, Args)]
struct UpdateActivity {
    /// Who published it.
    #[arg(long)]
    actor: ActorId,
    /// Its id.
    #[arg(long)]
    activity: ActivityId,
    /// The new payload, a JSON value of at most 4 KiB.
    #[arg(long)]
    payload: Payload,
    /// The new kind, if it changes.
    #[arg(long)]
    kind: Option<Kind>,
    /// When it was changed, as an RFC 3339 instant; now, if it is not given. The latest wins.
    #[arg(long)]
    at: Option<Timestamp>,
    #[command(flatten)]
    submission: Submission,
}

#[derive(Debug, Args)]
struct DeleteActivity {
    /// Who published it.
    #[arg(long)]
    actor: ActorId,
    /// Its id.
    #[arg(long)]
    activity: ActivityId,
    #[command(flatten)]
    submission: Submission,
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// [`Failure`] says what to tell the user, and the exit code.
    pub async fn run(self) -> Result<(), Failure> {
        call_timeout::choose()?;
        let command = self.command.unwrap_or_else(|| Subcommands::Up(Box::new(up::Up::sample())));
        if command.has_a_stack() {
            clock::go_by_stack().await;
        }
        match command {
            Subcommands::Up(up) => up.run().await,
            Subcommands::Console(console) => console.run().await,
            Subcommands::Down(down) => down.run().await,
            Subcommands::Status(status) => status.run().await,
            Subcommands::Env(env) => env.run(),
            Subcommands::Follows(FollowsCommand::Import(import)) => import.run().await,
            Subcommands::Publish(publish) => publish.run().await,
            Subcommands::Replay(replay) => replay.run().await,
            Subcommands::Verbs(verb) => verb.send().await,
            Subcommands::Profile(profile) => profile.run().await,
            Subcommands::Following(following) => following.run().await,
            Subcommands::Followers(followers) => followers.run().await,
            Subcommands::Notifications(notifications) => notifications.run().await,
            Subcommands::Poll(poll) => poll.run().await,
            Subcommands::Vote(vote) => vote.send().await,
            Subcommands::Battle(battle) => battle.run().await,
            Subcommands::Say(say) => say.send().await,
            Subcommands::Unsay(unsay) => unsay.send().await,
            Subcommands::Room(room) => room.run().await,
            Subcommands::Events(events) => events.run().await,
            Subcommands::History(history) => history.run().await,
            Subcommands::Tenant(tenant) => tenant.run().await,
            Subcommands::Update(update) => update.send().await,
            Subcommands::Delete(delete) => delete.send().await,
            Subcommands::Timeline(timeline) => timeline.run().await,
            Subcommands::Page(page) => page.run().await,
            Subcommands::Tagged(tagged) => tagged.run().await,
            Subcommands::Token(token) => token.run(),
            Subcommands::Fanout(fanout) => fanout.run().await,
            Subcommands::Forget(forget) => forget.run().await,
            Subcommands::Estimate(estimate) => estimate.run(),
            Subcommands::Audit(audit) => audit.run().await,
            Subcommands::DeadLetters(dead_letters) => dead_letters.run().await,
            Subcommands::Bus(bus) => bus.run().await,
            Subcommands::Completions(completions) => completions.run(),
            Subcommands::Man(page) => page.run(),
        }
    }
}

impl Subcommands {
    /// Whether it talks to a stack that runs already.
    fn has_a_stack(&self) -> bool {
        !matches!(
            self,
            Self::Up(_)
                | Self::Down(_)
                | Self::Env(_)
                | Self::Estimate(_)
                | Self::Completions(_)
                | Self::Man(_)
        )
    }
}

impl UpdateActivity {
    async fn send(self) -> Result<(), Failure> {
        let Self { actor: actor_id, activity: activity_id, payload, kind, at, submission } = self;
        let at = at.unwrap_or_else(|| clock::clock().now());
        submission
            .send(Command::Update(ActivityUpdate { activity_id, actor_id, at, payload, kind }))
            .await
    }
}

impl DeleteActivity {
    async fn send(self) -> Result<(), Failure> {
        let Self { actor: actor_id, activity: activity_id, submission } = self;
        submission.send(Command::Delete(Delete { activity_id, actor_id })).await
    }
}

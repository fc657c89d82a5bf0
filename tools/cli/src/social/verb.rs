//! Verbs that send one type of command: `nagare follow BOB ANNA`. Their arguments follow from the schema of commands.
//!
//! A member that has to be given is an argument, in the order of the declaration. All others are options.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use clap::{Arg, ArgMatches, Args, Command as CommandLine, Error, FromArgMatches, Subcommand};
use nagare_client::clock;
use nagare_client::command_forms::{self, Form, Member, Unsaid};
use shared::command::Command;

use crate::Failure;
use crate::submit::Submission;

/// A type of command.
pub(crate) trait CommandType {
    const NAME: &'static str;
}

/// Declares verbs: what each does, its name in this code, and its type of command.
macro_rules! verbs {
    ($(#[doc = $about:literal] $verb:ident: $name:literal,)+) => {
        $(
            #[derive(Debug)]
            pub(crate) struct $verb;

            impl CommandType for $verb {
                const NAME: &'static str = $name;
            }
        )+

        #[derive(Debug, Subcommand)]
        pub(crate) enum Verbs {
            $(#[doc = $about] $verb(Verb<$verb>),)+
        }

        impl Verbs {
            pub(crate) async fn send(self) -> Result<(), Failure> {
                match self {
                    $(Self::$verb(verb) => verb.send().await,)+
                }
            }
        }

        #[cfg(test)]
        const NAMES: &[&str] = &[$($name),+];
    };
}

verbs! {
    /// Make FOLLOWER follow FOLLOWEE.
    Follow: "follow.created",
    /// Make FOLLOWER unfollow FOLLOWEE.
    Unfollow: "follow.deleted",
    /// Like ACTIVITY as VIEWER.
    Like: "like.created",
    /// Take back the like of VIEWER for ACTIVITY.
    Unlike: "like.deleted",
    /// Tag TAGGED in ACTIVITY.
    Tag: "tag.created",
    /// Remove the tag of TAGGED from ACTIVITY.
    Untag: "tag.deleted",
    /// Join ROOM as VIEWER. From then on only its members read it.
    Join: "room.joined",
    /// Leave ROOM as VIEWER.
    Leave: "room.left",
}

/// `nagare battle hit`.
#[derive(Debug)]
pub(crate) struct Hit;

impl CommandType for Hit {
    const NAME: &'static str = "battle.hit";
}

/// The arguments of a verb.
#[derive(Debug)]
pub(crate) struct Verb<T> {
    /// The texts that were given, by member.
    given: BTreeMap<&'static str, String>,
    submission: Submission,
    of_type: PhantomData<T>,
}

fn members<T: CommandType>() -> &'static [Member] {
    command_forms::named(T::NAME).map_or(&[], |kind| &kind.members)
}

fn argument(member: &'static Member) -> Arg {
    let name = member.name.trim_end_matches("_id");
    let default = match member.unsaid {
        Unsaid::Now => " As an RFC 3339 instant; now, if it is not given.",
        Unsaid::Made => " A new one, if it is not given.",
        _ => "",
    };
    let help = format!("{}{default}", member.about);
    let arg = Arg::new(member.name.as_str()).value_name(name.to_uppercase());
    let arg = arg.help(help.trim_end_matches('.').to_owned());
    match member.unsaid == Unsaid::Missing && member.form != Form::Json {
        true => arg.required(true),
        false => arg.long(member.name.replace('_', "-")),
    }
}

impl<T: CommandType> Args for Verb<T> {
    fn augment_args(command: CommandLine) -> CommandLine {
        Submission::augment_args(command.args(members::<T>().iter().map(argument)))
    }

    fn augment_args_for_update(command: CommandLine) -> CommandLine {
        Self::augment_args(command)
    }
}

impl<T: CommandType> FromArgMatches for Verb<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = members::<T>().iter().filter_map(|member| {
            let name = member.name.as_str();
            Some((name, matches.get_one::<String>(name)?.clone()))
        });
        let submission = Submission::from_arg_matches(matches)?;
        Ok(Self { given: given.collect(), submission, of_type: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<T: CommandType> Verb<T> {
    pub(crate) async fn send(self) -> Result<(), Failure> {
        let now = clock::clock().now();
        let kind = command_forms::named(T::NAME)
            .ok_or_else(|| Failure::Usage(format!("{} is not a command", T::NAME)))?;
        let given = |member: &Member| self.given.get(member.name.as_str()).cloned();
        let body = command_forms::body(kind, given, now).map_err(|wrong| {
            let wrong: Vec<_> = wrong.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            Failure::Usage(wrong.join("; "))
        })?;
        let command = Command::parse(&body, now).map_err(|e| Failure::Usage(e.unredacted()))?;
        self.submission.send(command).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_sends_a_command() {
        for name in NAMES.iter().chain([&Hit::NAME]) {
            let kind = command_forms::named(name).expect(name);
            assert!(kind.members.iter().any(|member| member.unsaid == Unsaid::Missing), "{name}");
        }
    }

    #[test]
    fn arguments_are_in_the_order_of_the_declaration() {
        let usage = |command: CommandLine| command.no_binary_name(true).render_usage().to_string();
        let hit = Verb::<Hit>::augment_args(CommandLine::new("hit"));
        assert_eq!(usage(hit), "Usage: hit [OPTIONS] <BATTLE> <VIEWER> <DAMAGE>");
        let follow = Verb::<Follow>::augment_args(CommandLine::new("follow"));
        assert_eq!(usage(follow), "Usage: follow [OPTIONS] <FOLLOWER> <FOLLOWEE>");
    }

    #[test]
    fn what_is_given_is_taken_as_it_is() {
        let command = Verb::<Hit>::augment_args(CommandLine::new("hit")).no_binary_name(true);
        let line = ["dragon", "bob", "7", "--hit-id", "h", "--at", "2026-11-20T12:00:00Z"];
        let verb = Verb::<Hit>::from_arg_matches(&command.get_matches_from(line)).expect("a hit");
        let given: Vec<_> = verb.given.into_values().collect();
        assert_eq!(given, ["2026-11-20T12:00:00Z", "dragon", "7", "h", "bob"]);
    }
}

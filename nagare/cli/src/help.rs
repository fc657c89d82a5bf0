//! The help of the program: its commands in groups, by what somebody wants to do.
//!
//! clap lists all commands under one heading. Its template gets the groups in place of that list. What a command is and does is said
//! once, where the command is declared.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Command, CommandFactory};

use super::Cli;

/// The groups, in the order of somebody who begins. Every command is in one of them.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run a stack", &["up", "down", "status", "env", "console", "token"]),
    (
        "Send commands",
        &[
            "follow", "unfollow", "follows", "publish", "update", "delete", "replay", "like",
            "unlike", "tag", "untag", "profile", "poll", "vote", "battle", "say", "unsay", "join",
            "leave",
        ],
    ),
    (
        "Read",
        &[
            "timeline",
            "page",
            "following",
            "followers",
            "notifications",
            "tagged",
            "room",
            "bus",
            "fanout",
        ],
    ),
    ("Event history", &["events", "history", "tenant"]),
    ("Operate", &["audit", "dead-letters", "forget", "estimate"]),
    ("Set up a shell", &["completions", "man", "help"]),
];
/// Columns before the text of a command.
const INDENT: usize = 17;

/// The program's command line, with its help in groups.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> StyledStr {
    let styles = Styles::default();
    let header = styles.get_header();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{header}{group}:{header:#}\n");
        for name in names {
            text.push_str(&line(command, name, &styles));
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text.into()
}

/// One command, with the first sentence of what it does.
fn line(command: &Command, name: &str, styles: &Styles) -> String {
    let about = match command.find_subcommand(name).and_then(Command::get_about) {
        Some(about) => about.to_string(),
        // clap adds this one by itself.
        None => "Print this, or the help of a command".to_owned(),
    };
    let literal = styles.get_literal();
    let blanks = " ".repeat(INDENT.saturating_sub(2 + name.len()));
    format!("  {literal}{name}{literal:#}{blanks}{about}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let once: BTreeSet<_> = grouped.iter().copied().collect();
        assert_eq!(once.len(), grouped.len(), "none is in two groups");
        let mut program = Cli::command();
        program.build();
        let there: BTreeSet<_> = program.get_subcommands().map(Command::get_name).collect();
        assert_eq!(once, there);
    }

    #[test]
    fn a_line_of_the_list_fits_a_terminal() {
        let plain = Styles::plain();
        let command = Cli::command();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            let line = line(&command, name, &plain);
            assert!(line.trim_end().chars().count() <= 80, "{line}");
        }
    }
}

//! The help of the program: its commands in groups, by what somebody wants to do.
//!
//! clap lists all commands under one heading. Its template gets the groups in place of that list. What a command is and does is said
//! once, where the command is declared.

use std::fmt::Write as _;

use clap::builder::{StyledStr, Styles};
use clap::{Command, CommandFactory};

use super::Cli;

/// The groups, in the order of somebody who begins, each with its first command. The commands behind that, as they are declared, are of the
/// same group.
const GROUPS: [(&str, &str); 6] = [
    ("Run a stack", "up"),
    ("Send commands", "follow"),
    ("Read", "timeline"),
    ("Event history", "events"),
    ("Operate", "audit"),
    ("Set up a shell", "completions"),
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
    for name in command.get_subcommands().map(Command::get_name).chain(["help"]) {
        if let Some((group, _)) = GROUPS.iter().find(|(_, first)| *first == name) {
            let _ = write!(text, "\n{header}{group}:{header:#}\n");
        }
        text.push_str(&line(command, name, &styles));
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
    use super::*;

    #[test]
    fn every_group_has_its_commands_below_it() {
        let command = Cli::command();
        let first: Vec<_> = GROUPS.iter().map(|(_, first)| *first).collect();
        let there = command.get_subcommands().map(Command::get_name);
        let found: Vec<_> = there.filter(|name| first.contains(name)).collect();
        assert_eq!(found, first, "in this order, and none before the first");
        assert_eq!(command.get_subcommands().next().map(Command::get_name), Some(first[0]));
    }

    #[test]
    fn a_line_of_the_list_fits_a_terminal() {
        let plain = Styles::plain();
        let command = Cli::command();
        for name in command.get_subcommands().map(Command::get_name).chain(["help"]) {
            let line = line(&command, name, &plain);
            assert!(line.trim_end().chars().count() <= 80, "{line}");
        }
    }
}

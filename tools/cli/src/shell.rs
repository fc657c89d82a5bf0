//! `nagare completions` and `nagare man`: what a shell and `man` know of the program, printed for whoever installs it.

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::Failure;
use super::help;
use super::print::say;

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// For which shell.
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManPage {
    /// Of this command, in place of the whole program: `nagare man poll open`.
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut help::command(), "nagare", &mut script);
        say!("{}", String::from_utf8_lossy(&script).trim_end())
    }
}

impl ManPage {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut program = help::command();
        program.build();
        let command = self.command.iter().try_fold(&program, |command, name| {
            command.find_subcommand(name).ok_or_else(|| unknown(command, name))
        })?;
        let mut page = Vec::new();
        Man::new(command.clone()).render(&mut page)?;
        say!("{}", String::from_utf8_lossy(&page).trim_end())
    }
}

fn unknown(command: &Command, name: &str) -> Failure {
    Failure::Usage(format!("{} has no command {name}", command.get_name()))
}

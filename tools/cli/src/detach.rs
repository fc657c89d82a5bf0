//! `nagare up --detach`: the stack in a process of its own, which runs on.
//!
//! That process is this program again. The last line on its standard output says that it is ready. If it ends before that, its log
//! says why, and its exit code is passed on. The log is a file below the user's state directory, one for each port.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nagare_client::own_dir::{NewFile, OwnDir};
use nagare_client::running::{self, DirectoryError};

use super::Failure;
use super::print::{say, tell};

/// The option of the process that is started.
const DETACHED: &str = "--detached";
/// The option that starts it.
const DETACH: &str = "--detach";
/// How its last line begins; then comes the port.
const READY: &str = "# ready on port ";

/// The process of a stack, while it starts.
struct Starting {
    child: Child,
    log: NewFile,
    logs: OwnDir,
}

/// Starts a stack with the options of this process, and returns once it is ready.
///
/// # Errors
/// The failure of that process, with its exit code.
pub(super) fn start() -> Result<(), Failure> {
    let mut starting = Starting::spawn()?;
    let (lines, port) = starting.lines_until_ready()?;
    let Some(port) = port else { return Err(starting.failure()?) };
    let log = starting.keep_log(&port)?;
    lines.iter().try_for_each(|line| say!("{line}"))?;
    tell!("the stack runs on, and logs to {}; `nagare down` ends it", log.display());
    Ok(())
}

/// Says that this process, which was started so, is ready.
pub(super) fn say_ready(port: u16) -> Result<(), Failure> {
    say!("{READY}{port}")
}

impl Starting {
    fn spawn() -> Result<Self, Failure> {
        let logs = running::logs()?;
        let log = logs.new_file().map_err(DirectoryError::from)?;
        let child = Command::new(std::env::current_exe()?)
            .args(options())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.file.try_clone()?)
            .spawn()?;
        Ok(Self { child, log, logs })
    }

    /// The lines to pass on, and the port of the stack; without one it has ended.
    fn lines_until_ready(&mut self) -> Result<(Vec<String>, Option<String>), Failure> {
        let mut lines = Vec::new();
        if let Some(output) = self.child.stdout.take() {
            for line in BufReader::new(output).lines() {
                let line = line?;
                if let Some(port) = line.strip_prefix(READY) {
                    return Ok((lines, Some(port.to_owned())));
                }
                lines.push(line);
            }
        }
        Ok((lines, None))
    }

    /// Gives the log its name. The process goes on writing to it.
    fn keep_log(self, port: &str) -> Result<PathBuf, Failure> {
        let name = format!("{port}.log");
        self.log.keep(&name).map_err(DirectoryError::from)?;
        Ok(self.logs.path().join(name))
    }

    /// Why the process has ended.
    fn failure(mut self) -> Result<Failure, Failure> {
        let status = self.child.wait()?;
        let log = self.log.content().map_err(DirectoryError::from)?;
        let log = String::from_utf8_lossy(&log);
        let (before, last) = log.trim_end().rsplit_once('\n').unwrap_or(("", log.trim_end()));
        before.lines().for_each(|line| tell!("{line}"));
        let reason = match last.strip_prefix("nagare: ").unwrap_or(last) {
            "" => format!("the stack ended at its start ({status})"),
            reason => reason.to_owned(),
        };
        Ok(match status.code() {
            Some(2) => Failure::Usage(reason),
            Some(3) => Failure::Unreachable(reason),
            _ => Failure::No(reason),
        })
    }
}

/// The options of this process, but for the one that brought it here.
fn options() -> impl Iterator<Item = OsString> {
    let own = std::env::args_os().skip(1).filter(|option| option != DETACH);
    own.chain([DETACHED.into()])
}

//! `nagare console`: the web console of a stack that runs elsewhere, until Ctrl-C.

use clap::Args;
use tokio::sync::watch;

use super::Failure;
use super::print::say;
use crate::client::remote::Remote;
use crate::console::{Console, Mode, PATH};
use crate::local::serve_console;

#[derive(Debug, Args)]
pub(super) struct ServeConsole {
    /// The port on 127.0.0.1; 0: any free one.
    #[arg(long, default_value_t = 4000)]
    port: u16,
    /// Let forms change the stack, with your credentials. Without it the console only looks.
    #[arg(long)]
    write: bool,
}

impl ServeConsole {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let mode = if self.write { Mode::Write } else { Mode::ReadOnly };
        let console = Console::new(Remote::from_environment().await?, mode)?;
        let stack = match console.account() {
            None => "a local stack".to_owned(),
            Some(account) => account.to_string(),
        };
        let (stop, stopped) = watch::channel(false);
        let (address, serving) = serve_console(self.port, console.router(), stopped).await?;
        let may = if self.write { "it may change it, and asks before" } else { "it only looks" };
        say!("The console of {stack} is at {address}{PATH} ({may}). Ctrl-C ends it.")?;
        let serving = tokio::spawn(serving);
        super::up::stopped().await?;
        let _ = stop.send(true);
        let _ = serving.await;
        Ok(())
    }
}

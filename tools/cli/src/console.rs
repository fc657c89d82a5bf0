//! `nagare console`: the web console of a stack that runs elsewhere, until Ctrl-C.

use clap::Args;
use nagare_client::remote::Remote;
use nagare_console::{Access, Console, Mode};
use nagare_gateway::ports::{listen, port_of, url};
use tokio::sync::watch;

use super::Failure;
use super::print::say;

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
        let remote = Remote::from_environment().await?;
        let listener = listen(self.port).await?;
        let access = Access::of_run(port_of(&listener));
        let address = access.address(&url(&listener));
        let console = Console::new(remote, mode, access)?;
        let stack = match console.account() {
            None => "a local stack".to_owned(),
            Some(account) => account.to_string(),
        };
        let (stop, stopped) = watch::channel(false);
        let may = if self.write { "it may change it, and asks before" } else { "it only looks" };
        let serving = tokio::spawn(console.serve(listener, stopped));
        say!("The console of {stack} is at {address} ({may}). Ctrl-C ends it.")?;
        say!("Whoever has this address may do so with your credentials: keep it to yourself.")?;
        super::up::stopped().await?;
        let _ = stop.send(true);
        let _ = serving.await;
        Ok(())
    }
}

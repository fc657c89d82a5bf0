//! `nagare`: see [`nagare::cli`].

use std::process::ExitCode;

use clap::Parser;
use nagare::cli::Cli;

/// The stack allocates in every step of every call, and this allocator makes that cheaper.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_closed_output() {
                eprintln!("nagare: {failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

//! `nagare`: see [`nagare::cli`].

use std::process::ExitCode;

use clap::Parser;
use nagare::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("nagare: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

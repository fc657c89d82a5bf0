//! What maintainers do beside building and testing: `cargo xtask dist` makes what is given to those who have no compiler.
//!
//! ```text
//! dist/
//!   nagare_stack-VERSION-….whl           for pip
//!   nagare-VERSION-TARGET.tar.gz         the program
//!   Containerfile                        an image of it: `podman build dist`
//!   nagare                               what the image is made of
//!   functions/NAME.zip, template.yaml    for `sam deploy --template-file dist/template.yaml`
//!   stack-policy.json                    the policy of that stack
//! ```
//!
//! maturin makes the wheel and cargo-lambda the packages of functions. Both have to be installed: tests/wheel and tests/deploy
//! have their versions.

mod dist;
mod template;

use std::process::ExitCode;

use clap::Parser;

/// Tasks of maintainers.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Makes wheel, archive, image file, function packages and a template that is deployed without a compiler
    Dist(dist::Dist),
}

fn main() -> ExitCode {
    let Task::Dist(dist) = Task::parse();
    match dist.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

//! `nagare`: see [`nagare::cli`].

use std::process::ExitCode;

/// The stack allocates in every step of every call; this allocator is the cheaper one at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    nagare::cli::main()
}

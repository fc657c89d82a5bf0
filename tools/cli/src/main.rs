//! `nagare`: see the library of this package.

use std::process::ExitCode;

/// The stack allocates in every step of every call, and this allocator makes that cheaper.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    nagare::main()
}

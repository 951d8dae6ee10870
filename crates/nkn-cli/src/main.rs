//! The command `nkn`; what it does is in the library of the same crate, which the Python package calls too.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: nkn_cli::memory::Allocator = nkn_cli::memory::Allocator;

fn main() -> ExitCode {
    nkn_cli::run(std::env::args_os()).into()
}

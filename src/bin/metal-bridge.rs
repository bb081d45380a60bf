//! The command line; `metal-bridge --help` tells what it does.

#[path = "../cli/mod.rs"]
mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}

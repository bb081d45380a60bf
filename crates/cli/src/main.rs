//! The command line; `metal-bridge --help` tells what it does. One file a subcommand.

#![warn(clippy::undocumented_unsafe_blocks)]

mod analyze;
mod bench;
mod chat;
#[cfg(software_metal)]
mod check;
mod choices;
mod constraint;
mod failure;
mod files;
mod format;
mod generate;
#[cfg(software_metal)]
mod include_folders;
mod info;
#[cfg(software_metal)]
mod launch;
mod loading;
mod memory;
mod perplexity;
mod quantize;
mod serve;
#[cfg(software_metal)]
mod source;
mod stress;
mod table;
mod terminal;
mod topology;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use choices::{
    DecodingChoice, DeviceChoice, DevicesChoice, ModelChoice, SamplingChoice, SessionChoice,
    TemplateChoice,
};
use clap::{Parser, Subcommand};
use failure::Failure;

/// Runs Llama models through Metal: Apple's, or the software Metal on other systems.
#[derive(Parser)]
#[command(version, after_help = failure::EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Continue a text
    Generate(generate::Arguments),
    /// Chat with a model
    Chat(chat::Arguments),
    /// Answer requests of OpenAI's HTTP interface
    Serve(serve::Arguments),
    /// List the Metal devices and their limits
    Info(info::Arguments),
    /// Tell what joins the Metal devices, and how fast bytes move between them
    Topology(topology::Arguments),
    /// Measure how fast a model reads a prompt and generates, or how fast operations on tensors are
    Bench(bench::Arguments),
    /// Measure how well a model foretells a text
    Perplexity(perplexity::Arguments),
    /// Compile sources of the Metal Shading Language and tell what is in them and what is wrong
    #[cfg(software_metal)]
    Check(check::Arguments),
    /// Tell why a kernel is slow: how its threads accessed memory when it ran on the software Metal
    Analyze(analyze::Arguments),
    /// Write a model with its matrices in a smaller format
    Quantize(quantize::Arguments),
    /// Make, use and drop buffers for long, and watch that nothing grows
    Stress(stress::Arguments),
}

/// From now on a write beyond the process's limit for files (`ulimit -f`) is an error like that of a full disk: it has a message,
/// and what was written so far is removed.
#[cfg(unix)]
fn take_file_limit_as_error() {
    // SAFETY: the signal is ignored, so nothing runs when it comes. Nobody else of this process handles it.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

fn main() -> ExitCode {
    #[cfg(unix)]
    take_file_limit_as_error();
    let arguments = match Arguments::try_parse_from(env::args_os().map(long_option)) {
        Ok(arguments) => arguments,
        Err(message) => return explain(&message),
    };
    let outcome = match arguments.command {
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Chat(arguments) => chat::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Topology(arguments) => topology::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Perplexity(arguments) => perplexity::run(&arguments),
        #[cfg(software_metal)]
        Command::Check(arguments) => check::run(&arguments),
        Command::Analyze(arguments) => analyze::run(&arguments),
        Command::Quantize(arguments) => quantize::run(&arguments),
        Command::Stress(arguments) => stress::run(&arguments),
    };
    outcome.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// Prints what was asked for, such as `--help`, or what is wrong with the arguments.
fn explain(message: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(1));
    match message.print().and_then(|()| io::stdout().flush()) {
        Err(error) if !message.use_stderr() => Failure::from(error).report(),
        _ => code,
    }
}

/// Compilers' `-std=...` as the long option that it is here.
fn long_option(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.starts_with("-std=") => format!("-{text}").into(),
        _ => argument,
    }
}

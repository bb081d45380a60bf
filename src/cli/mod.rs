//! The subcommands of `metal-bridge`, one a file.

mod bench;
mod failure;
mod generate;
mod info;
mod loading;
mod memory;
mod stress;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use metal_bridge::Device;

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
    /// List the Metal devices and their limits
    Info(info::Arguments),
    /// Measure how fast a model reads a prompt and generates
    Bench(bench::Arguments),
    /// Make, use and drop buffers for long, and watch that nothing grows
    Stress(stress::Arguments),
}

/// Which device to run on.
#[derive(clap::Args)]
struct DeviceChoice {
    /// Index of the Metal device, as `info` lists them; the system's default otherwise
    #[arg(long, value_name = "INDEX")]
    device: Option<usize>,
}

impl DeviceChoice {
    fn open(&self) -> metal_bridge::Result<Device> {
        self.device.map_or_else(Device::system_default, Device::at)
    }
}

/// Which file holds the model.
#[derive(clap::Args)]
struct ModelChoice {
    /// The model: a GGUF file of the llama architecture
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,
}

/// Runs the command that the program was called with.
pub fn run() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Stress(arguments) => stress::run(&arguments),
    };
    outcome.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

//! `metal-bridge bench`: how fast a model reads a prompt and generates; `metal-bridge bench ops`: how fast operations are.

#[cfg(feature = "candle")]
#[path = "bench/beside_candle.rs"]
mod beside;
#[cfg(not(feature = "candle"))]
#[path = "bench/beside_nothing.rs"]
mod beside;
mod cases;
mod operations;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use metal_bridge::Device;
use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::TensorType;
use metal_bridge_llama::{self as llama, GenerateOptions, Generation, Model, Session};
use metal_bridge_workloads::synthetic::SyntheticModel;
use serde::Serialize;

use super::failure::Failure;
use super::{DevicesChoice, format, loading, memory};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// The model: a GGUF file of the llama architecture
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present = "synthetic"
    )]
    model: Option<PathBuf>,
    /// Measure a model of random weights in the shape of a known one: written to the file of --model unless that exists
    /// already, or without --model to a temporary file
    #[arg(long, value_name = "SHAPE")]
    synthetic: Option<Shape>,
    /// Formats of the synthetic model's matrices, which take them in turn
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', requires = "synthetic", default_value = "q8_0",
        ignore_case = true, value_parser = format::one_of(WeightType::ALL))]
    formats: Vec<WeightType>,
    #[command(flatten)]
    devices: DevicesChoice,
    /// Tokens of the prompt
    #[arg(short, long, value_name = "COUNT", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..))]
    prompt_tokens: u32,
    /// Tokens to generate
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 32, value_parser = clap::value_parser!(u32).range(2..))]
    generate_tokens: u32,
    /// Runs that are measured, after one that is not
    #[arg(short, long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to measure instead of a model.
#[derive(clap::Subcommand)]
enum What {
    /// Measure operations on tensors: time of the GPU, rates and the share of what the device is able to do
    Ops(operations::Arguments),
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shape {
    /// TinyLlama 1.1B: 22 layers, 2048 wide, 1.2 GB in Q8_0
    #[value(name = "tinyllama")]
    TinyLlama,
}

/// The rates of one model, in tokens a second.
#[derive(Serialize)]
struct Report {
    model: String,
    device: String,
    model_bytes: u64,
    prompt_tokens: u32,
    generate_tokens: u32,
    prefill: Rate,
    decode: Rate,
    dispatches_per_command_buffer: f64,
    peak_memory_bytes: Option<u64>,
}

/// The runs' mean, slowest and fastest.
#[derive(Serialize)]
struct Rate {
    mean: f64,
    slowest: f64,
    fastest: f64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(What::Ops(arguments)) = &arguments.what {
        return operations::run(arguments);
    }
    let devices = arguments.devices.open()?;
    let (path, _temporary) = model_file(arguments)?;
    let model = loading::load(&devices, &path)?;
    let report = measure(&model, arguments)?;
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&mut out, &report)?;
    }
    Ok(())
}

/// The model's file, and what deletes it in the end if it is temporary.
fn model_file(arguments: &Arguments) -> Result<(PathBuf, Option<Temporary>), Failure> {
    let (path, temporary) = match (&arguments.model, arguments.synthetic) {
        (Some(path), None) => return Ok((path.clone(), None)),
        (Some(path), Some(_)) if path.exists() => return Ok((path.clone(), None)),
        (Some(path), Some(_)) => (path.clone(), None),
        (None, _) => {
            let path = std::env::temp_dir().join(format!(
                "metal-bridge-synthetic-{}.gguf",
                std::process::id()
            ));
            (path.clone(), Some(Temporary(path)))
        }
    };
    let _ = writeln!(
        io::stderr(),
        "writing a synthetic model to {}",
        path.display()
    );
    let formats = arguments.formats.iter().copied();
    let model = SyntheticModel {
        matrix_types: formats.map(TensorType::of).collect(),
        ..SyntheticModel::tiny_llama()
    };
    let written = model.write(&path, 0);
    written.map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok((path, temporary))
}

/// Deletes a file when dropped.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // A file that is gone already needs no deleting.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn measure(model: &Model, arguments: &Arguments) -> Result<Report, Failure> {
    let mut session = Session::new(model)?;
    if arguments.prompt_tokens as usize > session.context() {
        // Refused before a list of so many tokens takes gigabytes.
        return Err(llama::Error::ContextExceeded {
            tokens: arguments.prompt_tokens as usize,
            position: 0,
            context: session.context(),
        }
        .into());
    }
    // All tokens cost the same. These repeat only after the whole vocabulary.
    let vocabulary = model.config().vocabulary as u32;
    let prompt: Vec<u32> = (0..arguments.prompt_tokens)
        .map(|index| index % vocabulary)
        .collect();
    let options = GenerateOptions {
        max_tokens: Some(arguments.generate_tokens as usize),
        ignore_end: true,
        ..GenerateOptions::default()
    };
    let mut runs = Vec::new();
    for _ in 0..=arguments.repetitions {
        session.truncate(0);
        runs.push(session.generate_tokens(&prompt, &options, |_| ControlFlow::Continue(()))?);
    }
    // The first run faults memory in and fills caches.
    let measured = &runs[1..];
    let counts = measured[0].counts;
    Ok(Report {
        model: model
            .config()
            .name
            .clone()
            .unwrap_or_else(|| "unnamed".into()),
        device: model
            .devices()
            .map(Device::name)
            .collect::<Vec<_>>()
            .join(", "),
        model_bytes: model.file_size(),
        prompt_tokens: arguments.prompt_tokens,
        generate_tokens: arguments.generate_tokens,
        prefill: rate(measured, Generation::prefill_rate),
        decode: rate(measured, Generation::decode_rate),
        dispatches_per_command_buffer: counts.dispatches as f64 / counts.command_buffers as f64,
        peak_memory_bytes: memory::peak(),
    })
}

fn rate(runs: &[Generation], of: impl Fn(&Generation) -> f64) -> Rate {
    let rates: Vec<f64> = runs.iter().map(of).collect();
    Rate {
        mean: rates.iter().sum::<f64>() / rates.len() as f64,
        slowest: rates.iter().copied().fold(f64::INFINITY, f64::min),
        fastest: rates.iter().copied().fold(0.0, f64::max),
    }
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "{} ({} MB) on {}",
        report.model,
        report.model_bytes / 1_000_000,
        report.device
    )?;
    writeln!(out)?;
    writeln!(out, "            tokens   tokens/s   slowest   fastest")?;
    for (name, tokens, rate) in [
        ("prefill", report.prompt_tokens, &report.prefill),
        ("decode", report.generate_tokens, &report.decode),
    ] {
        let Rate {
            mean,
            slowest,
            fastest,
        } = rate;
        writeln!(
            out,
            "{name:<10} {tokens:>7} {mean:>10.2} {slowest:>9.2} {fastest:>9.2}"
        )?;
    }
    writeln!(out)?;
    if let Some(peak) = report.peak_memory_bytes {
        let over = peak.saturating_sub(report.model_bytes) / 1_000_000;
        writeln!(
            out,
            "peak memory {} MB, {over} MB over the model",
            peak / 1_000_000
        )?;
    }
    writeln!(
        out,
        "{:.0} dispatches a command buffer",
        report.dispatches_per_command_buffer
    )
}

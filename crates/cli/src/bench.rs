//! `metal-bridge bench`: how fast a model reads a prompt and decodes; `metal-bridge bench ops`: how fast operations are.

#[cfg(feature = "candle")]
#[path = "bench/beside_candle.rs"]
mod beside;
#[cfg(not(feature = "candle"))]
#[path = "bench/beside_nothing.rs"]
mod beside;
mod cases;
mod engine;
mod operations;
mod report;
mod test;

use std::io::{self, Write};
use std::path::PathBuf;

use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::TensorType;
use metal_bridge_workloads::synthetic::SyntheticModel;

use super::failure::Failure;
use super::{DecodingChoice, DevicesChoice, format};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
    /// The model: a GGUF file, or a directory with config.json, safetensors files and tokenizer.json
    #[arg(
        short,
        long,
        value_name = "PATH",
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
    #[command(flatten)]
    decoding: DecodingChoice,
    /// Tokens of a prompt (pp), one test for each length; 0 for none
    #[arg(
        short,
        long,
        value_name = "COUNTS",
        value_delimiter = ',',
        default_value = "512"
    )]
    prompt_tokens: Vec<u32>,
    /// Tokens to decode one by one (tg), one test for each length; 0 for none
    #[arg(
        short = 'n',
        long,
        value_name = "COUNTS",
        value_delimiter = ',',
        default_value = "128"
    )]
    generate_tokens: Vec<u32>,
    /// Texts that are decoded at once (x), one test for each number
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: Vec<u16>,
    /// Tokens that come before: every test runs at each depth
    #[arg(
        short,
        long,
        value_name = "COUNTS",
        value_delimiter = ',',
        default_value = "0"
    )]
    depths: Vec<u32>,
    /// Runs of a test that are measured, after one that is not
    #[arg(short, long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Print JSON instead of a table in Markdown
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

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(What::Ops(arguments)) = &arguments.what {
        return operations::run(arguments);
    }
    let tests = test::tests(
        &arguments.prompt_tokens,
        &arguments.generate_tokens,
        &arguments.parallel,
        &arguments.depths,
    );
    if tests.is_empty() {
        return Err(Failure::new(
            "nothing to measure: all prompts and all texts to generate have 0 tokens",
        ));
    }
    let devices = arguments.devices.open()?;
    let (path, _temporary) = model_file(arguments)?;
    let decoding = arguments.decoding;
    let rows = engine::measure(&path, &devices, decoding, &tests, arguments.repetitions)?;
    let mut out = io::stdout().lock();
    if arguments.json {
        report::print_json(&mut out, &rows)?;
    } else {
        report::print_markdown(&mut out, &rows)?;
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

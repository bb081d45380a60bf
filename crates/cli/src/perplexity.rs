//! `metal-bridge perplexity`: how well a model foretells a text.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use metal_bridge_llama::{Perplexity, PerplexityOptions, Session, SessionOptions};
use serde::Serialize;

use super::ModelChoice;
use super::choices::{Activations, Cache};
use super::failure::Failure;
use super::files;

/// Perplexity is e to the power of the mean, over a text's tokens, of the negative logarithm of the probability that the model
/// gave each: the smaller, the better.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelChoice,
    /// The text
    #[arg(short, long, value_name = "TEXT")]
    file: PathBuf,
    /// Tokens of a window; 512 otherwise, or the model's context if that is smaller. Windows lie side by side, and the
    /// second half of each counts
    #[arg(short, long, value_name = "COUNT")]
    context: Option<usize>,
    /// Begin a window this many tokens after the one before it, and count as many at the end of each
    #[arg(long, value_name = "COUNT")]
    stride: Option<usize>,
    /// Most windows; otherwise all that the text fills
    #[arg(long, value_name = "COUNT", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    windows: Option<usize>,
    /// How keys and values are kept
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    cache: Cache,
    /// What quantized weights are multiplied by
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    activations: Activations,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Tokens of a window by default.
const CONTEXT: usize = 512;

#[derive(Serialize)]
struct Report {
    perplexity: f64,
    standard_error: Option<f64>,
    mean_surprise: f64,
    tokens: usize,
    windows: usize,
    context: usize,
    stride: Option<usize>,
    seconds: f64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let named = |error| Failure::new(format!("{}: {error}", arguments.file.display()));
    let bytes =
        files::read(&arguments.file, files::COLLECTED).map_err(|error| named(error.to_string()))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| named(format!("the text is not UTF-8: {error}")))?;
    let model = arguments.model.load()?;
    let tokenizer = model.tokenizer();
    let begin = tokenizer.bos().filter(|_| tokenizer.adds_bos());
    // What the text spells like a control token is letters, as everything in it.
    let text = tokenizer
        .encode_plain(&text)
        .map_err(|error| named(error.to_string()))?;
    let tokens: Vec<u32> = begin.into_iter().chain(text).collect();
    let options = SessionOptions {
        context: arguments
            .context
            .or(Some(model.config().context.min(CONTEXT))),
        cache_element: arguments.cache.element(),
        activations: arguments.activations.of_session(),
        ..SessionOptions::default()
    };
    let mut session = Session::with_options(&model, &options)?;
    let options = PerplexityOptions {
        stride: arguments.stride,
        windows: arguments.windows,
    };
    let begin = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    let result = session.perplexity(&tokens, &options, |so_far| {
        let bar = bar.get_or_insert_with(|| progress_bar(so_far.of_windows));
        bar.set_position(so_far.windows as u64);
        bar.set_message(format!("{:.4}", so_far.value()));
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let result = result?;
    let report = Report {
        perplexity: result.value(),
        standard_error: result.standard_error(),
        mean_surprise: result.mean(),
        tokens: result.tokens,
        windows: result.windows,
        context: session.context(),
        stride: arguments.stride,
        seconds: begin.elapsed().as_secs_f64(),
    };
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&mut out, &report, &result)?;
    }
    Ok(())
}

/// Shown on standard error, if that is a terminal.
fn progress_bar(windows: usize) -> ProgressBar {
    let style = "windows {bar:40} {pos}/{len} ({eta}), perplexity so far {msg}";
    let style = ProgressStyle::with_template(style);
    let bar = ProgressBar::new(windows as u64);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn print(out: &mut impl Write, report: &Report, result: &Perplexity) -> io::Result<()> {
    write!(out, "perplexity {:.4}", report.perplexity)?;
    if let Some(error) = report.standard_error {
        write!(out, " +/- {error:.5}")?;
    }
    writeln!(out)?;
    let read = result.windows * report.context;
    writeln!(
        out,
        "{} tokens counted in {} windows of {} tokens, {:.2} tokens/s",
        report.tokens,
        report.windows,
        report.context,
        read as f64 / report.seconds
    )
}

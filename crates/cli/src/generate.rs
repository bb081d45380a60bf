//! `metal-bridge generate`: continue a text.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal, Read, Write};
use std::num::ParseFloatError;
use std::ops::ControlFlow;

use metal_bridge::Device;
use metal_bridge::ops::KvElement;
use metal_bridge_llama::sampling::{Sampler, Sampling};
use metal_bridge_llama::{GenerateOptions, Generation, Session, SessionOptions, StopReason};

use super::failure::Failure;
use super::{DevicesChoice, ModelChoice, loading};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelChoice,
    #[command(flatten)]
    devices: DevicesChoice,
    /// The text to continue; read from standard input if left out
    prompt: Option<String>,
    /// Most tokens to generate; otherwise until the text ends or the context is full
    #[arg(short = 'n', long, value_name = "COUNT")]
    max_tokens: Option<usize>,
    /// Most tokens of prompt and text together; otherwise the model's context, at most 4096
    #[arg(short, long, value_name = "COUNT")]
    context: Option<usize>,
    /// How the keys and values of the text are kept
    #[arg(long, value_name = "TYPE", default_value = "f32")]
    cache: Cache,
    /// Record the dispatches of a token once and replay them: less work for the CPU, the same text
    #[arg(long)]
    replay: bool,
    /// 0 always takes the likeliest token; higher is more surprising
    #[arg(
        short,
        long,
        value_name = "NUMBER",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        value_parser = parse_temperature
    )]
    temperature: f32,
    /// Draw from this many of the likeliest tokens; 0 for all
    #[arg(long, value_name = "COUNT", default_value_t = 40)]
    top_k: usize,
    /// Draw from the likeliest tokens that together have this probability
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0.95,
        allow_negative_numbers = true,
        value_parser = parse_top_p
    )]
    top_p: f32,
    /// Seed of the random numbers: equal seeds give equal texts; otherwise a random one
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print the generated text only, without the prompt before it
    #[arg(long)]
    no_prompt: bool,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Cache {
    /// 32-bit floats
    F32,
    /// 16-bit floats: half the memory, rounded
    F16,
}

fn parse_temperature(text: &str) -> Result<f32, String> {
    checked(text, |temperature| Sampling {
        temperature,
        ..Sampling::default()
    })
}

fn parse_top_p(text: &str) -> Result<f32, String> {
    checked(text, |top_p| Sampling {
        top_p,
        ..Sampling::default()
    })
}

/// The number in `text`, if one can sample with it.
fn checked(text: &str, settings: impl Fn(f32) -> Sampling) -> Result<f32, String> {
    let number = text
        .parse()
        .map_err(|error: ParseFloatError| error.to_string())?;
    Sampler::new(settings(number)).map_err(|error| error.to_string())?;
    Ok(number)
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let prompt = prompt(arguments)?;
    let devices = arguments.devices.open()?;
    let model = loading::load(&devices, &arguments.model.model)?;
    let options = SessionOptions {
        context: arguments.context,
        cache_element: match arguments.cache {
            Cache::F32 => KvElement::F32,
            Cache::F16 => KvElement::F16,
        },
        replay: arguments.replay,
        ..SessionOptions::default()
    };
    let mut session = Session::with_options(&model, &options)?;
    let sampling = Sampling {
        temperature: arguments.temperature,
        top_k: arguments.top_k,
        top_p: arguments.top_p,
        seed: arguments
            .seed
            .unwrap_or_else(|| RandomState::new().hash_one(0)),
    };
    let options = GenerateOptions {
        max_tokens: arguments.max_tokens,
        sampling,
        ..GenerateOptions::default()
    };

    let mut out = io::stdout().lock();
    if !arguments.no_prompt {
        out.write_all(prompt.as_bytes())?;
    }
    let mut written = out.flush();
    let generation = session.generate(&prompt, &options, |text| {
        written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if written.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    written?;
    // The generated text ends its line, so that a failure is reported on a line of its own.
    out.write_all(b"\n")?;
    let generation = generation?;
    if !arguments.quiet {
        // A summary that cannot be written does not fail the command.
        let _ = summary(&mut io::stderr(), &generation, &sampling);
    }
    Ok(())
}

fn prompt(arguments: &Arguments) -> Result<String, Failure> {
    if let Some(prompt) = &arguments.prompt {
        return Ok(prompt.clone());
    }
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        // Otherwise a program that waits for input seems to hang.
        let _ = writeln!(
            io::stderr(),
            "metal-bridge: reading the prompt from standard input"
        );
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes)?;
    let mut prompt = String::from_utf8(bytes)
        .map_err(|error| Failure::new(format!("the prompt is not UTF-8 text: {error}")))?;
    if prompt.ends_with('\n') {
        // The end of the last line is the shell's, and not part of the text.
        prompt.pop();
    }
    Ok(prompt)
}

fn summary(out: &mut impl Write, generation: &Generation, sampling: &Sampling) -> io::Result<()> {
    let seconds = |time: std::time::Duration| time.as_secs_f64();
    writeln!(out)?;
    writeln!(
        out,
        "prefill  {:>5} tokens in {:>7.3} s  {:>8.2} tokens/s",
        generation.prompt_tokens,
        seconds(generation.prefill),
        generation.prefill_rate()
    )?;
    writeln!(
        out,
        "decode   {:>5} tokens in {:>7.3} s  {:>8.2} tokens/s",
        generation.decoded_tokens,
        seconds(generation.decode),
        generation.decode_rate()
    )?;
    if let Some(host) = generation.decode_host_per_token() {
        let micros = host.as_secs_f64() * 1e6;
        writeln!(
            out,
            "host     {micros:.1} us a decoded token, to encode and commit"
        )?;
    }
    let reason = match generation.stop {
        StopReason::End => "the model ended the text",
        StopReason::MaxTokens => "as many tokens as asked for",
        StopReason::Context => "the context is full",
        StopReason::Callback => "interrupted",
    };
    writeln!(out, "stopped  {reason}")?;
    if sampling.temperature > 0.0 {
        writeln!(out, "seed     {}", sampling.seed)?;
    }
    let counts = generation.counts;
    writeln!(
        out,
        "GPU      {} command buffers, {} dispatches",
        counts.command_buffers, counts.dispatches
    )?;
    writeln!(out, "live     {}", Device::live_objects())
}

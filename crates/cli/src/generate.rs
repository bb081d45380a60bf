//! `metal-bridge generate`: continue a text.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use metal_bridge::Device;
use metal_bridge_llama::sampling::Sampling;
use metal_bridge_llama::{GenerateOptions, Generation, Session, StopReason};

use super::constraint::ConstraintChoice;
use super::failure::Failure;
use super::files;
use super::terminal::shown;
use super::{ModelChoice, SamplingChoice, SessionChoice};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelChoice,
    /// The text to continue; read from standard input if left out
    prompt: Option<String>,
    /// Most tokens to generate; otherwise until the text ends or the context is full
    #[arg(short = 'n', long, value_name = "COUNT")]
    max_tokens: Option<usize>,
    #[command(flatten)]
    session: SessionChoice,
    #[command(flatten)]
    sampling: SamplingChoice,
    #[command(flatten)]
    constraint: ConstraintChoice,
    /// Print the generated text only, without the prompt before it
    #[arg(long)]
    no_prompt: bool,
    /// Print no summary
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let prompt = prompt(arguments)?;
    let model = arguments.model.load()?;
    let mut session = Session::with_options(&model, &arguments.session.options())?;
    let sampling = Sampling {
        constraint: arguments.constraint.constraint(&model)?,
        ..arguments.sampling.sampling()
    };
    let options = GenerateOptions {
        max_tokens: arguments.max_tokens,
        sampling: sampling.clone(),
        ..GenerateOptions::default()
    };

    let mut out = io::stdout().lock();
    if !arguments.no_prompt {
        out.write_all(prompt.as_bytes())?;
    }
    let mut written = out.flush();
    let generation = session.generate(&prompt, &options, |text| {
        let shown = shown(text);
        written = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
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
    let stdin = io::stdin().lock();
    if stdin.is_terminal() {
        // Otherwise a program that waits for input seems to hang.
        let _ = writeln!(
            io::stderr(),
            "metal-bridge: reading the prompt from standard input"
        );
    }
    let bytes = files::read_from(stdin, files::WRITTEN)
        .map_err(|error| Failure::new(format!("the prompt: {error}")))?;
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
        StopReason::Constraint => "the constraint lets nothing come after it",
    };
    let counts = generation.counts;
    if counts.drafted > 0 {
        let (accepted, drafted) = (counts.accepted, counts.drafted);
        writeln!(out, "drafts   {accepted} of {drafted} tokens accepted")?;
    }
    writeln!(out, "stopped  {reason}")?;
    if sampling.temperature > 0.0 {
        writeln!(out, "seed     {}", sampling.seed)?;
    }
    writeln!(
        out,
        "GPU      {} command buffers, {} dispatches",
        counts.command_buffers, counts.dispatches
    )?;
    writeln!(out, "live     {}", Device::live_objects())
}

//! Measures a model as llama-bench does: reading a prompt (pp), and decoding tokens one by one (tg), after texts of some lengths.

use std::path::Path;
use std::time::{Duration, Instant};

use metal_bridge::Device;
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::{self as llama, Model, Session, SessionOptions};

use super::Arguments;
use super::report::{ModelSummary, Row};
use crate::failure::Failure;
use crate::{loading, memory};

/// What one row of the table measures.
#[derive(Clone, Copy)]
pub struct Test {
    pub kind: Kind,
    /// Tokens of the prompt, or tokens that are decoded.
    pub tokens: usize,
    /// Tokens that the session holds before.
    pub depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    Decode,
}

impl Test {
    /// llama-bench's name for it, such as `pp512` or `tg128 @ d4096`.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Prompt => "pp",
            Kind::Decode => "tg",
        };
        match self.depth {
            0 => format!("{kind}{}", self.tokens),
            depth => format!("{kind}{} @ d{depth}", self.tokens),
        }
    }

    fn run(&self, session: &mut Session, tokens: &[u32]) -> llama::Result<()> {
        let tokens = &tokens[self.depth..][..self.tokens];
        match self.kind {
            Kind::Prompt => session.feed(tokens),
            Kind::Decode => tokens.chunks(1).try_for_each(|token| session.feed(token)),
        }
    }
}

/// The tests that `arguments` ask for: at each depth all prompts, then all lengths of decoding.
fn tests(arguments: &Arguments) -> Vec<Test> {
    let kinds = [
        (Kind::Prompt, &arguments.prompt_tokens),
        (Kind::Decode, &arguments.generate_tokens),
    ];
    let mut tests = Vec::new();
    for &depth in &arguments.depths {
        for (kind, lengths) in kinds {
            let wanted = lengths.iter().filter(|&&tokens| tokens > 0);
            tests.extend(wanted.map(|&tokens| Test {
                kind,
                tokens: tokens as usize,
                depth: depth as usize,
            }));
        }
    }
    tests
}

/// A row for each test.
pub fn measure(path: &Path, arguments: &Arguments) -> Result<Vec<Row>, Failure> {
    let tests = tests(arguments);
    if tests.is_empty() {
        return Err(Failure::new(
            "nothing to measure: all prompts and all texts to generate have 0 tokens",
        ));
    }
    let devices = arguments.devices.open()?;
    let model = loading::load(&devices, path)?;
    let named = |source| llama::Error::File {
        path: path.to_owned(),
        source,
    };
    let summary = ModelSummary::new(&Gguf::open(path).map_err(named)?);
    let mut session = session(&model, &tests)?;
    // All tokens cost the same. These repeat only after the whole vocabulary.
    let vocabulary = model.config().vocabulary as u32;
    let tokens: Vec<u32> = (0..session.context() as u32)
        .map(|index| index % vocabulary)
        .collect();
    let mut rows = Vec::new();
    for test in tests {
        if session.position() < test.depth {
            session.feed(&tokens[session.position()..test.depth])?;
        }
        let before = session.counts();
        let times = times(&mut session, &test, &tokens, arguments.repetitions)?;
        let counts = session.counts();
        let buffers = counts.command_buffers - before.command_buffers;
        rows.push(Row {
            model: summary.clone(),
            backend: model
                .devices()
                .map(Device::name)
                .collect::<Vec<_>>()
                .join(", "),
            threads: threads(),
            test,
            times,
            dispatches_per_command_buffer: (counts.dispatches - before.dispatches) as f64
                / buffers as f64,
            peak_memory_bytes: memory::peak(),
        });
    }
    Ok(rows)
}

/// A session that the longest test just fits into.
fn session(model: &Model, tests: &[Test]) -> Result<Session, Failure> {
    let context = model.config().context;
    let mut needed = 1;
    for test in tests {
        // Refused before a list of so many tokens takes gigabytes.
        let fits = |end: &usize| *end <= context;
        let end = test.depth.checked_add(test.tokens).filter(fits);
        needed = needed.max(end.ok_or(llama::Error::ContextExceeded {
            tokens: test.tokens,
            position: test.depth,
            context,
        })?);
    }
    let options = SessionOptions {
        context: Some(needed),
        ..SessionOptions::default()
    };
    Ok(Session::with_options(model, &options)?)
}

/// The times of the runs after the first, which faults memory in and fills caches.
fn times(
    session: &mut Session,
    test: &Test,
    tokens: &[u32],
    repetitions: u32,
) -> Result<Vec<Duration>, Failure> {
    let warm_up = Test {
        tokens: match test.kind {
            Kind::Prompt => test.tokens,
            Kind::Decode => 1,
        },
        ..*test
    };
    session.truncate(test.depth);
    warm_up.run(session, tokens)?;
    let mut times = Vec::new();
    for _ in 0..repetitions {
        session.truncate(test.depth);
        let begin = Instant::now();
        test.run(session, tokens)?;
        times.push(begin.elapsed());
    }
    session.truncate(test.depth);
    Ok(times)
}

/// The threads that may compute: the host's cores, or on the software Metal what its setting says.
fn threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if !cfg!(software_metal) {
        return cores;
    }
    let setting = std::env::var("SOFTWARE_METAL_THREADS").ok();
    let threads = setting.and_then(|setting| setting.parse().ok());
    threads.filter(|&threads| threads > 0).unwrap_or(cores)
}

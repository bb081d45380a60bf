//! Measures a model as llama-bench does: reading a prompt (pp), and decoding tokens one by one (tg), after texts of some lengths.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use metal_bridge::Device;
use metal_bridge_llama::{
    self as llama, Answer, Counts, GenerateOptions, Model, Piece, Reader, Request, Scheduler,
    Session, SessionOptions,
};

use super::report::{ModelSummary, Row};
use super::test::{Kind, Test};
use crate::failure::Failure;
use crate::{DecodingChoice, loading, memory};

/// A row for each test.
pub fn measure(
    path: &Path,
    devices: &[Device],
    decoding: DecodingChoice,
    tests: &[Test],
    repetitions: u32,
) -> Result<Vec<Row>, Failure> {
    let model = loading::load(devices, path)?;
    let summary = ModelSummary::new(&llama::open(path)?);
    let mut session = session(&model, decoding, tests)?;
    // All tokens cost the same. These repeat only after the whole vocabulary.
    let vocabulary = model.config().vocabulary as u32;
    let longest = tests.iter().map(|test| test.depth + test.tokens).max();
    let tokens: Vec<u32> = (0..longest.unwrap_or_default() as u32)
        .map(|index| index % vocabulary)
        .collect();
    let mut rows = Vec::new();
    for &test in tests {
        let measured = match test.texts {
            1 => one_text(&mut session, &test, &tokens, repetitions)?,
            _ => several_texts(&model, decoding, &test, &tokens, repetitions)?,
        };
        let buffers = measured.counts.command_buffers as f64;
        rows.push(Row {
            model: summary.clone(),
            backend: model
                .devices()
                .map(Device::name)
                .collect::<Vec<_>>()
                .join(", "),
            threads: threads(),
            test,
            decoding,
            times: measured.times,
            host_time_per_command_buffer: measured.host_time.div_f64(buffers),
            dispatches_per_command_buffer: measured.counts.dispatches as f64 / buffers,
            peak_memory_bytes: memory::peak(),
        });
    }
    Ok(rows)
}

/// A session that the longest test of one text just fits into.
fn session(model: &Model, decoding: DecodingChoice, tests: &[Test]) -> Result<Session, Failure> {
    let context = model.config().context;
    let mut needed = 1;
    for test in tests {
        let end = end_of(test);
        // Refused before a list of so many tokens takes gigabytes.
        if end > context {
            return Err(Failure::from(llama::Error::ContextExceeded {
                tokens: end - test.depth,
                position: test.depth,
                context,
            }));
        }
        if test.texts == 1 {
            needed = needed.max(end);
        }
    }
    Ok(Session::with_options(
        model,
        &decoding.options(Some(needed)),
    )?)
}

/// The runs after the first, which faults memory in and fills caches; counts are of all.
struct Measured {
    times: Vec<Duration>,
    counts: Counts,
    host_time: Duration,
}

fn one_text(
    session: &mut Session,
    test: &Test,
    tokens: &[u32],
    repetitions: u32,
) -> Result<Measured, Failure> {
    if session.position() < test.depth {
        session.feed(&tokens[session.position()..test.depth])?;
    }
    let (before, host) = (session.counts(), session.host_time());
    let tokens = &tokens[test.depth..][..test.tokens];
    let mut run = |tokens: &[u32]| {
        session.truncate(test.depth);
        let begin = Instant::now();
        match test.kind {
            Kind::Prompt => session.feed(tokens)?,
            Kind::Decode => tokens.chunks(1).try_for_each(|token| session.feed(token))?,
        }
        Ok::<_, Failure>(begin.elapsed())
    };
    run(match test.kind {
        Kind::Prompt => tokens,
        Kind::Decode => &tokens[..1],
    })?;
    let times = (0..repetitions).map(|_| run(tokens));
    let times = times.collect::<Result<_, _>>()?;
    session.truncate(test.depth);
    Ok(Measured {
        times,
        counts: session.counts() - before,
        host_time: session.host_time() - host,
    })
}

/// The tokens of each text of a test in the end.
fn end_of(test: &Test) -> usize {
    let end = test.depth.saturating_add(test.tokens);
    if test.texts == 1 {
        return end;
    }
    // While the last text reads its beginning, the others are decoded already.
    let passes = test.depth / SessionOptions::default().batch + 1;
    end.saturating_add(passes * test.texts + 1)
}

/// Decodes texts that all hold their beginnings.
fn several_texts(
    model: &Model,
    decoding: DecodingChoice,
    test: &Test,
    tokens: &[u32],
    repetitions: u32,
) -> Result<Measured, Failure> {
    let prompt = test.depth.max(1);
    let options = decoding.options(Some(end_of(test)));
    let mut scheduler = Scheduler::new(model, test.texts, &options)?;
    let (mut times, mut counts, mut host_time) = (Vec::new(), Counts::default(), Duration::ZERO);
    for _ in 0..=repetitions {
        let state = Rc::new(State::default());
        for _ in 0..test.texts {
            let request = Request {
                prompt: tokens[..prompt].to_vec(),
                options: GenerateOptions {
                    ignore_end: true,
                    ..GenerateOptions::default()
                },
                uses_cache: false,
            };
            state.absent.set(state.absent.get() + 1);
            let watcher = Watcher {
                state: Rc::clone(&state),
                is_decoded: false,
            };
            scheduler.add(request, watcher);
        }
        while state.absent.get() > 0 {
            scheduler.step();
            state.check()?;
        }
        let (before, host) = (scheduler.counts(), scheduler.host_time());
        let begin = Instant::now();
        (0..test.tokens).for_each(|_| scheduler.step());
        times.push(begin.elapsed());
        counts = counts + (scheduler.counts() - before);
        host_time += scheduler.host_time() - host;
        state.is_over.set(true);
        scheduler.step();
        state.check()?;
    }
    times.remove(0);
    Ok(Measured {
        times,
        counts,
        host_time,
    })
}

/// What the readers of several texts have in common.
#[derive(Default)]
struct State {
    /// Texts that are not decoded yet.
    absent: Cell<usize>,
    is_over: Cell<bool>,
    error: RefCell<Option<llama::Error>>,
}

impl State {
    fn check(&self) -> Result<(), Failure> {
        self.error.take().map_or(Ok(()), |error| Err(error.into()))
    }
}

struct Watcher {
    state: Rc<State>,
    is_decoded: bool,
}

impl Reader for Watcher {
    fn piece(&mut self, _: Piece<'_>) -> ControlFlow<()> {
        if !self.is_decoded {
            self.is_decoded = true;
            self.state.absent.set(self.state.absent.get() - 1);
        }
        match self.state.is_over.get() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn end(self, outcome: llama::Result<Answer>) {
        if let Err(error) = outcome {
            *self.state.error.borrow_mut() = Some(error);
        }
    }
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

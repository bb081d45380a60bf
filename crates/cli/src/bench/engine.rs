//! Measures a model as llama-bench does: reading a prompt (pp), and decoding tokens one by one (tg), after texts of some lengths.

use std::path::Path;
use std::time::{Duration, Instant};

use metal_bridge::Device;
use metal_bridge_llama::{self as llama, Model, Session};

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
    let tokens: Vec<u32> = (0..session.context() as u32)
        .map(|index| index % vocabulary)
        .collect();
    let mut rows = Vec::new();
    for &test in tests {
        if session.position() < test.depth {
            session.feed(&tokens[session.position()..test.depth])?;
        }
        let (before, host) = (session.counts(), session.host_time());
        let times = times(&mut session, &test, &tokens, repetitions)?;
        let counts = session.counts();
        let buffers = counts.command_buffers - before.command_buffers;
        let host = session.host_time() - host;
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
            times,
            host_time_per_command_buffer: host.div_f64(buffers as f64),
            dispatches_per_command_buffer: (counts.dispatches - before.dispatches) as f64
                / buffers as f64,
            peak_memory_bytes: memory::peak(),
        });
    }
    Ok(rows)
}

/// A session that the longest test just fits into.
fn session(model: &Model, decoding: DecodingChoice, tests: &[Test]) -> Result<Session, Failure> {
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
    Ok(Session::with_options(
        model,
        &decoding.options(Some(needed)),
    )?)
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

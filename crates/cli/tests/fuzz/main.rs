//! Seeded fuzzers of what the crate reads from others: GGUF files, command lines, and requests of clients. `make fuzz` runs them beside those of
//! the native code; docs/fuzzing.md says what they look for.
//!
//! Usage: fuzz SECONDS SEED [SURFACE]

mod clients;
mod command_line;
mod damage;
mod gguf;
mod limits;
mod reader;

use std::env;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Tries cases from a seed for the given time. Returns the number of cases, or the smallest failure found.
type Surface = fn(Duration, u64) -> Result<u64, String>;

const SURFACES: [(&str, Surface); 3] = [
    ("gguf", gguf::fuzz),
    ("command-line", command_line::fuzz),
    ("clients", clients::fuzz),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments
        .first()
        .is_some_and(|first| first == reader::ARGUMENT)
    {
        return reader::serve();
    }
    let number = |index: usize| {
        arguments
            .get(index)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let (Some(seconds), Some(seed)) = (number(0), number(1)) else {
        eprintln!("usage: fuzz SECONDS SEED [SURFACE]");
        return ExitCode::from(2);
    };
    let wanted = |name: &str| arguments.get(2).is_none_or(|only| only == name);
    let surfaces: Vec<_> = SURFACES
        .into_iter()
        .filter(|(name, _)| wanted(name))
        .collect();
    let time = Duration::from_secs(seconds) / surfaces.len().max(1) as u32;
    let mut failed = false;
    for (name, fuzz) in surfaces {
        match fuzz(time, seed) {
            Ok(cases) => println!("{name}: {cases} cases of seed {seed}"),
            Err(failure) => {
                println!("{name}: {failure}\nagain: make fuzz SEED={seed}");
                failed = true;
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

/// Calls `check` with values of `strategy` for the given time, and at least once. A value that fails is made as small
/// as possible.
fn search<S: Strategy>(
    strategy: &S,
    time: Duration,
    seed: u64,
    check: impl Fn(&S::Value) -> Result<(), String>,
) -> Result<u64, String> {
    let start = Instant::now();
    let mut cases = 0u64;
    while cases == 0 || start.elapsed() < time {
        let mut state = [0; 32];
        state[..8].copy_from_slice(&seed.to_le_bytes());
        state[8..16].copy_from_slice(&cases.to_le_bytes());
        let config = Config {
            cases: 1,
            failure_persistence: None,
            max_shrink_iters: 1000,
            ..Config::default()
        };
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &state);
        let mut runner = TestRunner::new_with_rng(config, random);
        let outcome = runner.run(strategy, |value| check(&value).map_err(TestCaseError::fail));
        outcome.map_err(|error| format!("seed {seed}, case {cases}: {error}"))?;
        cases += 1;
    }
    Ok(cases)
}

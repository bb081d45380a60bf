//! Runs Metal code that nobody here wrote: compiles every `.metal` file of the crates.io package `candle-metal-kernels` as it
//! is, makes a compute pipeline of every kernel, and launches kernels of every file through `metal-bridge`, with references
//! written here. `make foreign` runs it. With `SOFTWARE_METAL_SANITIZE` set, what the sanitizer reports has to be what is known.

mod buffers;
mod check;
mod known_reports;
mod layout;
mod package;
mod rig;
mod suites;
mod types;

use std::env;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use metal_bridge::{Device, sanitizer};

use package::Source;
use rig::{File, Score};

const USAGE: &str =
    "usage: metal-bridge-foreign [--execute-only] [--every=N] [part of a file's name ...]";

/// How many kernels of each file have to run.
const EXECUTED_AT_LEAST: usize = 3;

/// Failures of a file that are printed; the rest is counted.
const FAILURES_SHOWN: usize = 20;

struct Options {
    /// Leave out the pipelines of kernels that no suite launches.
    execute_only: bool,
    /// Of a file with many kernels, take one in so many.
    every: usize,
    /// Files whose name contains one of these; all if there is none.
    filters: Vec<String>,
}

fn options() -> Result<Options, String> {
    let (flags, filters): (Vec<_>, Vec<_>) = env::args()
        .skip(1)
        .partition(|argument| argument.starts_with('-'));
    let mut options = Options {
        execute_only: false,
        every: 1,
        filters,
    };
    for flag in &flags {
        let every = flag.strip_prefix("--every=").map(str::parse);
        match (flag.as_str(), every) {
            ("--execute-only", _) => options.execute_only = true,
            (_, Some(Ok(every))) if every > 0 => options.every = every,
            _ => return Err(format!("unknown option {flag}\n{USAGE}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let (version, sources) = package::sources()?;
    let device = Device::system_default().map_err(|error| error.to_string())?;
    println!(
        "candle-metal-kernels {version}: {} files, on {}",
        sources.len(),
        device.name()
    );
    let wanted = |source: &Source| {
        let mut filters = options.filters.iter();
        options.filters.is_empty() || filters.any(|filter| source.name.contains(filter.as_str()))
    };
    let mut queue: Vec<Source> = sources.into_iter().filter(wanted).collect();
    let names: Vec<String> = queue.iter().map(|source| source.name.clone()).collect();
    // The largest first, so that no thread is left with it at the end; a thread takes the last.
    queue.sort_by_key(|source| source.text.len());
    let (queue, scores) = (Mutex::new(queue), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no worker panics with the lock").pop();
                    let Some(source) = next else { break };
                    let score = file(&device, &source, options);
                    report(&source.name, &score);
                    scores
                        .lock()
                        .expect("no worker panics with the lock")
                        .push(score);
                }
            });
        }
    });
    let scores = scores.into_inner().expect("no worker panics with the lock");
    summary(&scores, start)?;
    match sanitizer::checks().any() {
        true => judge_reports(&names),
        false => Ok(()),
    }
}

/// What the sanitizer has found is what is known of these files.
fn judge_reports(names: &[String]) -> Result<(), String> {
    let reports = sanitizer::reports();
    println!("{} reports of the sanitizer", reports.len());
    let differences = known_reports::differences(names, &reports);
    differences
        .iter()
        .for_each(|difference| println!("  {difference}"));
    match differences.len() {
        0 => Ok(()),
        count => Err(format!("{count} differences from what is known, above")),
    }
}

/// Compiles a file, makes its pipelines, runs its suite.
fn file(device: &Device, source: &Source, options: &Options) -> Score {
    let failed = |message: String| Score {
        failures: vec![format!("{}: {message}", source.name)],
        ..Score::default()
    };
    let Some(suite) = suites::of(&source.name) else {
        return failed("has no suite in tests/foreign/kernels/src/suites".into());
    };
    let source = suites::with_additions(source);
    let file = match File::compile(device, &source, options.every) {
        Ok(file) => file,
        Err(message) => return failed(message),
    };
    if !options.execute_only {
        file.make_pipelines(suite.constants);
    }
    (suite.run)(&file);
    let mut score = file.into_score();
    let executed = score.executed.len() + score.stopped.len();
    if executed < EXECUTED_AT_LEAST {
        let message = format!("{}: only {executed} kernels executed", source.name);
        score.failures.push(message);
    }
    score
}

fn report(name: &str, score: &Score) {
    println!(
        "{name:<36} {:>4} kernels, {:>4} pipelines, {:>4} executed with {:>5} checks; compiled in {:>6.1} s, ran in {:>5.1} s{}",
        score.kernels,
        score.pipelines,
        score.executed.len(),
        score.executed.values().sum::<usize>(),
        score.compiling.as_secs_f64(),
        score.executing.as_secs_f64(),
        match score.failures.len() {
            0 => String::new(),
            failures => format!("; {failures} FAILURES"),
        },
    );
    for failure in score.failures.iter().take(FAILURES_SHOWN) {
        println!("  {failure}");
    }
}

fn summary(scores: &[Score], start: Instant) -> Result<(), String> {
    let sum = |count: fn(&Score) -> usize| scores.iter().map(count).sum::<usize>();
    println!(
        "{} files, {} kernels, {} pipelines, {} kernels executed with {} checks, in {:.0} s",
        scores.len(),
        sum(|score| score.kernels),
        sum(|score| score.pipelines),
        sum(|score| score.executed.len()),
        sum(|score| score.executed.values().sum()),
        start.elapsed().as_secs_f64(),
    );
    match sum(|score| score.failures.len()) {
        0 => Ok(()),
        failures => Err(format!("{failures} failures, above")),
    }
}

//! `metal-bridge stress`: the scenario that the crate exists for, for as long as asked.

use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::time::Duration;

use metal_bridge_workloads::stress::{self, Sample};

use super::DeviceChoice;
use super::failure::{Failure, unless_closed};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceChoice,
    /// How long to run; at least two rounds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Instead of projections, run transfers of this many threads that share one memory
    #[arg(short, long, value_name = "THREADS", value_parser = clap::value_parser!(u16).range(THREADS))]
    transfers: Option<u16>,
}

/// More threads than these are a mistake, and a burden to whatever else the machine does.
const THREADS: RangeInclusive<i64> = 1..=4096;

/// The least time between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let device = arguments.device.open()?;
    let duration = Duration::from_secs(arguments.seconds);
    let mut out = io::stdout().lock();
    if let Some(threads) = arguments.transfers {
        let title = writeln!(out, "transfers of {threads} threads on {}", device.name());
        unless_closed(title)?;
        let report = stress::transfers(&device, threads.into(), duration)?;
        unless_closed(writeln!(out, "{}", report.statistics))?;
        return conclude(&mut out, report.rounds, &report.failures);
    }
    unless_closed(writeln!(out, "Q, K and V projections on {}", device.name()))?;
    let mut written = writeln!(
        out,
        "{:>8} {:>8} {:>13} {:>13} {:>10}  live objects",
        "seconds", "rounds", "GPU memory", "heap", "deviation"
    );
    let mut last = None;
    let report = stress::run(&device, duration, |sample| {
        if last.is_none_or(|last| sample.elapsed >= last + INTERVAL) && written.is_ok() {
            written = print(&mut out, sample);
            last = Some(sample.elapsed);
        }
    })?;
    unless_closed(written)?;
    unless_closed(print(&mut out, &report.last))?;
    conclude(&mut out, report.last.round, &report.failures)
}

fn conclude(out: &mut impl Write, rounds: u64, failures: &[String]) -> Result<(), Failure> {
    if failures.is_empty() {
        writeln!(out, "no growth in {rounds} rounds")?;
        return Ok(());
    }
    Err(Failure::new(failures.join("\nmetal-bridge: ")))
}

fn print(out: &mut impl Write, sample: &Sample) -> io::Result<()> {
    let kib = |bytes: u64| format!("{} KiB", bytes >> 10);
    writeln!(
        out,
        "{:>8.1} {:>8} {:>13} {:>13} {:>10.1e}  {}",
        sample.elapsed.as_secs_f64(),
        sample.round,
        kib(sample.allocated),
        sample.heap.map_or_else(|| "unknown".into(), kib),
        sample.deviation,
        sample.objects
    )?;
    out.flush()
}

//! `metal-bridge bench ops`: how fast operations on tensors are, as their metrics tell.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use metal_bridge::{MetalBackend, MetalOps, OperationMetrics, Peak};
use serde::Serialize;

use super::beside::{self, Contender};
use super::cases::{CASES, Case, Prepared};
use crate::DeviceChoice;
use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceChoice,
    /// Measure only operations with this word in their name
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
    /// Milliseconds for each operation and contender; each runs twice at least
    #[arg(long, value_name = "COUNT", default_value_t = 300)]
    milliseconds: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What one operation took.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    shape: &'static [usize],
    /// What the fastest call took.
    gpu_milliseconds: f64,
    gflops: f64,
    gigabytes_per_second: f64,
    peak_share: Option<f64>,
    /// The host's time for the fastest call, from the call to its return.
    call_milliseconds: f64,
    /// The same of candle's call, if it is built in and has the operation.
    candle_milliseconds: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    device: String,
    peak_gflops: f64,
    peak_gigabytes_per_second: f64,
    rows: Vec<Row>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let device = arguments.device.open()?;
    let ops = MetalOps::new(MetalBackend::with_device(&device)?);
    let word = arguments.only.as_deref().unwrap_or("");
    let cases: Vec<&Case> = CASES
        .iter()
        .filter(|case| case.name.contains(word))
        .collect();
    if cases.is_empty() {
        let names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        let message = format!(
            "no operation has {word:?} in its name: {}",
            names.join(", ")
        );
        return Err(Failure::new(message));
    }
    let Peak {
        gflops,
        gigabytes_per_second,
    } = ops.measure_peak()?;
    let mut report = Report {
        device: device.name().to_owned(),
        peak_gflops: gflops,
        peak_gigabytes_per_second: gigabytes_per_second,
        rows: Vec::new(),
    };
    let budget = Duration::from_millis(arguments.milliseconds);
    for case in cases {
        report.rows.push(measure(&ops, case, budget)?);
    }
    let mut out = io::stdout().lock();
    if arguments.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&mut out, &report)?;
    }
    Ok(())
}

/// Runs the operation and its contender in turns, so that other work on the machine meets both, and keeps the fastest of each.
fn measure(ops: &MetalOps, case: &Case, budget: Duration) -> Result<Row, Failure> {
    let ours = Prepared::new(ops, case)?;
    let theirs = beside::prepare(case).map_err(Failure::new)?;
    let start = Instant::now();
    let contenders = 1 + u32::from(theirs.is_some());
    let (mut fastest, mut call, mut candle) = (None, Duration::MAX, None);
    for round in 0.. {
        // The first one compiles the kernel and faults memory in.
        let is_counted = round > 0;
        ops.reset_metrics();
        ops.enable_metrics(true);
        let called = Instant::now();
        ours.call(ops)?;
        let took = called.elapsed();
        ops.enable_metrics(false);
        let rows = ops.metrics().operations();
        let row = rows.into_iter().next();
        let row = row.ok_or_else(|| Failure::new(format!("{} has no metrics", case.name)))?;
        if is_counted {
            let is_faster = |best: &OperationMetrics| row.gpu_time < best.gpu_time;
            if fastest.as_ref().is_none_or(is_faster) {
                fastest = Some(row);
            }
            call = call.min(took);
        }
        if let Some(run) = &theirs {
            let took = timed(run)?;
            if is_counted {
                candle = Some(candle.map_or(took, |best: Duration| best.min(took)));
            }
        }
        if round > 1 && start.elapsed() > budget * contenders {
            break;
        }
    }
    let row = fastest.ok_or_else(|| Failure::new("nothing was measured"))?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(Row {
        name: case.name,
        shape: case.shape,
        gpu_milliseconds: milliseconds(row.gpu_time),
        gflops: row.gflops(),
        gigabytes_per_second: row.gigabytes_per_second(),
        peak_share: row.peak_share,
        call_milliseconds: milliseconds(call),
        candle_milliseconds: candle.map(milliseconds),
    })
}

fn timed(run: &Contender) -> Result<Duration, Failure> {
    let called = Instant::now();
    run().map_err(Failure::new)?;
    Ok(called.elapsed())
}

fn print(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(
        out,
        "{}: {:.1} GFLOP/s and {:.1} GB/s at the peak",
        report.device, report.peak_gflops, report.peak_gigabytes_per_second
    )?;
    writeln!(out)?;
    writeln!(
        out,
        "| operation, f32 | shape | GPU ms | GFLOP/s | GB/s | of the peak | call ms | candle ms | candle / ours |"
    )?;
    writeln!(out, "|---|---|---:|---:|---:|---:|---:|---:|---:|")?;
    for row in &report.rows {
        let shape: Vec<String> = row.shape.iter().map(usize::to_string).collect();
        let share = row
            .peak_share
            .map_or(String::new(), |share| format!("{:.0} %", 100.0 * share));
        let gflops = match row.gflops {
            // A transposition computes nothing.
            0.0 => "-".to_owned(),
            gflops => format!("{gflops:.2}"),
        };
        let candle = row.candle_milliseconds;
        let number =
            |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.3}"));
        writeln!(
            out,
            "| {} | {} | {:.3} | {gflops} | {:.2} | {share} | {:.3} | {} | {} |",
            row.name,
            shape.join(" x "),
            row.gpu_milliseconds,
            row.gigabytes_per_second,
            row.call_milliseconds,
            number(candle),
            number(candle.map(|candle| candle / row.call_milliseconds)),
        )?;
    }
    if let Some(note) = beside::NOTE {
        writeln!(out)?;
        writeln!(out, "{note}")?;
    }
    Ok(())
}

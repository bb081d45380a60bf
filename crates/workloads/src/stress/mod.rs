//! The scenario that metal-bridge exists for, run for as long as asked: Q, K and V projections on Q8_0 weights, from
//! threads that have no autorelease pool, with handles dropped everywhere and at any time.
//!
//! `tests/qkv_regression.rs` runs its parts one by one; `metal-bridge stress` runs [`run`]. [`transfers`] moves bytes
//! from many threads; `metal-bridge stress --transfers` runs it.

mod error;
pub mod heap;
mod projection;
mod random;
mod rounds;
mod scenario;
mod threads;
mod transfers;
mod waits;

use std::thread;
use std::time::{Duration, Instant};

use metal_bridge::{Device, LiveObjects, ObjectKind};

pub use error::{Error, Result};
pub use scenario::{Drops, Runner, Scenario};
pub use transfers::{TransferReport, transfers};
use waits::settled;

/// The largest relative deviation from float64 that 32-bit arithmetic, in any order, explains.
pub const MAX_DEVIATION: f64 = 1e-5;

/// The bytes allocated on the device, and those on the heap, may vary by this much without being taken for growth. The
/// counts of objects have to be equal.
const MEMORY_SLACK: u64 = heap::SLACK;

/// What is left after a round, once everything that the round made has been dropped.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Sample {
    /// Rounds so far.
    pub round: u64,
    /// Time since the start.
    pub elapsed: Duration,
    /// Objects of the bridge.
    pub objects: LiveObjects,
    /// Bytes allocated on the device.
    pub allocated: u64,
    /// Bytes allocated on the heap; `None` if the system does not tell.
    pub heap: Option<u64>,
    /// The largest relative deviation of a result from float64 so far.
    pub deviation: f64,
}

/// The result of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// After the first round, when caches are filled.
    pub baseline: Sample,
    /// After the last round.
    pub last: Sample,
    /// What was not as it should be, in words: objects, memory or results. Empty for a good run.
    pub failures: Vec<String>,
}

/// Runs rounds of every scenario, on this thread and on a new one, with every way to drop, until `duration` is over
/// (two rounds at least), and calls `watch` after each round.
///
/// # Errors
///
/// Whatever a scenario fails with. Growth and wrong results are not errors: they are in [`Report::failures`].
pub fn run(device: &Device, duration: Duration, mut watch: impl FnMut(&Sample)) -> Result<Report> {
    let start = Instant::now();
    let runner = Runner::new(device)?;
    let mut deviation = 0.0f64;
    let mut round = 0;
    let mut next = || -> Result<Sample> {
        deviation = deviation.max(self::round(&runner)?);
        round += 1;
        let sample = sample(&runner, round, start.elapsed(), deviation);
        watch(&sample);
        Ok(sample)
    };
    let baseline = next()?;
    let mut last = next()?;
    while last.elapsed < duration {
        last = next()?;
    }
    last.heap = heap::settled_bytes(baseline.heap);
    let failures = failures(&baseline, &last);
    Ok(Report {
        baseline,
        last,
        failures,
    })
}

/// Scenarios of a size that makes a round take a second or two.
const ROUND: [Scenario; 6] = [
    Scenario::Projections {
        projections: 1,
        tokens: 1,
        layers: 1,
    },
    Scenario::Projections {
        projections: 2,
        tokens: 1,
        layers: 1,
    },
    Scenario::Projections {
        projections: 3,
        tokens: 1,
        layers: 1,
    },
    Scenario::Projections {
        projections: 3,
        tokens: 2,
        layers: 22,
    },
    Scenario::Alive(1_000),
    Scenario::Sequence(20_000),
];

fn round(runner: &Runner) -> Result<f64> {
    let all = || -> Result<f64> {
        let mut worst = 0.0f64;
        for scenario in ROUND {
            for drops in Drops::ALL {
                worst = worst.max(runner.run(scenario, drops)?);
            }
        }
        Ok(worst)
    };
    let here = all()?;
    let there = thread::scope(|scope| scope.spawn(all).join());
    let panicked = || Error::new("the scenario panicked on its thread");
    Ok(here.max(there.unwrap_or_else(|_| Err(panicked()))?))
}

fn sample(runner: &Runner, round: u64, elapsed: Duration, deviation: f64) -> Sample {
    Sample {
        round,
        elapsed,
        objects: idle_objects(),
        allocated: runner.device().current_allocated_size(),
        heap: heap::live_bytes(),
        deviation,
    }
}

/// The live objects once every command buffer has been released, which happens a moment after its waiters have gone
/// on.
fn idle_objects() -> LiveObjects {
    settled(Device::live_objects, |now| {
        now.live(ObjectKind::CommandBuffer) == 0
    })
}

fn failures(baseline: &Sample, last: &Sample) -> Vec<String> {
    let mut failures = Vec::new();
    if !last.objects.same_live(&baseline.objects) {
        failures.push(format!(
            "live objects went from {} to {}",
            baseline.objects, last.objects
        ));
    }
    if last.allocated > baseline.allocated + MEMORY_SLACK {
        failures.push(format!(
            "device memory grew from {} to {} bytes",
            baseline.allocated, last.allocated
        ));
    }
    failures.extend(heap::growth_between(baseline.heap, last.heap));
    if last.deviation.is_nan() || last.deviation > MAX_DEVIATION {
        failures.push(format!(
            "a result is off by {:e}, relative to float64",
            last.deviation
        ));
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_and_wrong_results_are_failures() {
        let sample = |allocated, heap, deviation| Sample {
            round: 1,
            elapsed: Duration::ZERO,
            objects: LiveObjects::default(),
            allocated,
            heap: Some(heap),
            deviation,
        };
        let good = sample(0, 1 << 20, 1e-7);
        assert_eq!(
            failures(&good, &sample(0, 2 << 20, 1e-7)),
            Vec::<String>::new()
        );
        for bad in [
            sample(1 << 30, 0, 0.0),
            sample(0, 1 << 30, 0.0),
            sample(0, 0, 1e-3),
            sample(0, 0, f64::NAN),
        ] {
            assert_eq!(failures(&good, &bad).len(), 1, "{bad:?}");
        }
    }
}

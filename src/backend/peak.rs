//! What a device is able to do, as two short measurements tell.

use std::time::{Duration, Instant};

use crate::backend::metrics::{Metrics, Peak, Span};
use crate::backend::slices::MetalOps;
use crate::error::Result;
use crate::metal::buffer::StorageMode;
use crate::ops::Tensor;

/// Floats that are copied: more than the caches of most devices hold.
const COPIED: usize = 1 << 24;
/// Threads of the multiply-adds, enough to fill a GPU, and the fewest and most steps of each.
const THREADS: usize = 1 << 14;
const FEWEST_STEPS: u32 = 256;
const MOST_STEPS: u32 = 1 << 16;
/// Nanoseconds beside which the beginning and the end of a run do not count.
const LONG: u64 = 1_000_000;
/// The fastest of these runs counts: other work on the machine strikes some of them. A slow device has fewer, but some.
const RUNS: usize = 20;
const FEWEST_RUNS: usize = 3;
const ENOUGH: Duration = Duration::from_millis(800);

impl MetalOps {
    /// Measures what the device is able to do, and sets it as by [`MetalOps::set_peak`]: the fastest of some copies of 64 MiB, and
    /// of some runs of a kernel that does nothing but multiply and add in `f32`. Takes up to a second and 128 MiB of
    /// memory. Products of halves may go past this peak, and so may what finds its operands in a cache.
    ///
    /// # Errors
    ///
    /// Those of the making of buffers, and of operations.
    pub fn measure_peak(&self) -> Result<Peak> {
        let backend = self.backend();
        let memory = || backend.create_buffer(COPIED * size_of::<f32>(), StorageMode::Private);
        let (x, y) = (memory()?, memory()?);
        let whole = |buffer| Tensor::of::<f32>(buffer, &[COPIED]);
        // Its own record, so that nothing of this is among the caller's metrics.
        let ops = MetalOps::new(self.backend.clone());
        ops.fill(0.0f32, whole(&x)?)?;
        ops.enable_metrics(true);
        let mut steps = FEWEST_STEPS;
        let mut start = Instant::now();
        for run in 0..RUNS {
            // The first run has the kernels compiled.
            if run == 1 {
                start = Instant::now();
            }
            if run >= FEWEST_RUNS && start.elapsed() > ENOUGH {
                break;
            }
            ops.convert(whole(&x)?, whole(&y)?)?;
            ops.at_once(|encoder| {
                backend
                    .ops()
                    .multiply_add(encoder, (&y).into(), THREADS, steps)
            })?;
            let last = ops.metrics().spans.last().copied();
            if last.is_some_and(|span| span.nanoseconds < LONG) {
                steps = (2 * steps).min(MOST_STEPS);
            }
        }
        let peak = fastest(&ops.metrics());
        self.set_peak(peak);
        Ok(peak)
    }
}

fn fastest(metrics: &Metrics) -> Peak {
    let most = |count: fn(&Span) -> u64| {
        let spans = metrics.spans.iter().filter(|span| span.nanoseconds > 0);
        let rates = spans.map(|span| count(span) as f64 / span.nanoseconds as f64);
        rates.fold(0.0, f64::max)
    };
    Peak {
        gflops: most(|span| span.work.flops),
        gigabytes_per_second: most(|span| span.work.bytes),
    }
}

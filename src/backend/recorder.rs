//! [`Recorder`]: what [`MetalOps`] keeps for its metrics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::backend::metrics::{Metrics, Peak, Span};
use crate::backend::slices::MetalOps;
use crate::metal::completion::Times;
use crate::metal::dispatches::Work;

/// What was measured, and whether anything is to be.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    is_on: AtomicBool,
    metrics: Mutex<Metrics>,
}

impl Recorder {
    /// Whether operations are to be measured.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Records work that ran in a command buffer of its own.
    pub(super) fn add(&self, work: Work, times: &Times) {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        let start = nanoseconds(times.gpu_start);
        let span = Span {
            operation: work.operation,
            data_type: work.data_type,
            flops: work.flops,
            bytes: work.bytes,
            start,
            nanoseconds: nanoseconds(times.gpu_end).saturating_sub(start),
        };
        self.with(|metrics| metrics.spans.push(span));
    }

    fn with<T>(&self, look: impl FnOnce(&mut Metrics) -> T) -> T {
        // A panic leaves nothing half done.
        look(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl MetalOps {
    /// Begins to measure operations, or stops. What was measured stays.
    ///
    /// While metrics are on, each call and each operation of a [batch](MetalOps::batch) is a command buffer of its own, and has
    /// completed when its call returns; batches that exist already keep to how it was when they were made. Each takes some tens
    /// of bytes of memory until [`MetalOps::reset_metrics`]. While metrics are off, a call asks for that once, and no more.
    pub fn enable_metrics(&self, is_on: bool) {
        self.recorder.is_on.store(is_on, Ordering::Relaxed);
    }

    /// What was measured so far. Clones of this object share it.
    pub fn metrics(&self) -> Metrics {
        self.recorder.with(|metrics| metrics.clone())
    }

    /// Forgets what was measured so far.
    pub fn reset_metrics(&self) {
        self.recorder.with(|metrics| metrics.spans.clear());
    }

    /// Sets what the device is able to do, for the shares of it in [`Metrics`].
    pub fn set_peak(&self, peak: Peak) {
        self.recorder.with(|metrics| metrics.peak = Some(peak));
    }
}

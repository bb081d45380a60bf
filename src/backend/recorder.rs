//! [`Recorder`]: what [`MetalOps`](crate::MetalOps) keeps for its metrics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::backend::metrics::{Metrics, Span};
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

    pub(super) fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::Relaxed);
    }

    /// Records work that ran in a command buffer of its own.
    pub(super) fn add(&self, work: Work, times: &Times) {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        let start = nanoseconds(times.gpu_start);
        let span = Span {
            work,
            start,
            nanoseconds: nanoseconds(times.gpu_end).saturating_sub(start),
        };
        self.with(|metrics| metrics.spans.push(span));
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Metrics) -> T) -> T {
        // A panic leaves nothing half done.
        look(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

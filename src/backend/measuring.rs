//! The calls of [`MetalOps`] that say whether operations are measured, and what came of it.

use crate::backend::metrics::{Metrics, Peak};
use crate::backend::slices::MetalOps;

impl MetalOps {
    /// Begins to measure operations, or stops. What was measured stays.
    ///
    /// While metrics are on, each call and each operation of a [batch](MetalOps::batch) is a command buffer of its own, and has
    /// completed when its call returns; batches that exist already keep to how it was when they were made. Each takes some tens
    /// of bytes of memory until [`MetalOps::reset_metrics`]. While metrics are off, a call asks for that once, and no more.
    pub fn enable_metrics(&self, is_on: bool) {
        self.recorder.set(is_on);
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

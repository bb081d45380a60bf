//! [`Sticky`]: the failure that a device keeps until it is reset.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::codes::{cudaError_t, cudaSuccess};
use crate::runtime::failure::{Failed, Outcome};

/// The first failure of a device since it was reset. Until the next reset every call returns it and does nothing more.
#[derive(Clone, Default)]
pub(crate) struct Sticky(Arc<AtomicU32>);

impl Sticky {
    pub(crate) fn get(&self) -> cudaError_t {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn check(&self) -> Outcome {
        match self.get() {
            cudaSuccess => Ok(()),
            code => Err(Failed::new(
                code,
                "earlier work of the device failed, and every call for it fails until cudaDeviceReset",
            )),
        }
    }

    pub(crate) fn set(&self, code: cudaError_t) {
        // Only the first failure is kept: the later ones follow from it.
        _ = self
            .0
            .compare_exchange(cudaSuccess, code, Ordering::AcqRel, Ordering::Acquire);
    }
}

//! [`Choice`]: whether a product or a convolution runs through kernels of this crate or through Metal Performance Shaders.

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// Who computes those products and convolutions of [`MetalOps`](crate::MetalOps) that Metal Performance Shaders can compute: products of `f32` or
/// `f16` without bias and activation, and two-dimensional convolutions of these types, on tensors whose strides they have a form for.
/// The kernels compute everything else: `docs/performance.md` compares softmax, top-k, batch norm and attention with those of MPS.
/// How far results of MPS may be off, Apple does not say: the bounds that [`Ops`](crate::ops::Ops) documents are those of the kernels.
///
/// The environment variable `METAL_BRIDGE_CHOICE` sets it for each new [`MetalOps`](crate::MetalOps): `measured` (or nothing), `kernels` or `mps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Choice {
    /// Who was faster when both computed an operation of such sizes, up to the next power of two, for the first time. The call that
    /// needs to know runs both a few times, on memory of its own. What it found is kept in a file in the user's folder for caches,
    /// or in that which `METAL_BRIDGE_CACHE` names, for the device, the system's version and this crate's. Operations of fewer than
    /// 2^20 multiplications always take the kernels.
    #[default]
    Measured,
    /// The kernels of this crate.
    Kernels,
    /// Metal Performance Shaders, if the device supports them.
    Mps,
}

impl Choice {
    const ALL: [Choice; 3] = [Choice::Measured, Choice::Kernels, Choice::Mps];

    fn of_environment() -> Choice {
        match env::var("METAL_BRIDGE_CHOICE").as_deref() {
            Ok("kernels") => Choice::Kernels,
            Ok("mps") => Choice::Mps,
            _ => Choice::Measured,
        }
    }
}

/// What a measurement found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Faster {
    Kernels,
    Mps,
}

/// Sizes, by their class, and who is faster.
pub(super) type Found = BTreeMap<String, Faster>;

/// What [`MetalOps`](crate::MetalOps) knows about who is faster.
#[derive(Debug)]
pub(super) struct Chooser {
    choice: AtomicU8,
    /// None before the file was read.
    found: Mutex<Option<Found>>,
}

impl Default for Chooser {
    fn default() -> Chooser {
        Chooser {
            choice: AtomicU8::new(Choice::of_environment() as u8),
            found: Mutex::new(None),
        }
    }
}

impl Chooser {
    pub(super) fn set(&self, choice: Choice) {
        self.choice.store(choice as u8, Ordering::Relaxed);
    }

    pub(super) fn choice(&self) -> Choice {
        Choice::ALL[usize::from(self.choice.load(Ordering::Relaxed))]
    }

    pub(super) fn found(&self) -> MutexGuard<'_, Option<Found>> {
        // A panic leaves nothing half done.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

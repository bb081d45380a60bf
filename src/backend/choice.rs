//! [`Choice`]: whether a product or a convolution runs through kernels of this crate or through Metal Performance Shaders.

use std::collections::BTreeMap;
use std::env;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::backend::batch::Batch;
use crate::backend::choice_file::ChoiceFile;
use crate::backend::slices::MetalOps;
use crate::error::{Error, Result};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::command::CommandBuffer;
use crate::metal::device::Device;
use crate::metal::dispatches::Work;
use crate::mps;

/// Who computes those products and convolutions of [`MetalOps`] that Metal Performance Shaders can compute: products of `f32` or
/// `f16` without bias and activation, and two-dimensional convolutions of these types, on tensors whose strides they have a form for.
/// How far their results may be off, Apple does not say: the bounds that [`Ops`](crate::ops::Ops) documents are those of the kernels.
///
/// The environment variable `METAL_BRIDGE_CHOICE` sets it for each new [`MetalOps`]: `measured` (or nothing), `kernels` or `mps`.
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

/// Floating-point operations below which one encoder more in the command buffer costs more than can be won.
const FEW: u64 = 1 << 21;

/// What [`MetalOps`] knows about who is faster.
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
    fn found(&self) -> MutexGuard<'_, Option<Found>> {
        // A panic leaves nothing half done.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operation that both can compute.
pub(super) trait Contest {
    /// Names the operation, its types and the powers of two of its sizes.
    fn class(&self) -> String;
    /// What it does, for statistics.
    fn work(&self) -> Work;
    /// Encodes it through Metal Performance Shaders.
    fn encode(&self, ops: &MetalOps, commands: &mut CommandBuffer) -> Result<()>;
    /// Bytes of each buffer for the same work elsewhere.
    fn memory(&self) -> Vec<usize>;
    /// Encodes the same work on buffers of these sizes.
    fn rehearse(
        &self,
        ops: &MetalOps,
        commands: &mut CommandBuffer,
        memory: &[Buffer],
        who: Faster,
    ) -> Result<()>;
}

impl MetalOps {
    /// Sets who computes products and convolutions from now on. Clones of this object share it.
    pub fn set_choice(&self, choice: Choice) {
        self.chooser.choice.store(choice as u8, Ordering::Relaxed);
    }

    /// Who computes products and convolutions.
    pub fn choice(&self) -> Choice {
        Choice::ALL[usize::from(self.chooser.choice.load(Ordering::Relaxed))]
    }

    /// Whether Metal Performance Shaders are to compute it.
    pub(super) fn prefers_mps(&self, contest: &impl Contest) -> bool {
        let device = self.backend().metal_device();
        match self.choice() {
            Choice::Kernels => false,
            Choice::Mps => mps::is_supported(device),
            Choice::Measured if contest.work().flops < FEW => false,
            Choice::Measured => self.is_mps_faster(contest, device),
        }
    }

    fn is_mps_faster(&self, contest: &impl Contest, device: &Device) -> bool {
        let class = contest.class();
        let known = self
            .chooser
            .found()
            .get_or_insert_with(|| ChoiceFile::of(device).read())
            .get(&class)
            .copied();
        let faster = match known {
            Some(faster) => faster,
            // Without the lock: others go on meanwhile, and at worst measure the same.
            None if mps::is_supported(device) => match self.measure_rivals(contest) {
                Ok(faster) => {
                    let found = (class, faster);
                    ChoiceFile::of(device).add(&found);
                    self.chooser.found().get_or_insert_default().extend([found]);
                    faster
                }
                // Such as: a library that the software Metal needs is missing. Nothing is learnt.
                Err(_) => Faster::Kernels,
            },
            None => Faster::Kernels,
        };
        faster == Faster::Mps
    }

    /// Runs both in turn.
    fn measure_rivals(&self, contest: &impl Contest) -> Result<Faster> {
        const ROUNDS: usize = 4;
        let device = self.backend().metal_device();
        let memory: Result<Vec<Buffer>> = contest
            .memory()
            .into_iter()
            .map(|bytes| device.new_buffer(bytes, StorageMode::Private))
            .collect();
        let memory = memory?;
        let mut best = [Duration::MAX; 2];
        for round in 0..ROUNDS {
            for (best, who) in best.iter_mut().zip([Faster::Kernels, Faster::Mps]) {
                let mut commands = self.backend().queue().command_buffer()?;
                contest.rehearse(self, &mut commands, &memory, who)?;
                let submission = commands.commit()?;
                submission.wait()?;
                // The first round compiles kernels and touches memory.
                if let (1.., Some(times)) = (round, submission.times()) {
                    *best = (*best).min(times.gpu_duration());
                }
            }
        }
        Ok(if best[1] < best[0] {
            Faster::Mps
        } else {
            Faster::Kernels
        })
    }
}

impl Batch<'_> {
    /// Queues the operation through Metal Performance Shaders if that is the choice; false if the kernels are to compute it.
    pub(super) fn queue_mps(&mut self, contest: Option<impl Contest>) -> Result<bool> {
        let ops = self.ops;
        let Some(contest) = contest.filter(|contest| ops.prefers_mps(contest)) else {
            return Ok(false);
        };
        let mut is_refused = false;
        self.queue(|commands| {
            let work = contest.work();
            match commands.encode(work, |commands| contest.encode(ops, commands)) {
                Ok(()) => Ok(()),
                Err(error @ Error::Internal(_)) => Err(error),
                // Nothing is encoded. The kernels may take it, or say what is wrong in their own words.
                Err(_) => {
                    is_refused = true;
                    Ok(())
                }
            }
        })?;
        Ok(!is_refused)
    }
}

/// The exponent of the smallest power of two that is not smaller.
pub(super) fn exponent(size: usize) -> u32 {
    size.checked_next_power_of_two()
        .map_or(usize::BITS, usize::trailing_zeros)
}

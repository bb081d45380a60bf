//! [`Contest`]: an operation that kernels of this crate and Metal Performance Shaders can both compute, and how [`MetalOps`] chooses.

use std::time::Duration;

use crate::backend::batch::Batch;
use crate::backend::choice::{Choice, Faster};
use crate::backend::choice_file::ChoiceFile;
use crate::backend::slices::MetalOps;
use crate::error::{Error, Result};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::command::CommandBuffer;
use crate::metal::device::Device;
use crate::metal::dispatches::Work;
use crate::mps;

/// Floating-point operations below which one encoder more in the command buffer costs more than can be won.
const FEW: u64 = 1 << 21;

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
        self.chooser.set(choice);
    }

    /// Who computes products and convolutions.
    pub fn choice(&self) -> Choice {
        self.chooser.choice()
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
        // Whatever the memory held before, both compute with the same numbers.
        let mut commands = self.backend().queue().command_buffer()?;
        let mut blit = commands.blit_command_encoder()?;
        for buffer in &memory {
            blit.fill(buffer, 0..buffer.len(), 0)?;
        }
        blit.end_encoding()?;
        commands.commit()?;
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

/// What metrics say of an operation that Metal Performance Shaders computed.
pub(super) const MPS: &str = "MPS";

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

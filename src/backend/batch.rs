//! [`Batch`]: operations that are committed together.

use std::fmt;

use crate::backend::slices::MetalOps;
use crate::error::Result;
use crate::metal::command::CommandBuffer;
use crate::metal::compute::ComputeEncoder;
use crate::metal::ordered::OrderedCommands;
use crate::metal::submission::Submission;
use crate::ops::Ops;

/// Operations that are queued one by one and committed as one command buffer, so that the host pays for a command buffer once.
/// [`MetalOps::batch`] makes it; dropping it before [`Batch::commit`] discards what is queued.
///
/// Each operation sees what the ones before it wrote. They may overlap all the same: the batch knows the ranges that each of them
/// reads and writes, and places a barrier (`memoryBarrierWithScope:`) before an operation that reads what another one since the
/// last barrier writes, or that writes what that reads or writes.
///
/// While [metrics](MetalOps::enable_metrics) are on, each operation is a command buffer of its own, which has completed when the
/// call that queues it returns: then GPU time is that operation's alone.
///
/// ```
/// use metal_bridge::ops::{Binary, Unary};
/// use metal_bridge::{MetalBackend, MetalOps, StorageMode};
///
/// if MetalBackend::is_available() {
///     let ops = MetalOps::new(MetalBackend::initialize()?);
///     let four = |values: [f32; 4]| ops.backend().create_buffer_with_data(&values, StorageMode::Shared);
///     let (a, b, c) = (four([1.0; 4])?, four([2.0; 4])?, four([0.0; 4])?);
///     let mut batch = ops.batch();
///     batch.binary(Binary::Add, &a, &b, &c)?;
///     batch.unary(Unary::Neg, &c, &c)?;
///     batch.commit()?.wait()?;
///     assert_eq!(*c.wait_read::<f32>()?, [-3.0; 4]);
/// }
/// # Ok::<(), metal_bridge::Error>(())
/// ```
pub struct Batch<'a> {
    pub(super) ops: &'a MetalOps,
    /// None before the first operation, and while metrics are on also between operations.
    commands: Option<OrderedCommands>,
    /// Barriers of command buffers that have completed.
    barriers: u64,
    is_measured: bool,
}

impl MetalOps {
    /// An empty batch.
    pub fn batch(&self) -> Batch<'_> {
        Batch {
            ops: self,
            commands: None,
            barriers: 0,
            is_measured: self.recorder.is_on(),
        }
    }
}

impl Batch<'_> {
    /// Queues what `encode` encodes: any operations of [`Ops`], and dispatches of the caller's own, which come after everything
    /// queued before them and before everything queued after them. Metrics have one row for all of it, that of its first
    /// operation.
    ///
    /// # Errors
    ///
    /// Those of `encode`, after which what it encoded successfully stays queued; and of the command buffer.
    pub fn encode(
        &mut self,
        encode: impl FnOnce(&Ops, &mut ComputeEncoder<'_>) -> Result<()>,
    ) -> Result<()> {
        let ops = self.ops.backend().ops();
        self.queue(|commands| encode(ops, &mut commands.compute_encoder()?))
    }

    /// Queues work that is not a dispatch, such as that of a blit encoder: it comes after everything queued before it and before
    /// everything queued after it, as far as they use the same buffers.
    ///
    /// # Errors
    ///
    /// As for [`Batch::encode`].
    pub fn encode_commands(
        &mut self,
        encode: impl FnOnce(&mut CommandBuffer) -> Result<()>,
    ) -> Result<()> {
        self.queue(|commands| encode(commands.command_buffer()?))
    }

    /// How many barriers the batch has placed.
    pub fn barriers(&self) -> u64 {
        let open = self.commands.as_ref().map_or(0, OrderedCommands::barriers);
        self.barriers + open
    }

    /// Hands what is queued to the GPU.
    ///
    /// # Errors
    ///
    /// Those of [`CommandBuffer::commit`].
    pub fn commit(mut self) -> Result<Submission> {
        self.open()?;
        let open = self.commands.take();
        open.expect("it has just been opened").commit()
    }

    /// [`Batch::commit`], and waits until the work is done.
    pub(super) fn run(self) -> Result<()> {
        match self.commands {
            Some(commands) => commands.commit()?.wait(),
            None => Ok(()),
        }
    }

    pub(super) fn queue(
        &mut self,
        encode: impl FnOnce(&mut OrderedCommands) -> Result<()>,
    ) -> Result<()> {
        encode(self.open()?)?;
        match self.is_measured {
            true => self.measure(),
            false => Ok(()),
        }
    }

    fn open(&mut self) -> Result<&mut OrderedCommands> {
        match &mut self.commands {
            Some(open) => Ok(open),
            none => Ok(none.insert(OrderedCommands::new(self.ops.backend().queue())?)),
        }
    }

    /// Runs what is queued, and records it.
    fn measure(&mut self) -> Result<()> {
        let Some(commands) = self.commands.take() else {
            return Ok(());
        };
        self.barriers += commands.barriers();
        let Some(work) = commands.work() else {
            // An operation without elements.
            return Ok(());
        };
        let submission = commands.commit()?;
        submission.wait()?;
        if let Some(times) = submission.times() {
            self.ops.recorder.add(work, &times);
        }
        Ok(())
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("is_open", &self.commands.is_some())
            .field("barriers", &self.barriers())
            .finish_non_exhaustive()
    }
}

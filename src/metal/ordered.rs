//! [`OrderedCommands`]: a command buffer whose dispatches may overlap, with the barriers that they need.

use super::command::CommandBuffer;
use super::compute::{ComputeEncoder, DispatchType};
use super::dispatches::{Dispatches, Work};
use super::handle::{Handle, check};
use super::queue::CommandQueue;
use super::submission::Submission;
use crate::error::Result;
use crate::sys;

/// A command buffer with one concurrent compute encoder, which stays open between dispatches until other work comes.
pub(crate) struct OrderedCommands {
    // Ends before the command buffer.
    encoder: Option<Handle<sys::mtb_compute_encoder>>,
    commands: CommandBuffer,
    dispatches: Dispatches,
}

impl OrderedCommands {
    /// The next command buffer of `queue`.
    pub(crate) fn new(queue: &CommandQueue) -> Result<OrderedCommands> {
        Ok(OrderedCommands {
            encoder: None,
            commands: queue.command_buffer()?,
            dispatches: Dispatches::default(),
        })
    }

    /// The open encoder. It places a barrier where a dispatch that [`ComputeEncoder::note`] tells of needs one, and around any
    /// other dispatch.
    pub(crate) fn compute_encoder(&mut self) -> Result<ComputeEncoder<'_>> {
        let encoder = match &mut self.encoder {
            Some(open) => open,
            none => none.insert(
                self.commands
                    .open_compute_encoder(DispatchType::Concurrent)?,
            ),
        };
        let recording = self.commands.recording();
        Ok(ComputeEncoder::lent(
            encoder,
            recording,
            &mut self.dispatches,
        ))
    }

    /// The command buffer, for work that is not a dispatch; it comes after all dispatches so far, and before all that follow.
    pub(crate) fn command_buffer(&mut self) -> Result<&mut CommandBuffer> {
        self.end_encoder()?;
        // Metal orders the encoders of a command buffer by the buffers that they use.
        self.dispatches.hazards.forget();
        self.dispatches.work.get_or_insert(Work::OTHER);
        Ok(&mut self.commands)
    }

    /// Encodes what is not a dispatch, and does this; the order is that of [`command_buffer`](OrderedCommands::command_buffer).
    pub(crate) fn encode(
        &mut self,
        work: Work,
        encode: impl FnOnce(&mut CommandBuffer) -> Result<()>,
    ) -> Result<()> {
        self.end_encoder()?;
        self.dispatches.hazards.forget();
        encode(&mut self.commands)?;
        self.dispatches.add(work);
        Ok(())
    }

    fn end_encoder(&mut self) -> Result<()> {
        let Some(encoder) = self.encoder.take() else {
            return Ok(());
        };
        // SAFETY: the encoder is live.
        unsafe { check(|error| sys::mtb_compute_encoder_end(encoder.as_ptr(), error)) }
    }

    /// Barriers so far.
    pub(crate) fn barriers(&self) -> u64 {
        self.dispatches.hazards.barriers()
    }

    /// What was noted so far, under the names of the first dispatch; none if there was none.
    pub(crate) fn work(&self) -> Option<Work> {
        self.dispatches.work
    }

    /// [`CommandBuffer::commit`].
    pub(crate) fn commit(mut self) -> Result<Submission> {
        self.end_encoder()?;
        self.commands.commit()
    }
}

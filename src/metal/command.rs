//! [`CommandBuffer`]: work that is being recorded, before it is committed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::access::Access;
use super::blit::BlitEncoder;
use super::buffer::Buffer;
use super::completion::{Completed, Completion, Handler, Outcome};
use super::compute::{ComputeEncoder, DispatchType};
use super::device::Device;
use super::event::SharedEvent;
use super::handle::{Handle, c_string, check, create, nanoseconds, take_string};
use super::loan::Loan;
use super::process::check_process;
use super::queue::CommandQueue;
use super::recording::Recording;
use super::slots::Slot;
use super::submission::Submission;
use crate::error::{Error, Result};
use crate::sys;

/// Work that is being recorded for the GPU (`MTLCommandBuffer`), until [`commit`](CommandBuffer::commit) hands it over.
///
/// One encoder at a time records into it. It stays on the thread that made it, as Metal wants; record on several
/// threads by giving each a command buffer of its own, and order them with [`enqueue`](CommandBuffer::enqueue).
/// Dropping it before the commit discards the work.
pub struct CommandBuffer {
    // Released before `recording` releases the buffers.
    handle: Handle<sys::mtb_command_buffer>,
    recording: Recording,
    outcomes: Vec<Outcome>,
    handlers: Vec<Handler>,
    slot: Slot,
    queue: CommandQueue,
}

impl CommandQueue {
    /// Makes a command buffer (`commandBuffer`).
    ///
    /// A queue has a fixed number of slots. A command buffer takes one until it has completed or is dropped; if none is
    /// free, this waits for one, ten minutes at most.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Timeout`] after ten minutes; and [`Error::Deadlock`] instead of a wait that could never end: in a completion handler
    /// or a host function of the queue, and if no slot can become free. No slot becomes free if this thread, or threads
    /// that have ended, made the command buffers and neither committed nor dropped them, or if the command buffers come
    /// after one that such a thread enqueued and never committed.
    pub fn command_buffer(&self) -> Result<CommandBuffer> {
        const LONGEST: Duration = Duration::from_nanos(sys::MTB_SLOT_TIMEOUT);
        if self.slots().queue().is_in_callback() {
            return self.make_command_buffer(sys::MTB_SLOT_TIMEOUT);
        }
        self.slots()
            .wait_for_slot(LONGEST, |timeout| self.make_command_buffer(timeout))
    }

    /// [`command_buffer`](CommandQueue::command_buffer) that waits for a slot no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// [`Error::Timeout`], [`Error::OutOfMemory`], and [`Error::Deadlock`] instead of a wait of ten minutes or more in
    /// a completion handler or a host function of the queue.
    pub fn command_buffer_timeout(&self, timeout: Duration) -> Result<CommandBuffer> {
        self.make_command_buffer(nanoseconds(timeout))
    }

    fn make_command_buffer(&self, timeout: u64) -> Result<CommandBuffer> {
        let (queue, references) = (self.as_ptr(), sys::MTB_REFERENCES_RETAINED);
        // SAFETY: returns an owned command buffer, or NULL and an owned error.
        let handle = unsafe {
            create(|error| sys::mtb_command_buffer_create(queue, references, timeout, error))
        }?;
        Ok(CommandBuffer {
            handle,
            recording: Recording::new(self.usual_uses()),
            outcomes: Vec::new(),
            handlers: Vec::new(),
            slot: self.slots().take(),
            queue: self.clone(),
        })
    }
}

impl CommandBuffer {
    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_command_buffer {
        self.handle.as_ptr()
    }

    /// The queue that the command buffer will run on.
    pub fn queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// The device that the command buffer will run on.
    pub fn device(&self) -> &Device {
        self.queue.device()
    }

    /// Begins to record dispatches (`computeCommandEncoderWithDispatchType:`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::InvalidState`] after an encoder was leaked.
    pub fn compute_command_encoder(
        &mut self,
        dispatch_type: DispatchType,
    ) -> Result<ComputeEncoder<'_>> {
        let handle = self.open_compute_encoder(dispatch_type)?;
        Ok(ComputeEncoder::new(handle, &mut self.recording))
    }

    /// An encoder that ends when its handle is dropped, which has to be before another one begins.
    pub(super) fn open_compute_encoder(
        &mut self,
        dispatch_type: DispatchType,
    ) -> Result<Handle<sys::mtb_compute_encoder>> {
        let (raw, dispatch_type) = (self.as_ptr(), dispatch_type.to_sys());
        // SAFETY: returns an owned encoder, or NULL and an owned error.
        unsafe { create(|error| sys::mtb_compute_encoder_create(raw, dispatch_type, error)) }
    }

    /// What the command buffer uses so far.
    pub(super) fn recording(&mut self) -> &mut Recording {
        &mut self.recording
    }

    /// Begins to record copies and fills (`blitCommandEncoder`).
    ///
    /// # Errors
    ///
    /// As [`compute_command_encoder`](CommandBuffer::compute_command_encoder).
    pub fn blit_command_encoder(&mut self) -> Result<BlitEncoder<'_>> {
        // SAFETY: returns an owned encoder, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_blit_encoder_create(self.as_ptr(), error)) }?;
        Ok(BlitEncoder::new(handle, &mut self.recording))
    }

    /// Encodes work that makes encoders of its own and uses the buffers of `uses`.
    pub(crate) fn encode<'b>(
        &mut self,
        function: &'static str,
        uses: impl IntoIterator<Item = (&'b Buffer, Access)>,
        encode: impl FnOnce(*mut sys::mtb_command_buffer) -> Result<()>,
    ) -> Result<()> {
        let raw = self.as_ptr();
        self.recording.encode(function, uses, || encode(raw))
    }

    /// Lends a shared buffer, which the work uses from now on, to code outside of Metal that only reads it: see [`Loan`].
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard conflicts, [`Error::NotVisible`] for a buffer of another storage mode and for a mapped file.
    pub fn lend_to_read(&mut self, buffer: &Buffer) -> Result<Loan> {
        self.lend("CommandBuffer::lend_to_read", buffer, Access::Read)
    }

    /// Lends a shared buffer, which the work uses from now on, to code outside of Metal that reads and writes it: see [`Loan`].
    ///
    /// # Errors
    ///
    /// As [`lend_to_read`](CommandBuffer::lend_to_read), and [`Error::ReadOnly`].
    pub fn lend_to_write(&mut self, buffer: &Buffer) -> Result<Loan> {
        self.lend("CommandBuffer::lend_to_write", buffer, Access::Write)
    }

    fn lend(&mut self, function: &'static str, buffer: &Buffer, access: Access) -> Result<Loan> {
        // Before anything is noted: a refusal leaves no use behind.
        let contents = Loan::contents_of(function, buffer)?;
        let state = self.recording.lend(function, buffer, access)?;
        Ok(Loan::new(state, contents))
    }

    /// Lets the GPU raise `event` to `value` once the work recorded so far is done (`encodeSignalEvent:value:`).
    ///
    /// If the GPU fails, the event is raised all the same, so that nobody waits for ever; the [`Submission`] tells of
    /// the failure. The event is raised after the waits that were recorded before have been met, and after smaller
    /// values that other committed command buffers are still to signal. An event may be shared by several devices.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`].
    pub fn encode_signal_event(&mut self, event: &SharedEvent, value: u64) -> Result<()> {
        // SAFETY: both are live.
        unsafe {
            check(|error| {
                sys::mtb_command_buffer_encode_signal(self.as_ptr(), event.as_ptr(), value, error)
            })
        }
    }

    /// Lets the GPU wait until `event` has reached `value` before the work recorded from now on
    /// (`encodeWaitForEvent:value:`).
    ///
    /// Once the last handle of the event is gone, and the last command buffer that was to signal it, nobody can signal
    /// the value any more. A commit then fails with [`Error::Deadlock`]; work that was committed before goes on
    /// without the signal, and ends with [`Error::Deadlock`]. As long as somebody could signal the value, the work
    /// waits.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`].
    pub fn encode_wait_for_event(&mut self, event: &SharedEvent, value: u64) -> Result<()> {
        // SAFETY: both are live.
        unsafe {
            check(|error| {
                sys::mtb_command_buffer_encode_wait(self.as_ptr(), event.as_ptr(), value, error)
            })
        }
    }

    /// Takes the next position in the queue's order of execution (`enqueue`); otherwise the commit takes one. A command
    /// buffer with a later position does not run before this one is committed or dropped.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`] the second time.
    pub fn enqueue(&mut self) -> Result<()> {
        check_process("CommandBuffer::enqueue")?;
        // SAFETY: the command buffer is live.
        self.slot.enqueue(|| unsafe {
            check(|error| sys::mtb_command_buffer_enqueue(self.as_ptr(), error))
        })
    }

    /// Names the command buffer in Metal's tools and errors (`label`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for a label with a NUL.
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        let label = c_string("CommandBuffer::set_label", "the label", label)?;
        // SAFETY: both are live; the label is copied.
        unsafe {
            check(|error| sys::mtb_command_buffer_set_label(self.as_ptr(), label.as_ptr(), error))
        }
    }

    /// The label, if there is one.
    pub fn label(&self) -> Option<String> {
        // SAFETY: the command buffer is live, and the string is ours.
        unsafe { take_string(sys::mtb_command_buffer_copy_label(self.as_ptr())) }
    }

    /// Calls `handler` once the command buffer has completed or failed, on a thread of Metal's
    /// (`addCompletedHandler:`). If the command buffer is never committed, `handler` is dropped uncalled.
    ///
    /// A panic of the handler ends there. [`Submission::on_completed`], which does the same after the commit, says
    /// what a handler must not wait for.
    pub fn add_completed_handler(&mut self, handler: impl FnOnce(&Completed) + Send + 'static) {
        self.handlers.push(Box::new(handler));
    }

    /// Tells `outcome` how the command buffer ended, before its buffers become free.
    pub(crate) fn add_outcome(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// Hands the work to the GPU (`commit`). The caller need not keep anything: the GPU finishes the work in any case,
    /// and what the work uses lives until then.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`] after an encoder was leaked, [`Error::Deadlock`] if the work would wait for an event that nobody
    /// can signal any more. The work is discarded then.
    pub fn commit(self) -> Result<Submission> {
        check_process("CommandBuffer::commit")?;
        let CommandBuffer {
            handle,
            recording,
            outcomes,
            handlers,
            slot,
            queue,
        } = self;
        queue.remember_uses(recording.len());
        let position = slot.commit();
        let (uses, loans) = recording.start(&position);
        let completion = Completion::new(uses, handlers, Some(slot)).with_outcomes(outcomes);
        let completion = Arc::new(completion);
        // SAFETY: the command buffer is live and this thread's.
        let committed =
            unsafe { check(|error| sys::commit_with_handler(handle.as_ptr(), &completion, error)) };
        if let Err(error) = committed {
            // After an exception nobody knows whether the work runs. Its completion, or the end of the command buffer,
            // then releases the buffers. After other errors, nothing was committed.
            match error {
                Error::Internal(_) => loans.committed(None),
                _ => completion.release(),
            }
            return Err(error);
        }
        loans.committed(Some(&handle));
        Ok(Submission::new(handle, completion, queue, position))
    }
}

impl fmt::Debug for CommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandBuffer")
            .field("label", &self.label())
            .field("uses", &self.recording.len())
            .finish()
    }
}

//! [`CommandBuffer`]: work on record, before it is committed.

use std::fmt;
use std::sync::Arc;

use super::access::Access;
use super::blit::BlitEncoder;
use super::buffer::Buffer;
use super::compute::{ComputeEncoder, DispatchType};
use super::device::Device;
use super::event::SharedEvent;
use super::handle::{Handle, c_string, check, create, take_string};
use super::queue::{CommandQueue, check_process};
use super::recording::Recording;
use super::room::Ticket;
use super::submission::{
    Completed, Completion, Handler, Submission, completion_callback, release_completion,
};
use crate::error::{Error, Result};
use crate::sys;

/// Work on record for the GPU (`MTLCommandBuffer`), until [`commit`](CommandBuffer::commit) hands it over.
///
/// One encoder at a time records into it. It stays on the thread that made it, as Metal wants; record on several
/// threads by giving each a command buffer of its own, and order them with [`enqueue`](CommandBuffer::enqueue).
/// Dropping it before the commit discards what it recorded.
pub struct CommandBuffer {
    // Released before `recording` gives the buffers free.
    handle: Handle<sys::mtb_command_buffer>,
    recording: Recording,
    handlers: Vec<Handler>,
    ticket: Ticket,
    queue: CommandQueue,
}

impl CommandBuffer {
    pub(crate) fn new(
        handle: Handle<sys::mtb_command_buffer>,
        queue: &CommandQueue,
    ) -> CommandBuffer {
        CommandBuffer {
            handle,
            recording: Recording::new(queue.usual_uses()),
            handlers: Vec::new(),
            ticket: queue.room().take(),
            queue: queue.clone(),
        }
    }

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

    /// [`Recording::encode`].
    #[inline]
    pub(crate) fn encode<'b>(
        &mut self,
        function: &'static str,
        uses: impl IntoIterator<Item = (&'b Buffer, Access)>,
        encode: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        self.recording.encode(function, uses, encode)
    }

    /// Begins to record dispatches (`computeCommandEncoderWithDispatchType:`).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::InvalidState`] after an
    /// encoder was leaked.
    pub fn compute_command_encoder(
        &mut self,
        dispatch_type: DispatchType,
    ) -> Result<ComputeEncoder<'_>> {
        let (raw, dispatch_type) = (self.as_ptr(), dispatch_type.to_sys());
        // SAFETY: returns an owned encoder, or NULL and an owned error.
        let handle =
            unsafe { create(|error| sys::mtb_compute_encoder_create(raw, dispatch_type, error)) }?;
        Ok(ComputeEncoder::new(handle, self))
    }

    /// Begins to record copies and fills (`blitCommandEncoder`).
    ///
    /// # Errors
    ///
    /// As [`compute_command_encoder`](CommandBuffer::compute_command_encoder).
    pub fn blit_command_encoder(&mut self) -> Result<BlitEncoder<'_>> {
        // SAFETY: returns an owned encoder, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_blit_encoder_create(self.as_ptr(), error)) }?;
        Ok(BlitEncoder::new(handle, self))
    }

    /// Lets the GPU raise `event` to `value` once the work recorded so far is done (`encodeSignalEvent:value:`).
    ///
    /// Should the GPU fail, the event is raised all the same, so that nobody waits for ever: look at the
    /// [`Submission`]. It is raised after the waits that were recorded before have been met, and after smaller values that
    /// other committed command buffers are still to signal. An event may be shared by several devices.
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
    /// Once the last handle of the event is gone, and the last command buffer that was to signal it, nobody can signal the
    /// value any more. A commit is [`Error::Deadlock`] then; work that was committed before goes on without the signal, and
    /// ends with [`Error::Deadlock`]. While somebody could signal, and does not, it waits.
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

    /// Takes the next place in the queue's order of execution, which is otherwise taken by the commit (`enqueue`). What has a
    /// later place does not run before this command buffer is committed or dropped.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`] the second time.
    pub fn enqueue(&mut self) -> Result<()> {
        check_process("CommandBuffer::enqueue")?;
        // SAFETY: the command buffer is live.
        self.ticket.enqueue(|| unsafe {
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
    /// (`addCompletedHandler:`). It is dropped uncalled where the command buffer is never committed.
    ///
    /// A panic of the handler ends there. What a handler must not wait for is said at [`Submission::on_completed`], which
    /// does the same after the commit.
    pub fn add_completed_handler(&mut self, handler: impl FnOnce(&Completed) + Send + 'static) {
        self.handlers.push(Box::new(handler));
    }

    /// Hands the work to the GPU (`commit`). Nothing of it has to be kept: the GPU finishes it in any case, and what it
    /// uses lives until then.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidState`] after an encoder was leaked, [`Error::Deadlock`] where the work would wait for an event that nobody
    /// can signal any more. The work is discarded then.
    pub fn commit(self) -> Result<Submission> {
        check_process("CommandBuffer::commit")?;
        let CommandBuffer {
            handle,
            recording,
            handlers,
            ticket,
            queue,
        } = self;
        queue.remember_uses(recording.len());
        let turn = ticket.commit();
        let uses = recording.start(&turn);
        let completion = Arc::new(Completion::new(uses, handlers, Some(ticket)));
        if let Err(error) = commit(&handle, &completion) {
            // After an exception nobody knows whether the work runs: its completion gives the buffers free then, or the
            // end of the command buffer. Otherwise nothing was handed over.
            if !matches!(error, Error::Internal(_)) {
                completion.give_back();
            }
            return Err(error);
        }
        Ok(Submission::new(handle, completion, queue, turn))
    }
}

fn commit(handle: &Handle<sys::mtb_command_buffer>, completion: &Arc<Completion>) -> Result<()> {
    let context = completion.clone().into_context();
    // SAFETY: the command buffer is live, and the context is a reference that `release_completion` gives back.
    let added = unsafe {
        check(|error| {
            let (callback, destructor) = (
                Some(completion_callback as _),
                Some(release_completion as _),
            );
            sys::mtb_command_buffer_add_completed_callback(
                handle.as_ptr(),
                callback,
                context,
                destructor,
                error,
            )
        })
    };
    if let Err(error) = added {
        // SAFETY: the call failed, so the reference is still ours and the destructor is not called.
        unsafe { release_completion(context) };
        return Err(error);
    }
    // SAFETY: the command buffer is live.
    unsafe { check(|error| sys::mtb_command_buffer_commit(handle.as_ptr(), error)) }
}

impl fmt::Debug for CommandBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandBuffer")
            .field("label", &self.label())
            .field("uses", &self.recording.len())
            .finish()
    }
}

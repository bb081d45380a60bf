//! Command buffers that have been committed, and the note of a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metal_bridge::sys::{self, Handle, check, create};

use crate::codes::cudaError_t;
use crate::runtime::failure::{Failed, Outcome};
use crate::runtime::sticky::Sticky;

/// A command buffer that has been committed.
pub(crate) struct Committed {
    handle: Handle<sys::mtb_command_buffer>,
    completion: Arc<Completion>,
}

// SAFETY: metal_bridge.h, "Threads": after the commit a command buffer may be waited for and asked from any thread.
unsafe impl Send for Committed {}
// SAFETY: as above.
unsafe impl Sync for Committed {}

impl Committed {
    /// `handle` has been committed, and `completion` is its last handler.
    pub(crate) fn new(
        handle: Handle<sys::mtb_command_buffer>,
        completion: Arc<Completion>,
    ) -> Arc<Committed> {
        Arc::new(Committed { handle, completion })
    }

    /// Whether it has completed, with what the CPU does for it, and a failure has been noted.
    pub(crate) fn has_ended(&self) -> bool {
        self.completion.has_ended.load(Ordering::Acquire)
    }

    /// Waits until it has completed and a failure has been noted.
    pub(crate) fn wait(&self) -> Outcome {
        // SAFETY: the command buffer is live.
        match unsafe { check(|error| sys::mtb_command_buffer_wait(self.handle.as_ptr(), error)) } {
            // Its completion has noted the failure.
            Err(error) if error.status == sys::MTB_COMMAND_BUFFER_FAILED => Ok(()),
            result => Ok(result?),
        }
    }

    /// When it ended, in seconds.
    pub(crate) fn end_time(&self) -> f64 {
        // SAFETY: the command buffer is live.
        let times = unsafe { sys::mtb_command_buffer_get_times(self.handle.as_ptr()) };
        // If the GPU had nothing to do, Metal may leave out its times.
        if times.gpu_end > 0.0 {
            times.gpu_end
        } else {
            times.kernel_end
        }
    }
}

/// How a command buffer ends; its completion callback shares this.
pub(crate) struct Completion {
    has_ended: AtomicBool,
    sticky: Sticky,
}

impl Completion {
    pub(crate) fn new(sticky: &Sticky) -> Arc<Completion> {
        Arc::new(Completion {
            has_ended: AtomicBool::new(false),
            sticky: sticky.clone(),
        })
    }

    /// The failure of the device's work so far.
    pub(crate) fn device_failure(&self) -> cudaError_t {
        self.sticky.get()
    }
}

impl sys::CompletionHandler for Completion {
    /// Notes the end, and the failure if there is one.
    unsafe fn complete(&self, told: &sys::mtb_completion) {
        if !told.error.is_null() {
            // SAFETY: an error that lives during the call.
            let error = unsafe { sys::OwnedError::copy(told.error) };
            self.sticky.set(Failed::from(error).code);
        }
        self.has_ended.store(true, Ordering::Release);
    }
}

/// Commits a command buffer with what `encode` puts into it. If it fails, the failure becomes the device's.
pub(crate) fn commit(
    queue: &Handle<sys::mtb_command_queue>,
    sticky: &Sticky,
    encode: impl FnOnce(*mut sys::mtb_command_buffer) -> Result<(), sys::OwnedError>,
) -> Outcome<Arc<Committed>> {
    // SAFETY: the queue is live; the call returns an owned command buffer, or NULL and an owned error.
    let commands = unsafe {
        create(|error| {
            sys::mtb_command_buffer_create(
                queue.as_ptr(),
                sys::MTB_REFERENCES_RETAINED,
                sys::MTB_FOREVER,
                error,
            )
        })
    }?;
    encode(commands.as_ptr())?;
    let completion = Completion::new(sticky);
    // SAFETY: the command buffer is live, has no open encoder, and is this thread's.
    unsafe { check(|error| sys::commit_with_handler(commands.as_ptr(), &completion, error)) }?;
    Ok(Committed::new(commands, completion))
}

//! One transfer of a stream: recorded, then committed in the stream's order, or run while the caller waits.

use std::ptr;
use std::sync::Arc;

use metal_bridge::sys::{self, Handle, check, create};

use crate::runtime::commands::{Committed, Completion};
use crate::runtime::failure::{Failed, Outcome};
use crate::runtime::stream::Stream;
use crate::runtime::timeline::Ends;

pub(crate) struct Transfer<'a> {
    stream: &'a Stream,
    transfer: Handle<sys::mtb_transfer>,
}

impl<'a> Transfer<'a> {
    pub(crate) fn new(stream: &'a Stream) -> Outcome<Transfer<'a>> {
        let (memory, queue) = (stream.state().memory.as_ptr(), stream.queue().as_ptr());
        // SAFETY: both are live; the call returns an owned transfer, or NULL and an owned error.
        let transfer = unsafe { create(|error| sys::mtb_transfer_create(memory, queue, error)) }?;
        Ok(Transfer { stream, transfer })
    }

    /// # Safety
    ///
    /// Host memory of the source is valid as `host` says, and host memory of the destination until the transfer has
    /// completed.
    pub(crate) unsafe fn copy(
        &self,
        source: sys::mtb_place,
        destination: sys::mtb_place,
        (width, height): (usize, usize),
        host: sys::mtb_host_memory,
    ) -> Outcome {
        let transfer = self.transfer.as_ptr();
        // SAFETY: the transfer is this thread's, the buffers are live, and for the host memory the caller answers.
        Ok(unsafe {
            check(|error| {
                sys::mtb_transfer_copy(transfer, source, destination, width, height, host, error)
            })
        }?)
    }

    pub(crate) fn fill(
        &self,
        destination: sys::mtb_place,
        (width, height): (usize, usize),
        value: u8,
    ) -> Outcome {
        let pattern = ptr::from_ref(&value).cast();
        let transfer = self.transfer.as_ptr();
        // SAFETY: the transfer is this thread's, the buffer is live, and the pattern has the one byte.
        Ok(unsafe {
            check(|error| {
                sys::mtb_transfer_fill(transfer, destination, width, height, pattern, 1, error)
            })
        }?)
    }

    /// Commits it after the stream's work. No thread waits.
    pub(crate) fn commit(self) -> Outcome {
        self.stream.enqueue(|| self.commit_now())
    }

    /// Commits it after the stream's work, and waits.
    pub(crate) fn commit_and_wait(self) -> Outcome {
        let mut ends = None;
        self.stream.enqueue_after(|progress| {
            let commands = self.commit_now()?;
            ends = Some((commands.clone(), progress.ends()));
            Ok(commands)
        })?;
        if let Some((commands, earlier)) = ends {
            commands.wait()?;
            earlier.wait()?;
        }
        self.stream.state().sticky.check()
    }

    fn commit_now(&self) -> Outcome<Arc<Committed>> {
        let completion = Completion::new(&self.stream.state().sticky);
        let (transfer, timeout) = (self.transfer.as_ptr(), sys::MTB_SLOT_TIMEOUT);
        // SAFETY: the transfer is this thread's; the call returns an owned command buffer, or NULL and an owned error.
        let commands = unsafe {
            create(|error| sys::transfer_commit_with_handler(transfer, timeout, &completion, error))
        }?;
        Ok(Committed::new(commands, completion))
    }

    /// Runs it after `earlier`, the stream's work as [`Stream::order`] gives it, and waits.
    pub(crate) fn run(self, earlier: &Ends) -> Outcome {
        let transfer = self.transfer.as_ptr();
        // SAFETY: the transfer is this thread's.
        let result = unsafe { check(|error| sys::mtb_transfer_run(transfer, error)) };
        if let Err(error) = result {
            let has_failed_there = error.status == sys::MTB_COMMAND_BUFFER_FAILED;
            let failed = Failed::from(error);
            if has_failed_there {
                self.stream.state().sticky.set(failed.code);
            }
            return Err(failed);
        }
        // The earlier work is done: this waits only until its failures have been noted.
        earlier.wait()?;
        self.stream.state().sticky.check()
    }
}

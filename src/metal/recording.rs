//! [`Recording`]: the buffers that work uses while it is recorded, as their trackers know them.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::access::Access;
use super::buffer::{Buffer, BufferInner};
use super::slots::QueuePosition;
use crate::error::{Error, Result};
use crate::sys::contain_panic;

/// The buffers that a command buffer uses while it is recorded. A drop without a commit releases them.
pub(crate) struct Recording {
    number: u64,
    uses: Vec<Use>,
}

/// One use of a buffer by a command buffer, which keeps the buffer alive.
struct Use {
    buffer: Arc<BufferInner>,
    access: Access,
}

/// The next number of a command buffer, for the trackers. Zero is not the number of any.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

impl Recording {
    /// A recording with memory for `capacity` uses.
    pub(crate) fn new(capacity: usize) -> Recording {
        Recording {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            uses: Vec::with_capacity(capacity),
        }
    }

    /// The number of uses so far; the same use may count more than once.
    pub(crate) fn len(&self) -> usize {
        self.uses.len()
    }

    /// Encodes work that uses the buffers of `uses`, from now until it has completed. If one of the uses or the
    /// encoding is refused, the call uses no buffer.
    #[inline]
    pub(crate) fn encode<'b>(
        &mut self,
        function: &'static str,
        uses: impl IntoIterator<Item = (&'b Buffer, Access)>,
        encode: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let before = self.uses.len();
        let noted = uses
            .into_iter()
            .try_for_each(|(buffer, access)| self.note(function, buffer, access));
        let encoded = noted.and_then(|()| encode());
        if let Err(error) = &encoded {
            self.refused(before, error);
        }
        encoded
    }

    #[inline]
    fn note(&mut self, function: &'static str, buffer: &Buffer, access: Access) -> Result<()> {
        let tracker = buffer.inner().tracker();
        if tracker.is_recorded_by(self.number, access) {
            return Ok(());
        }
        if access == Access::Write {
            buffer.check_writable(function)?;
        }
        let recorded = tracker.record(self.number, access);
        recorded.map_err(|conflict| buffer.conflict(function, conflict))?;
        self.uses.push(Use {
            buffer: buffer.inner().clone(),
            access,
        });
        Ok(())
    }

    /// Releases the buffers of all uses but the first `kept`. After an exception nobody knows what was encoded: the
    /// uses stay.
    #[cold]
    fn refused(&mut self, kept: usize, error: &Error) {
        if !matches!(error, Error::Internal(_)) {
            self.discard(kept);
        }
    }

    fn discard(&mut self, kept: usize) {
        for used in self.uses.drain(kept..) {
            used.buffer.tracker().discard(self.number, used.access);
        }
    }

    /// Makes the uses running ones, of work that is about to be committed: they last until [`RunningUses::finish`].
    pub(crate) fn start(mut self, position: &QueuePosition) -> RunningUses {
        let uses = mem::take(&mut self.uses);
        for used in &uses {
            used.buffer.tracker().start(position, used.access);
        }
        RunningUses {
            uses,
            position: Some(position.clone()),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.discard(0);
    }
}

/// The buffers that committed work uses.
#[derive(Default)]
#[must_use = "dropping it leaves the buffers in use for ever"]
pub(crate) struct RunningUses {
    uses: Vec<Use>,
    /// `None` if nothing is used.
    position: Option<QueuePosition>,
}

impl RunningUses {
    /// The work has ended, or will never run: releases its buffers.
    pub(crate) fn finish(self) {
        let Some(position) = self.position else {
            return;
        };
        for used in self.uses {
            used.buffer.tracker().finish(&position, used.access);
            // The last reference to a buffer may go here, and an owner of its memory with it.
            contain_panic(|| drop(used));
        }
    }
}

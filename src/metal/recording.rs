//! [`Recording`]: the buffers that work uses while it is recorded, as their trackers know them.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::access::{Access, Conflict, Tracker};
use super::buffer::{Buffer, BufferInner};
use super::handle::Handle;
use super::loan::LoanState;
use super::slots::QueuePosition;
use crate::error::{Error, Result};
use crate::sys::{self, contain_panic};

/// The buffers that a command buffer uses while it is recorded. A drop without a commit releases them.
pub(crate) struct Recording {
    number: u64,
    uses: Vec<Use>,
    loans: Vec<Arc<LoanState>>,
}

/// What command buffers use and keep alive until they have completed.
pub(crate) trait Tracked: Send + Sync {
    fn tracker(&self) -> &Tracker;
}

impl Tracked for BufferInner {
    fn tracker(&self) -> &Tracker {
        BufferInner::tracker(self)
    }
}

/// A handle of something that command buffers use.
pub(crate) trait Resource {
    fn tracker(&self) -> &Tracker;
    /// The error for an access that writes, if nobody may write.
    fn check_writable(&self, function: &'static str) -> Result<()>;
    fn conflict(&self, function: &'static str, conflict: Conflict) -> Error;
    fn keep(&self) -> Arc<dyn Tracked>;
}

impl Resource for &Buffer {
    #[inline]
    fn tracker(&self) -> &Tracker {
        self.inner().tracker()
    }

    fn check_writable(&self, function: &'static str) -> Result<()> {
        Buffer::check_writable(self, function)
    }

    fn conflict(&self, function: &'static str, conflict: Conflict) -> Error {
        Buffer::conflict(self, function, conflict)
    }

    fn keep(&self) -> Arc<dyn Tracked> {
        self.inner().clone()
    }
}

/// One use by a command buffer, which keeps what it uses alive.
struct Use {
    resource: Arc<dyn Tracked>,
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
            loans: Vec::new(),
        }
    }

    /// Notes a use that code outside of Metal prolongs.
    pub(crate) fn lend(
        &mut self,
        function: &'static str,
        buffer: &Buffer,
        access: Access,
    ) -> Result<Arc<LoanState>> {
        // What the loan notes ends with the loan; what is noted here, with the command buffer.
        self.note(function, &buffer, access)?;
        let loan = LoanState::record(function, buffer, access)?;
        self.loans.push(loan.clone());
        Ok(loan)
    }

    /// The number of uses so far; the same use may count more than once.
    pub(crate) fn len(&self) -> usize {
        self.uses.len()
    }

    /// Encodes work that uses what `uses` names, from now until it has completed. If one of the uses or the encoding is
    /// refused, the call uses nothing.
    #[inline]
    pub(crate) fn encode<R: Resource>(
        &mut self,
        function: &'static str,
        uses: impl IntoIterator<Item = (R, Access)>,
        encode: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let before = self.uses.len();
        let noted = uses
            .into_iter()
            .try_for_each(|(resource, access)| self.note(function, &resource, access));
        let encoded = noted.and_then(|()| encode());
        if let Err(error) = &encoded {
            self.refused(before, error);
        }
        encoded
    }

    #[inline]
    fn note(
        &mut self,
        function: &'static str,
        resource: &impl Resource,
        access: Access,
    ) -> Result<()> {
        let tracker = resource.tracker();
        if tracker.is_recorded_by(self.number, access) {
            return Ok(());
        }
        if access == Access::Write {
            resource.check_writable(function)?;
        }
        let recorded = tracker.record(self.number, access);
        recorded.map_err(|conflict| resource.conflict(function, conflict))?;
        self.uses.push(Use {
            resource: resource.keep(),
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
            used.resource.tracker().discard(self.number, used.access);
        }
    }

    /// Makes the uses running ones, of work that is about to be committed: they last until [`RunningUses::finish`].
    pub(crate) fn start(mut self, position: &QueuePosition) -> (RunningUses, Loans) {
        let uses = mem::take(&mut self.uses);
        for used in &uses {
            used.resource.tracker().start(position, used.access);
        }
        let loans = Loans(mem::take(&mut self.loans));
        for loan in &loans.0 {
            loan.start(position);
        }
        let uses = RunningUses {
            uses,
            position: Some(position.clone()),
        };
        (uses, loans)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.discard(0);
        for loan in &self.loans {
            loan.discard();
        }
    }
}

/// What work lends that is being committed. They end by themselves.
pub(crate) struct Loans(Vec<Arc<LoanState>>);

impl Loans {
    /// The commit has returned: Metal has the work, or, without a command buffer, may have it.
    pub(crate) fn committed(self, commands: Option<&Handle<sys::mtb_command_buffer>>) {
        for loan in self.0 {
            loan.committed(commands);
        }
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
            used.resource.tracker().finish(&position, used.access);
            // The last reference to a buffer may go here, and an owner of its memory with it.
            contain_panic(|| drop(used));
        }
    }
}

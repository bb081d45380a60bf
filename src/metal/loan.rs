//! [`Loan`]: a buffer of a command buffer in the hands of code outside of Metal, such as that of a network.

use std::cmp::Ordering;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::access::Access;
use super::buffer::{Buffer, StorageMode};
use super::handle::Handle;
use super::process::is_forked;
use super::slots::QueuePosition;
use super::wait::WaitError;
use crate::error::{Error, Failure, Result};
use crate::sys;

/// A buffer that a command buffer lends to code outside of Metal, which takes part in the command buffer's order by shared events:
/// the command buffer signals one, the code works on the bytes and signals the next value, and the command buffer waits for that.
///
/// The command buffer uses the buffer, as if a kernel did. The loan prolongs this use: until the loan is dropped, the buffer lives and
/// CPU access that conflicts is refused or waits, even if the command buffer has failed meanwhile. Only a command buffer that is never
/// committed ends its loans by itself. So access that conflicts with a forgotten loan (`mem::forget`), or with one that the
/// waiting thread holds, waits for ever.
///
/// A loan gives no access in safe code: [`contents`](Loan::contents) is a raw pointer. Like all GPU work, what other queues
/// do with the bytes meanwhile is not kept out.
pub struct Loan {
    state: Arc<LoanState>,
    contents: NonNull<u8>,
}

// SAFETY: the pointer is that of a buffer that the loan keeps alive, and following it is the unsafe code's matter.
unsafe impl Send for Loan {}
// SAFETY: as above.
unsafe impl Sync for Loan {}

/// What a loan and the recording of its command buffer share.
pub(crate) struct LoanState {
    buffer: Buffer,
    access: Access,
    stage: Mutex<Stage>,
}

enum Stage {
    /// The command buffer is not committed.
    Recorded,
    Running {
        position: QueuePosition,
        is_committed: bool,
        /// `None` until the commit has succeeded, and for one that has raised an exception.
        commands: Option<Committed>,
        is_overdue: bool,
    },
    /// The buffer is free, as far as this loan is concerned.
    Ended,
}

/// A command buffer after its commit.
struct Committed(Handle<sys::mtb_command_buffer>);

// SAFETY: metal_bridge.h, "Threads": after the commit a command buffer may be asked from any thread.
unsafe impl Send for Committed {}

/// The number of a recording that loans note their uses under: that of no command buffer.
const NO_RECORDING: u64 = 0;

impl LoanState {
    /// Begins a loan of a buffer that the command buffer uses in the same way.
    pub(crate) fn record(
        function: &'static str,
        buffer: &Buffer,
        access: Access,
    ) -> Result<Arc<LoanState>> {
        let recorded = buffer.inner().tracker().record(NO_RECORDING, access);
        recorded.map_err(|conflict| buffer.conflict(function, conflict))?;
        Ok(Arc::new(LoanState {
            buffer: buffer.clone(),
            access,
            stage: Mutex::new(Stage::Recorded),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        // Nothing panics under the lock.
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The command buffer is about to be committed.
    pub(crate) fn start(&self, position: &QueuePosition) {
        let mut stage = self.lock();
        if matches!(*stage, Stage::Recorded) {
            let tracker = self.buffer.inner().tracker();
            tracker.start(position, self.access);
            *stage = Stage::Running {
                position: position.clone(),
                is_committed: false,
                commands: None,
                is_overdue: false,
            };
        }
    }

    /// The commit has returned: Metal has the work, or, without a command buffer, may have it.
    pub(crate) fn committed(&self, handle: Option<&Handle<sys::mtb_command_buffer>>) {
        if let Stage::Running {
            is_committed,
            commands,
            ..
        } = &mut *self.lock()
        {
            *is_committed = true;
            *commands = handle.map(|handle| Committed(handle.retain()));
        }
    }

    /// The command buffer is dropped without a commit.
    pub(crate) fn discard(&self) {
        let mut stage = self.lock();
        if matches!(*stage, Stage::Recorded) {
            *stage = Stage::Ended;
            self.buffer
                .inner()
                .tracker()
                .discard(NO_RECORDING, self.access);
        }
    }

    fn end(&self) {
        self.discard();
        let stage = std::mem::replace(&mut *self.lock(), Stage::Ended);
        if let Stage::Running {
            position,
            commands,
            is_overdue,
            ..
        } = stage
        {
            let tracker = self.buffer.inner().tracker();
            if is_overdue {
                tracker.set_overdue(self.access, false);
            }
            tracker.finish(&position, self.access);
            drop(commands);
        }
    }
}

impl Loan {
    pub(crate) fn new(state: Arc<LoanState>, contents: NonNull<u8>) -> Loan {
        Loan { state, contents }
    }

    /// Where the bytes of a buffer begin that can be lent.
    pub(crate) fn contents_of(function: &'static str, buffer: &Buffer) -> Result<NonNull<u8>> {
        let contents = match buffer.storage_mode() {
            StorageMode::Shared => buffer.address(),
            // The CPU's copy of a managed buffer is not what the GPU sees.
            StorageMode::Managed | StorageMode::Private => None,
        };
        contents.ok_or_else(|| {
            let message = format!(
                "{} is not one that CPU and GPU both see: only shared buffers can be lent",
                buffer.describe()
            );
            Error::NotVisible(Failure::new(function, message))
        })
    }

    /// The buffer.
    pub fn buffer(&self) -> &Buffer {
        &self.state.buffer
    }

    /// Where the buffer's bytes begin (`contents`): valid as long as the loan lives, and not aligned to more than the buffer is.
    /// What reads or writes there has to be ordered by events with the command buffer that lends.
    pub fn contents(&self) -> NonNull<u8> {
        self.contents
    }

    /// Whether the command buffer is still being recorded.
    pub fn is_recorded(&self) -> bool {
        matches!(&*self.state.lock(), Stage::Recorded)
    }

    /// Whether the commit of the command buffer has returned. If it has raised an exception, nobody knows whether the work runs.
    pub fn is_committed(&self) -> bool {
        matches!(
            &*self.state.lock(),
            Stage::Running {
                is_committed: true,
                ..
            }
        )
    }

    /// How the command buffer's position compares with that of another loan's. `None` if they have different queues, or one of them
    /// is not committed.
    pub fn order(&self, other: &Loan) -> Option<Ordering> {
        let position = |loan: &Loan| match &*loan.state.lock() {
            Stage::Running { position, .. } => Some(position.clone()),
            Stage::Recorded | Stage::Ended => None,
        };
        position(self)?.order(&position(other)?)
    }

    /// Whether the GPU has ended the command buffer with an error. Its events are signalled all the same, after this is true.
    pub fn has_failed(&self) -> bool {
        let stage = self.state.lock();
        let Stage::Running {
            commands: Some(Committed(commands)),
            ..
        } = &*stage
        else {
            return false;
        };
        // SAFETY: the command buffer is live and committed.
        let status = unsafe { sys::mtb_command_buffer_get_status(commands.as_ptr()) };
        status == sys::MTB_COMMAND_BUFFER_ERROR
    }

    /// Says that nobody knows when the loan ends, or that it never will. CPU access that conflicts then is
    /// [`Error::InUse`] at once, for those who wait for it already, too.
    pub fn set_overdue(&self) {
        if let Stage::Running { is_overdue, .. } = &mut *self.state.lock() {
            if !std::mem::replace(is_overdue, true) {
                let tracker = self.state.buffer.inner().tracker();
                tracker.set_overdue(self.state.access, true);
            }
        }
    }

    /// Refuses a wait of this thread for the loan's end, named `function` in the error, if the end could not come meanwhile.
    ///
    /// # Errors
    ///
    /// [`Error::Deadlock`] in a completion handler or a host function of the command buffer's queue, and if the command buffer
    /// comes after one that this thread, or one that has ended, has [enqueued](crate::CommandBuffer::enqueue) and never committed.
    pub fn check_wait(&self, function: &'static str) -> Result<()> {
        let Stage::Running { position, .. } = &*self.state.lock() else {
            return Ok(());
        };
        let end = if position.is_after_callback() {
            WaitError::InCallback
        } else if position.is_stuck() {
            WaitError::Stuck
        } else {
            return Ok(());
        };
        Err(end.of(function, "the work"))
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if !is_forked() {
            self.state.end();
        }
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan")
            .field("buffer", self.buffer())
            .field("is_committed", &self.is_committed())
            .finish()
    }
}

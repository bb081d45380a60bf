//! [`Inner`]: who executes commands and who changes them.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::descriptor::IndirectCommandBufferDescriptor;
use super::uses::{Command, State};
use crate::error::{Error, Failure, Result};
use crate::metal::access::{Access, Conflict, Tracker};
use crate::metal::buffer::{Buffer, conflict_error};
use crate::metal::device::Device;
use crate::metal::handle::check;
use crate::metal::process::check_process;
use crate::metal::recording::{Resource, Tracked};
use crate::sys;

/// What the handles of one object share.
pub(super) struct Inner {
    pub(super) device: Device,
    pub(super) descriptor: IndirectCommandBufferDescriptor,
    pub(super) count: usize,
    /// Who executes the commands, and who changes them: executions read, changes write.
    pub(super) tracker: Tracker,
    pub(super) state: Mutex<State>,
}

impl Inner {
    /// For a message.
    pub(super) fn describe(&self) -> String {
        format!("the indirect command buffer of {} commands", self.count)
    }

    /// Refused in a child of `fork`: another thread of the parent may have held the lock.
    pub(super) fn lock(&self, function: &'static str) -> Result<MutexGuard<'_, State>> {
        check_process(function)?;
        // The state is whole between any two of its changes.
        Ok(self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The commands of the range exist.
    pub(super) fn check_range(&self, function: &'static str, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.count {
            return Ok(());
        }
        let message = format!("commands {range:?} are not all in {}", self.describe());
        Err(Error::OutOfRange(Failure::new(function, message)))
    }

    /// Begins a change of commands, which no command buffer executes, until [`Tracker::end_cpu`].
    pub(super) fn begin_change(&self, function: &'static str) -> Result<()> {
        let begun = self.tracker.begin_cpu(Access::Write, Some(Instant::now()));
        begun.map_err(|conflict| {
            let conflict = match conflict {
                Conflict::Waited(_) => Conflict::Running,
                other => other,
            };
            conflict_error(function, &self.describe(), conflict)
        })
    }

    /// Resets commands that exist, inside a change. Returns what they had, for a drop without the lock.
    pub(super) fn reset(&self, range: Range<usize>) -> Result<Vec<Command>> {
        let mut state = self.lock("IndirectCommandBuffer::reset")?;
        let (raw, first, count) = (state.handle.as_ptr(), range.start, range.len());
        // SAFETY: the commands are live, and this thread's while the lock is held.
        unsafe {
            check(|error| sys::mtb_indirect_command_buffer_reset(raw, first, count, error))?;
        }
        Ok(state.forget(range))
    }
}

impl Tracked for Inner {
    fn tracker(&self) -> &Tracker {
        &self.tracker
    }
}

/// What an execution of commands uses.
pub(super) enum Used<'a> {
    Commands(&'a Arc<Inner>),
    Buffer(&'a Buffer),
}

impl Resource for Used<'_> {
    fn tracker(&self) -> &Tracker {
        match self {
            Used::Commands(inner) => &inner.tracker,
            Used::Buffer(buffer) => buffer.tracker(),
        }
    }

    fn check_writable(&self, function: &'static str) -> Result<()> {
        match self {
            Used::Commands(_) => Ok(()),
            Used::Buffer(buffer) => Resource::check_writable(buffer, function),
        }
    }

    fn conflict(&self, function: &'static str, conflict: Conflict) -> Error {
        match self {
            Used::Commands(inner) => conflict_error(function, &inner.describe(), conflict),
            Used::Buffer(buffer) => Resource::conflict(buffer, function, conflict),
        }
    }

    fn keep(&self) -> Arc<dyn Tracked> {
        match self {
            Used::Commands(inner) => (*inner).clone(),
            Used::Buffer(buffer) => buffer.keep(),
        }
    }
}

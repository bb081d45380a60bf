//! Who uses a buffer: the rules that keep the CPU and the GPU from racing on it.
//!
//! A buffer has at any time guards for CPU access (any number that read, or one that writes) and uses by command
//! buffers. A use is *recorded* from the binding of the buffer until the commit, and *running* from there until the
//! command buffer has completed. Reading goes with reading; writing goes with nothing of the other side.
//!
//! CPU access waits for a running use that conflicts with it, since that use ends by itself (a loan's, in `loan.rs`, when the loan is
//! dropped, and a loan that nobody can end is refused as overdue). A conflict with a
//! recorded use or with a guard is refused: only the caller can end those, so a wait could last for ever. A conflict
//! with a running use is refused too if the use does not end while this thread waits: if this thread is in a
//! completion handler or a host function of the use's queue, or if the use comes after a command buffer that this
//! thread has enqueued and not committed. GPU uses do not exclude each other: Metal orders them.
//! The binding of a buffer is refused while a guard conflicts with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::process::is_forked;
use super::slots::QueuePosition;
use super::wait::{Wait, WaitError};

/// What is done with the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Why an access was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// A CPU guard that reads lives.
    Reader,
    /// A CPU guard that writes lives.
    Writer,
    /// A command buffer that is not committed uses the buffer.
    Recorded,
    /// A committed command buffer uses the buffer, and the caller does not wait for it.
    Running,
    /// The wait for a committed command buffer that uses the buffer has ended without its completion.
    Waited(WaitError),
    /// The buffer belongs to the process that this one was forked from, whose other threads may hold the lock.
    Forked,
    /// There are as many guards or uses as can be counted.
    TooMany,
    /// Code outside of Metal that should have ended still uses the buffer.
    Overdue,
}

/// How many guards or uses there are. Guards can be forgotten without end, so that a count could wrap to zero: it is
/// checked as `Arc`'s is.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count(usize);

impl Count {
    fn increase(&mut self) -> Result<(), Conflict> {
        self.0 = self.0.checked_add(1).ok_or(Conflict::TooMany)?;
        Ok(())
    }

    fn decrease(&mut self) {
        self.0 = self.0.checked_sub(1).expect("what ends has begun");
    }

    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

#[derive(Default)]
pub(crate) struct Tracker {
    state: Mutex<State>,
    changed: Condvar,
    /// The command buffer that recorded a use last (its number, doubled) and whether that use writes (the lowest bit).
    /// Lets a command buffer that binds the buffer again see that there is nothing to do.
    last_use: AtomicU64,
}

#[derive(Default)]
struct State {
    readers: Count,
    writer: bool,
    recorded: Uses,
    running: Running,
    /// Those of the running uses whose end nobody can wait for.
    overdue: Uses,
    /// Threads that wait: there are never too many to count.
    waiting: usize,
}

/// Uses by command buffers, counted by what they do.
#[derive(Default)]
struct Uses {
    reads: Count,
    writes: Count,
}

impl Uses {
    fn count(&mut self, access: Access) -> &mut Count {
        match access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
        }
    }

    fn conflict_with(&self, access: Access) -> bool {
        !self.writes.is_zero() || (access == Access::Write && !self.reads.is_zero())
    }
}

/// Uses by committed command buffers.
#[derive(Default)]
struct Running(Vec<(QueuePosition, Access)>);

impl Running {
    fn finish(&mut self, position: &QueuePosition, access: Access) {
        let is_it = |(other, of): &(QueuePosition, Access)| *of == access && other.is(position);
        let index = self.0.iter().position(is_it);
        self.0
            .swap_remove(index.expect("a use that finishes was started"));
    }

    fn conflicts(&self, access: Access) -> impl Iterator<Item = &QueuePosition> {
        let of = move |used: &&(QueuePosition, Access)| [access, used.1].contains(&Access::Write);
        self.0.iter().filter(of).map(|(position, _)| position)
    }

    fn conflict_with(&self, access: Access) -> bool {
        self.conflicts(access).next().is_some()
    }
}

fn use_mark(command_buffer: u64, access: Access) -> u64 {
    command_buffer << 1 | u64::from(access == Access::Write)
}

impl Tracker {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held. If something did, the counts would still be right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless a thread of this process's parent may have held it at the fork.
    fn lock_unless_forked(&self) -> Result<MutexGuard<'_, State>, Conflict> {
        if is_forked() {
            return Err(Conflict::Forked);
        }
        Ok(self.lock())
    }

    /// Begins CPU access, waiting until `deadline` (for ever without one) for committed command buffers.
    pub(crate) fn begin_cpu(
        &self,
        access: Access,
        deadline: Option<Instant>,
    ) -> Result<(), Conflict> {
        let mut wait = Wait::until(deadline);
        let mut state = self.lock_unless_forked()?;
        loop {
            if state.writer {
                return Err(Conflict::Writer);
            }
            if access == Access::Write && !state.readers.is_zero() {
                return Err(Conflict::Reader);
            }
            if state.recorded.conflict_with(access) {
                return Err(Conflict::Recorded);
            }
            if state.overdue.conflict_with(access) {
                return Err(Conflict::Overdue);
            }
            if !state.running.conflict_with(access) {
                break;
            }
            state = self.wait(state, access, &mut wait)?;
        }
        match access {
            Access::Read => state.readers.increase()?,
            Access::Write => state.writer = true,
        }
        Ok(())
    }

    pub(crate) fn end_cpu(&self, access: Access) {
        let Ok(mut state) = self.lock_unless_forked() else {
            return;
        };
        match access {
            Access::Read => state.readers.decrease(),
            Access::Write => state.writer = false,
        }
    }

    /// Waits until no committed command buffer uses the buffer.
    pub(crate) fn wait_idle(&self, deadline: Option<Instant>) -> Result<(), Conflict> {
        let mut wait = Wait::until(deadline);
        let mut state = self.lock_unless_forked()?;
        while state.running.conflict_with(Access::Write) {
            if state.overdue.conflict_with(Access::Write) {
                return Err(Conflict::Overdue);
            }
            state = self.wait(state, Access::Write, &mut wait)?;
        }
        Ok(())
    }

    /// Waits for a change of the running uses that conflict with `access`.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        access: Access,
        wait: &mut Wait,
    ) -> Result<MutexGuard<'a, State>, Conflict> {
        let is_any = |is: fn(&QueuePosition) -> bool| state.running.conflicts(access).any(is);
        let step = wait.step(
            || is_any(QueuePosition::is_after_callback),
            || is_any(QueuePosition::is_stuck),
        );
        let step = step.map_err(Conflict::Waited)?;
        state.waiting += 1;
        let waited = self.changed.wait_timeout(state, step);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting -= 1;
        Ok(state)
    }

    /// Whether the command buffer numbered `command_buffer` has recorded a use that covers `access`.
    ///
    /// Only the thread that records into a command buffer stores its number, so a match is its own doing.
    #[inline]
    pub(crate) fn is_recorded_by(&self, command_buffer: u64, access: Access) -> bool {
        let last = self.last_use.load(Ordering::Relaxed);
        last >> 1 == command_buffer && (access == Access::Read || last & 1 == 1)
    }

    /// Records a use by a command buffer that is not committed.
    pub(crate) fn record(&self, command_buffer: u64, access: Access) -> Result<(), Conflict> {
        let mut state = self.lock_unless_forked()?;
        if state.writer {
            return Err(Conflict::Writer);
        }
        if access == Access::Write && !state.readers.is_zero() {
            return Err(Conflict::Reader);
        }
        state.recorded.count(access).increase()?;
        drop(state);
        self.last_use
            .store(use_mark(command_buffer, access), Ordering::Relaxed);
        Ok(())
    }

    /// Makes a recorded use a running one: its command buffer is committed.
    pub(crate) fn start(&self, position: &QueuePosition, access: Access) {
        let mut state = self.lock();
        state.recorded.count(access).decrease();
        state.running.0.push((position.clone(), access));
    }

    /// Ends a recorded use that will not run: its command buffer is dropped without a commit, or goes on without the
    /// use.
    pub(crate) fn discard(&self, command_buffer: u64, access: Access) {
        let Ok(mut state) = self.lock_unless_forked() else {
            return;
        };
        state.recorded.count(access).decrease();
        drop(state);
        // If another command buffer has stored its number meanwhile, this one's is gone already.
        let _ = self.last_use.compare_exchange(
            use_mark(command_buffer, access),
            0,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Says of a running use that nobody can wait for its end, or takes that back.
    pub(crate) fn set_overdue(&self, access: Access, is_overdue: bool) {
        let mut state = self.lock();
        let count = state.overdue.count(access);
        if is_overdue {
            // There are no more of them than running uses.
            count.0 += 1;
        } else {
            count.decrease();
        }
        self.changed.notify_all();
    }

    /// Ends a running use: its command buffer has completed.
    pub(crate) fn finish(&self, position: &QueuePosition, access: Access) {
        let mut state = self.lock();
        state.running.finish(position, access);
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;

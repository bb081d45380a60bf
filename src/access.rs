//! Who uses a buffer: the rules that keep the CPU and the GPU from racing on it.
//!
//! A buffer has at any time guards for CPU access (any number that read, or one that writes) and uses by command
//! buffers. A use is *recorded* from the binding of the buffer until the commit, and *running* from there until the
//! command buffer has completed. Readers go with readers; a writer goes with nothing of the other side. What the other
//! side will end by itself (a running use) is waited for; what only the caller can end (a recorded use, a guard) is
//! refused, since waiting for it could last for ever. So is the wait for a running use on a queue that this thread is in a
//! completion handler or a host function of: the use comes after that. GPU uses do not exclude each other: Metal orders
//! them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::queue::{QueueId, is_forked};

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
    /// The deadline passed while a committed command buffer used the buffer.
    Timeout,
    /// A committed command buffer uses the buffer that comes after the callback that this thread is in.
    Later,
    /// A command buffer of the process that this one was forked from uses the buffer.
    Forked,
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
    readers: u32,
    writer: bool,
    recorded: Uses,
    running: Running,
    waiting: u32,
}

/// Uses by command buffers, counted by what they do.
#[derive(Default)]
struct Uses {
    reads: u32,
    writes: u32,
}

impl Uses {
    fn count(&mut self, access: Access) -> &mut u32 {
        match access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
        }
    }

    fn conflict_with(&self, access: Access) -> bool {
        self.writes > 0 || (access == Access::Write && self.reads > 0)
    }
}

/// Uses by committed command buffers, of each queue that has some.
#[derive(Default)]
struct Running(Vec<(QueueId, Uses)>);

impl Running {
    fn start(&mut self, queue: QueueId, access: Access) {
        match self.0.iter_mut().find(|(of, _)| *of == queue) {
            Some((_, uses)) => *uses.count(access) += 1,
            None => {
                let mut uses = Uses::default();
                *uses.count(access) = 1;
                self.0.push((queue, uses));
            }
        }
    }

    fn finish(&mut self, queue: QueueId, access: Access) {
        let place = self.0.iter().position(|(of, _)| *of == queue);
        let place = place.expect("a use that finishes was started");
        let uses = &mut self.0[place].1;
        *uses.count(access) -= 1;
        if uses.reads + uses.writes == 0 {
            self.0.swap_remove(place);
        }
    }

    fn conflict_with(&self, access: Access) -> bool {
        self.0.iter().any(|(_, uses)| uses.conflict_with(access))
    }

    /// Whether the conflict lasts for as long as this thread waits for its end.
    fn outlasts_waits(&self, access: Access) -> bool {
        self.0
            .iter()
            .any(|(queue, uses)| uses.conflict_with(access) && queue.is_in_callback())
    }
}

impl Tracker {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held; were it to, the counts would still be right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins CPU access, waiting until `deadline` (for ever without one) for committed command buffers.
    pub(crate) fn begin_cpu(
        &self,
        access: Access,
        deadline: Option<Instant>,
    ) -> Result<(), Conflict> {
        let mut state = self.lock();
        loop {
            if state.writer {
                return Err(Conflict::Writer);
            }
            if access == Access::Write && state.readers > 0 {
                return Err(Conflict::Reader);
            }
            if state.recorded.conflict_with(access) {
                return Err(Conflict::Recorded);
            }
            if !state.running.conflict_with(access) {
                break;
            }
            state = self.wait(state, access, deadline)?;
        }
        match access {
            Access::Read => state.readers += 1,
            Access::Write => state.writer = true,
        }
        Ok(())
    }

    pub(crate) fn end_cpu(&self, access: Access) {
        let mut state = self.lock();
        match access {
            Access::Read => state.readers -= 1,
            Access::Write => state.writer = false,
        }
    }

    /// Waits until no committed command buffer uses the buffer.
    pub(crate) fn wait_idle(&self, deadline: Option<Instant>) -> Result<(), Conflict> {
        let mut state = self.lock();
        while state.running.conflict_with(Access::Write) {
            state = self.wait(state, Access::Write, deadline)?;
        }
        Ok(())
    }

    /// Waits for a change of the running uses that conflict with `access`.
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        access: Access,
        deadline: Option<Instant>,
    ) -> Result<MutexGuard<'a, State>, Conflict> {
        let may_wait = deadline.is_none_or(|deadline| deadline > Instant::now());
        if is_forked() {
            return Err(Conflict::Forked);
        }
        if may_wait && state.running.outlasts_waits(access) {
            return Err(Conflict::Later);
        }
        state.waiting += 1;
        let mut state = match deadline {
            None => self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    state.waiting -= 1;
                    return Err(Conflict::Timeout);
                }
                self.changed
                    .wait_timeout(state, left)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
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
        let mut state = self.lock();
        if state.writer {
            return Err(Conflict::Writer);
        }
        if access == Access::Write && state.readers > 0 {
            return Err(Conflict::Reader);
        }
        *state.recorded.count(access) += 1;
        drop(state);
        self.last_use.store(
            command_buffer << 1 | u64::from(access == Access::Write),
            Ordering::Relaxed,
        );
        Ok(())
    }

    /// The command buffer of a recorded use is committed to a queue.
    pub(crate) fn start(&self, queue: QueueId, access: Access) {
        let mut state = self.lock();
        *state.recorded.count(access) -= 1;
        state.running.start(queue, access);
    }

    /// The command buffer of a recorded use is dropped without a commit.
    pub(crate) fn discard(&self, access: Access) {
        *self.lock().recorded.count(access) -= 1;
    }

    /// The command buffer of a running use has completed.
    pub(crate) fn finish(&self, queue: QueueId, access: Access) {
        let mut state = self.lock();
        state.running.finish(queue, access);
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn expired() -> Option<Instant> {
        Some(Instant::now())
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let tracker = Tracker::default();
        tracker.begin_cpu(Access::Read, None).unwrap();
        tracker.begin_cpu(Access::Read, None).unwrap();
        assert_eq!(
            tracker.begin_cpu(Access::Write, None),
            Err(Conflict::Reader)
        );
        tracker.end_cpu(Access::Read);
        tracker.end_cpu(Access::Read);
        tracker.begin_cpu(Access::Write, None).unwrap();
        assert_eq!(tracker.begin_cpu(Access::Read, None), Err(Conflict::Writer));
        assert_eq!(tracker.record(1, Access::Read), Err(Conflict::Writer));
        tracker.end_cpu(Access::Write);
        tracker.begin_cpu(Access::Read, None).unwrap();
    }

    #[test]
    fn a_recorded_use_refuses_and_a_running_one_is_waited_for() {
        let tracker = Tracker::default();
        tracker.record(1, Access::Write).unwrap();
        assert_eq!(
            tracker.begin_cpu(Access::Read, None),
            Err(Conflict::Recorded)
        );
        tracker.start(QueueId::default(), Access::Write);
        assert_eq!(
            tracker.begin_cpu(Access::Read, expired()),
            Err(Conflict::Timeout)
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                tracker.finish(QueueId::default(), Access::Write);
            });
            tracker.begin_cpu(Access::Read, None).unwrap();
        });
        // The reader lives: the GPU may read beside it, and not write.
        tracker.record(2, Access::Read).unwrap();
        assert_eq!(tracker.record(2, Access::Write), Err(Conflict::Reader));
    }

    #[test]
    fn reading_goes_with_reading_on_both_sides() {
        let tracker = Tracker::default();
        tracker.record(1, Access::Read).unwrap();
        tracker.begin_cpu(Access::Read, expired()).unwrap();
        tracker.end_cpu(Access::Read);
        tracker.start(QueueId::default(), Access::Read);
        tracker.begin_cpu(Access::Read, expired()).unwrap();
        tracker.end_cpu(Access::Read);
        assert_eq!(
            tracker.begin_cpu(Access::Write, expired()),
            Err(Conflict::Timeout)
        );
        tracker.finish(QueueId::default(), Access::Read);
        tracker.begin_cpu(Access::Write, expired()).unwrap();
    }

    #[test]
    fn a_command_buffer_knows_its_own_uses() {
        let tracker = Tracker::default();
        assert!(!tracker.is_recorded_by(7, Access::Read));
        tracker.record(7, Access::Read).unwrap();
        assert!(tracker.is_recorded_by(7, Access::Read));
        assert!(!tracker.is_recorded_by(7, Access::Write));
        assert!(!tracker.is_recorded_by(8, Access::Read));
        tracker.record(7, Access::Write).unwrap();
        assert!(
            tracker.is_recorded_by(7, Access::Read) && tracker.is_recorded_by(7, Access::Write)
        );
        tracker.discard(Access::Read);
        tracker.discard(Access::Write);
        tracker.begin_cpu(Access::Write, expired()).unwrap();
    }
}

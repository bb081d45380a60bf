//! [`Slots`]: the command buffers that take a queue's slots, and which of them can no longer give theirs back.
//!
//! A queue has a fixed number of slots for command buffers that have not completed, and runs command buffers in order.
//! A command buffer that is being recorded stays on the thread that made it. So while that thread waits, or once it
//! has ended, nobody commits or drops the command buffer: its slot does not become free, and if it was enqueued, the
//! command buffers behind it do not run.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::handle::nanoseconds;
use super::process::is_forked;
use super::queue_id::QueueId;
use super::wait::{LOOK_AFTER, STUCK, Wait, WaitError};
use crate::error::{Error, Failure, Result};

/// A thread that records: gone when the thread has ended.
struct Recorder;

thread_local! {
    static RECORDER: Arc<Recorder> = Arc::new(Recorder);
}

/// The calling thread, unless it is about to end.
fn recorder() -> Option<Weak<Recorder>> {
    RECORDER.try_with(Arc::downgrade).ok()
}

/// A number in the queue's order.
type Position = u64;

/// Where work stands in the order of its queue.
#[derive(Clone)]
pub(crate) struct QueuePosition {
    slots: Arc<Slots>,
    /// At most the position of the work itself.
    position: Position,
}

impl QueuePosition {
    /// Whether it is the position of the same work.
    pub(crate) fn is(&self, other: &QueuePosition) -> bool {
        self.position == other.position && Arc::ptr_eq(&self.slots, &other.slots)
    }

    /// How it compares with a position of the same queue; `None` for one of another queue.
    pub(crate) fn order(&self, other: &QueuePosition) -> Option<Ordering> {
        let same = Arc::ptr_eq(&self.slots, &other.slots);
        same.then(|| self.position.cmp(&other.position))
    }

    /// Whether this thread is in a callback of the queue, which the work runs after.
    pub(crate) fn is_after_callback(&self) -> bool {
        self.slots.queue.is_in_callback()
    }

    /// Whether the work runs after a command buffer that does not run while this thread waits.
    pub(crate) fn is_stuck(&self) -> bool {
        let stuck = self.slots.lock().first_stuck();
        stuck.is_some_and(|stuck| stuck < self.position)
    }

    /// Waits with `wait`, which takes nanoseconds, for the end of the work.
    pub(crate) fn wait<T>(
        &self,
        function: &'static str,
        wait: impl FnMut(u64) -> Result<T>,
    ) -> Result<T> {
        wait_in_steps(None, wait, || self.is_stuck())
            .unwrap_or_else(|end| Err(end.of(function, "the work")))
    }
}

pub(crate) struct Slots {
    queue: QueueId,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_position: Position,
    next_number: u64,
    taken: HashMap<u64, Taken>,
}

/// A command buffer that takes a slot.
enum Taken {
    Recording {
        /// `None` for a thread that was about to end.
        by: Option<Weak<Recorder>>,
        enqueued: Option<Enqueued>,
    },
    Committed {
        /// At most its own position.
        from: Position,
    },
}

/// The position of a command buffer that was enqueued lies between these two, which were drawn before and after the call.
#[derive(Clone, Copy)]
struct Enqueued {
    from: Position,
    to: Position,
}

impl State {
    fn draw_position(&mut self) -> Position {
        self.next_position += 1;
        self.next_position
    }

    /// While this thread waits, nothing runs from this position on.
    fn first_stuck(&self) -> Option<Position> {
        let stuck = self.taken.values().filter(|taken| taken.is_stuck());
        stuck.filter_map(Taken::enqueued_to).min()
    }

    fn is_full_for_ever(&self, limit: usize) -> bool {
        let first_stuck = self.first_stuck();
        self.taken.len() >= limit
            && self.taken.values().all(|taken| match taken {
                Taken::Recording { .. } => taken.is_stuck(),
                Taken::Committed { from } => first_stuck.is_some_and(|stuck| stuck < *from),
            })
    }
}

impl Taken {
    /// Whether this thread, or one that has ended, records it.
    fn is_stuck(&self) -> bool {
        let Taken::Recording { by: Some(by), .. } = self else {
            return false;
        };
        by.strong_count() == 0 || recorder().is_some_and(|own| own.ptr_eq(by))
    }

    fn enqueued_to(&self) -> Option<Position> {
        match self {
            Taken::Recording { enqueued, .. } => enqueued.map(|enqueued| enqueued.to),
            Taken::Committed { .. } => None,
        }
    }
}

impl Slots {
    pub(crate) fn new(queue: QueueId, limit: usize) -> Arc<Slots> {
        Arc::new(Slots {
            queue,
            limit,
            state: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of the caller's runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn queue(&self) -> QueueId {
        self.queue
    }

    /// Notes a command buffer that this thread records.
    pub(crate) fn take(self: &Arc<Slots>) -> Slot {
        let mut state = self.lock();
        state.next_number += 1;
        let number = state.next_number;
        let taken = Taken::Recording {
            by: recorder(),
            enqueued: None,
        };
        state.taken.insert(number, taken);
        Slot {
            slots: self.clone(),
            number,
        }
    }

    /// A position before all that is committed from now on.
    pub(crate) fn draw_position(self: &Arc<Slots>) -> QueuePosition {
        QueuePosition {
            slots: self.clone(),
            position: self.lock().draw_position(),
        }
    }

    /// Refuses a call that would wait for work of its own, whatever the work's position, if that work would not run.
    pub(crate) fn check_runs(&self, function: &'static str) -> Result<()> {
        let is_stuck = || self.lock().first_stuck().is_some();
        if is_stuck() {
            // A second look, as in `Wait`.
            thread::sleep(LOOK_AFTER);
            if is_stuck() {
                return Err(Error::Deadlock(Failure::new(function, STUCK)));
            }
        }
        Ok(())
    }

    /// Waits with `wait`, which takes nanoseconds, for a slot that may never become free, for `longest` at most.
    pub(crate) fn wait_for_slot<T>(
        &self,
        longest: Duration,
        wait: impl FnMut(u64) -> Result<T>,
    ) -> Result<T> {
        let is_stuck = || self.lock().is_full_for_ever(self.limit);
        wait_in_steps(Some(longest), wait, is_stuck).unwrap_or_else(|_| {
            let why = "the queue has no free slot and will get none: this thread, or threads that have ended, made its \
                       command buffers and neither committed nor dropped them, or they run after one that was enqueued and \
                       never committed";
            let function = "CommandQueue::command_buffer";
            Err(Error::Deadlock(Failure::new(function, why)))
        })
    }
}

/// Waits with `wait`, which takes nanoseconds and ends with a timeout, as long as the wait could end, and for `longest`
/// at most.
fn wait_in_steps<T>(
    longest: Option<Duration>,
    mut wait: impl FnMut(u64) -> Result<T>,
    is_stuck: impl Fn() -> bool,
) -> Result<Result<T>, WaitError> {
    let end = longest.and_then(|longest| Instant::now().checked_add(longest));
    let mut steps = Wait::until(None);
    loop {
        // The bridge's own waits find out whether this thread is in a callback.
        let step = steps.step(|| false, &is_stuck)?;
        match wait(nanoseconds(step)) {
            Err(Error::Timeout(_)) if end.is_none_or(|end| Instant::now() < end) => {}
            ended => return Ok(ended),
        }
    }
}

/// A command buffer's slot in its queue, until the command buffer has completed or is dropped without a commit.
pub(crate) struct Slot {
    slots: Arc<Slots>,
    number: u64,
}

impl Slot {
    /// Takes a position with `enqueue`.
    pub(crate) fn enqueue(&self, enqueue: impl FnOnce() -> Result<()>) -> Result<()> {
        let from = self.slots.lock().draw_position();
        enqueue()?;
        let mut state = self.slots.lock();
        let to = state.draw_position();
        if let Some(Taken::Recording { enqueued, .. }) = state.taken.get_mut(&self.number) {
            *enqueued = Some(Enqueued { from, to });
        }
        Ok(())
    }

    /// Takes a position for the command buffer, which is about to be committed.
    pub(crate) fn commit(&self) -> QueuePosition {
        let mut state = self.slots.lock();
        let from = match state.taken.get(&self.number) {
            Some(Taken::Recording {
                enqueued: Some(enqueued),
                ..
            }) => enqueued.from,
            _ => state.draw_position(),
        };
        state.taken.insert(self.number, Taken::Committed { from });
        drop(state);
        QueuePosition {
            slots: self.slots.clone(),
            position: from,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if is_forked() {
            return;
        }
        self.slots.lock().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_slot_ends_in_time() {
        let slots = Slots::new(QueueId::default(), 1);
        let mut steps = 0;
        let ended = slots.wait_for_slot::<()>(LOOK_AFTER * 3, |step| {
            steps += 1;
            assert!(steps < 100, "the wait goes on");
            thread::sleep(Duration::from_nanos(step));
            Err(Error::Timeout(Failure::new("test", "no slot")))
        });
        assert!(matches!(ended, Err(Error::Timeout(_))), "{ended:?}");
    }
}

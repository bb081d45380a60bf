//! [`Room`]: the command buffers that take a queue's room, and which of them can no longer give it back.
//!
//! A queue has room for so many command buffers that have not completed, and runs them in the order of their places. One on
//! record stays on the thread that made it. So while that thread waits, or when it has ended, nobody commits or drops it: its
//! room does not become free, and if it was enqueued, what has a later place does not run.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::handle::nanoseconds;
use super::queue::{QueueId, is_forked};
use crate::error::{Error, Failure, Result};

/// How long a wait without an end lasts until it looks whether it could end.
pub(crate) const LOOK_AFTER: Duration = Duration::from_millis(200);

/// Why work does not run.
pub(crate) const STUCK: &str = "it comes after a command buffer that this thread, or one that has ended, has enqueued and never committed";

/// Looks, in a wait without an end, whether the wait could end. Twice, since a thread that ends may still be about to drop what
/// it has recorded.
pub(crate) struct Watch {
    since: Instant,
    was_stuck: bool,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            since: Instant::now(),
            was_stuck: false,
        }
    }

    /// Whether there is nothing to wait for, as far as `is_stuck` tells. To be asked every [`LOOK_AFTER`].
    pub(crate) fn is_hopeless(&mut self, is_stuck: impl FnOnce() -> bool) -> bool {
        if self.since.elapsed() < LOOK_AFTER {
            return false;
        }
        self.since = Instant::now();
        let is_stuck = is_stuck();
        mem::replace(&mut self.was_stuck, is_stuck) && is_stuck
    }
}

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
type Place = u64;

/// Where work stands in the order of its queue.
#[derive(Clone)]
pub(crate) struct Turn {
    room: Arc<Room>,
    /// Not after its own.
    place: Place,
}

impl Turn {
    /// Whether it is that of the same work.
    pub(crate) fn is(&self, other: &Turn) -> bool {
        self.place == other.place && Arc::ptr_eq(&self.room, &other.room)
    }

    /// Whether this thread is in a callback of the queue, which the work comes after.
    pub(crate) fn is_after_callback(&self) -> bool {
        self.room.queue.is_in_callback()
    }

    /// Whether the work comes after what does not run while this thread waits.
    pub(crate) fn is_stuck(&self) -> bool {
        let stuck = self.room.lock().first_stuck();
        stuck.is_some_and(|stuck| stuck < self.place)
    }

    /// Waits with `wait`, which takes nanoseconds, for the end of the work.
    pub(crate) fn wait<T>(
        &self,
        function: &'static str,
        wait: impl FnMut(u64) -> Result<T>,
    ) -> Result<T> {
        wait_unless(function, STUCK, wait, || self.is_stuck())
    }
}

pub(crate) struct Room {
    queue: QueueId,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next_place: Place,
    next_number: u64,
    taken: HashMap<u64, Taken>,
}

/// A command buffer that takes room.
enum Taken {
    OnRecord {
        /// `None` for a thread that was about to end.
        by: Option<Weak<Recorder>>,
        enqueued: Option<Enqueued>,
    },
    Committed {
        /// Not after its place.
        from: Place,
    },
}

/// The place of a command buffer that was enqueued lies between these two, which were drawn before and after that.
#[derive(Clone, Copy)]
struct Enqueued {
    from: Place,
    to: Place,
}

impl State {
    fn draw_place(&mut self) -> Place {
        self.next_place += 1;
        self.next_place
    }

    /// The first place from which on nothing runs while this thread waits.
    fn first_stuck(&self) -> Option<Place> {
        let stuck = self.taken.values().filter(|taken| taken.is_stuck());
        stuck.filter_map(Taken::enqueued_to).min()
    }

    fn is_full_for_ever(&self, limit: usize) -> bool {
        let first_stuck = self.first_stuck();
        self.taken.len() >= limit
            && self.taken.values().all(|taken| match taken {
                Taken::OnRecord { .. } => taken.is_stuck(),
                Taken::Committed { from } => first_stuck.is_some_and(|stuck| stuck < *from),
            })
    }
}

impl Taken {
    /// Whether it is on record by this thread, or by one that has ended.
    fn is_stuck(&self) -> bool {
        let Taken::OnRecord { by: Some(by), .. } = self else {
            return false;
        };
        by.strong_count() == 0 || recorder().is_some_and(|own| own.ptr_eq(by))
    }

    fn enqueued_to(&self) -> Option<Place> {
        match self {
            Taken::OnRecord { enqueued, .. } => enqueued.map(|enqueued| enqueued.to),
            Taken::Committed { .. } => None,
        }
    }
}

impl Room {
    pub(crate) fn new(queue: QueueId, limit: usize) -> Arc<Room> {
        Arc::new(Room {
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
    pub(crate) fn take(self: &Arc<Room>) -> Ticket {
        let mut state = self.lock();
        state.next_number += 1;
        let number = state.next_number;
        let taken = Taken::OnRecord {
            by: recorder(),
            enqueued: None,
        };
        state.taken.insert(number, taken);
        Ticket {
            room: self.clone(),
            number,
        }
    }

    /// A turn before that of what is committed from now on.
    pub(crate) fn draw_turn(self: &Arc<Room>) -> Turn {
        Turn {
            room: self.clone(),
            place: self.lock().draw_place(),
        }
    }

    /// Refuses what would wait until its own work is done, in whatever turn, without a way to give up.
    pub(crate) fn check_runs(&self, function: &'static str) -> Result<()> {
        let is_stuck = || self.lock().first_stuck().is_some();
        if is_stuck() {
            // As `Watch`.
            thread::sleep(LOOK_AFTER);
            if is_stuck() {
                return Err(Error::Deadlock(Failure::new(function, STUCK)));
            }
        }
        Ok(())
    }

    /// Waits with `wait`, which takes nanoseconds, for room that may never come.
    pub(crate) fn wait_for_room<T>(&self, wait: impl FnMut(u64) -> Result<T>) -> Result<T> {
        let why = "the queue is full, and stays so: every command buffer was made by this thread, or by one that has ended, \
                   and was neither committed nor dropped, or comes after one that was enqueued and never committed";
        wait_unless("CommandQueue::command_buffer", why, wait, || {
            self.lock().is_full_for_ever(self.limit)
        })
    }
}

/// Waits with `wait`, which takes nanoseconds, unless that is without hope.
fn wait_unless<T>(
    function: &'static str,
    why: &'static str,
    mut wait: impl FnMut(u64) -> Result<T>,
    is_stuck: impl Fn() -> bool,
) -> Result<T> {
    let mut watch = Watch::new();
    loop {
        match wait(nanoseconds(LOOK_AFTER)) {
            Err(Error::Timeout(_)) if watch.is_hopeless(&is_stuck) => {
                return Err(Error::Deadlock(Failure::new(function, why)));
            }
            Err(Error::Timeout(_)) => {}
            ended => return ended,
        }
    }
}

/// What a command buffer takes of a queue's room, until it has completed or is dropped without a commit.
pub(crate) struct Ticket {
    room: Arc<Room>,
    number: u64,
}

impl Ticket {
    /// Takes a place with `enqueue`.
    pub(crate) fn enqueue(&self, enqueue: impl FnOnce() -> Result<()>) -> Result<()> {
        let from = self.room.lock().draw_place();
        enqueue()?;
        let mut state = self.room.lock();
        let to = state.draw_place();
        if let Some(Taken::OnRecord { enqueued, .. }) = state.taken.get_mut(&self.number) {
            *enqueued = Some(Enqueued { from, to });
        }
        Ok(())
    }

    /// The command buffer is about to be committed.
    pub(crate) fn commit(&self) -> Turn {
        let mut state = self.room.lock();
        let from = match state.taken.get(&self.number) {
            Some(Taken::OnRecord {
                enqueued: Some(enqueued),
                ..
            }) => enqueued.from,
            _ => state.draw_place(),
        };
        state.taken.insert(self.number, Taken::Committed { from });
        drop(state);
        Turn {
            room: self.room.clone(),
            place: from,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if is_forked() {
            return;
        }
        self.room.lock().taken.remove(&self.number);
    }
}

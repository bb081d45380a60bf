//! [`Room`]: the command buffers that take a queue's room, and which of them can no longer give it back.
//!
//! A queue has room for so many command buffers that have not completed, and runs them in the order of their places. One on
//! record stays on the thread that made it. So while that thread waits, or when it has ended, nobody commits or drops it: its
//! room does not become free, and if it was enqueued, what has a later place does not run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::error::{Error, Failure, Result};
use crate::handle::nanoseconds;
use crate::queue::is_forked;

/// How long a wait without an end lasts until it looks whether it could end.
const LOOK_AFTER: Duration = Duration::from_millis(200);

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
pub(crate) type Place = u64;

pub(crate) struct Room {
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

    fn is_after_stuck(&self, place: Place) -> bool {
        self.first_stuck().is_some_and(|stuck| stuck < place)
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
    pub(crate) fn new(limit: usize) -> Arc<Room> {
        Arc::new(Room {
            limit,
            state: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of the caller's runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// A place before that of what is committed from now on.
    pub(crate) fn draw_place(&self) -> Place {
        self.lock().draw_place()
    }

    /// Waits with `wait`, which takes nanoseconds, for room that may never come.
    pub(crate) fn wait_for_room<T>(&self, wait: impl FnMut(u64) -> Result<T>) -> Result<T> {
        let why = "the queue is full, and stays so: every command buffer was made by this thread, or by one that has ended, \
                   and was neither committed nor dropped, or comes after one that was enqueued and never committed";
        self.wait("CommandQueue::command_buffer", why, wait, |state| {
            state.is_full_for_ever(self.limit)
        })
    }

    /// Waits with `wait`, which takes nanoseconds, for what was committed at `place`.
    pub(crate) fn wait_for_place<T>(
        &self,
        place: Place,
        wait: impl FnMut(u64) -> Result<T>,
    ) -> Result<T> {
        let why = "it comes after a command buffer that this thread, or one that has ended, has enqueued and never committed";
        self.wait("Submission::wait", why, wait, |state| {
            state.is_after_stuck(place)
        })
    }

    fn wait<T>(
        &self,
        function: &'static str,
        why: &'static str,
        mut wait: impl FnMut(u64) -> Result<T>,
        is_stuck: impl Fn(&State) -> bool,
    ) -> Result<T> {
        // Twice, since a thread that ends may still be about to drop what it has recorded.
        let mut was_stuck = false;
        loop {
            match wait(nanoseconds(LOOK_AFTER)) {
                Err(Error::Timeout(_)) => {}
                ended => return ended,
            }
            let is_stuck = is_stuck(&self.lock());
            if is_stuck && was_stuck {
                return Err(Error::Deadlock(Failure::new(function, why)));
            }
            was_stuck = is_stuck;
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
        let from = self.room.draw_place();
        enqueue()?;
        let mut state = self.room.lock();
        let to = state.draw_place();
        if let Some(Taken::OnRecord { enqueued, .. }) = state.taken.get_mut(&self.number) {
            *enqueued = Some(Enqueued { from, to });
        }
        Ok(())
    }

    /// The command buffer is about to be committed. Returns a place that is not after its own.
    pub(crate) fn commit(&self) -> Place {
        let mut state = self.room.lock();
        let from = match state.taken.get(&self.number) {
            Some(Taken::OnRecord {
                enqueued: Some(enqueued),
                ..
            }) => enqueued.from,
            _ => state.draw_place(),
        };
        state.taken.insert(self.number, Taken::Committed { from });
        from
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

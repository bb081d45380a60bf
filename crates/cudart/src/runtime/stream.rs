//! [`Stream`]: a queue, and the order between it and the legacy default stream.
//!
//! Work is ordered by the GPU: a stream that another one has to wait for commits a command buffer that signals its
//! timeline (a *marker*), and the other one commits a command buffer that waits for that value. A wait is only ever
//! encoded for a marker that has been committed, so waits cannot form a circle. Locks of streams are taken in one order:
//! the legacy stream's before another one's.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use metal_bridge::sys;

use crate::api::route::Carriers;
use crate::runtime::awaited::Awaited;
use crate::runtime::bridge::{Handle, check, create};
use crate::runtime::commands::{Committed, commit};
use crate::runtime::devices::{Context, lock};
use crate::runtime::failure::Outcome;
use crate::types::cudaStreamNonBlocking;

/// Command buffers that a stream's queue has room for, and transfers as many. Before it is full, [`Stream::throttle`]
/// waits.
const ROOM: usize = 4096;
/// Every so many pieces of work one is kept, to be waited for where too many are pending.
const STRIDE: u64 = 256;
/// So many of them may be pending, and one more and the pieces around: half of the room, as a piece of work takes up to two
/// command buffers of a kind.
const STRIDES: usize = ROOM / 2 / STRIDE as usize - 2;

pub(crate) type Timeline = Arc<Handle<sys::mtb_event>>;

/// A point of a stream: reached when all that was committed to it before is done.
#[derive(Clone)]
pub(crate) struct Marker {
    /// The stream's number.
    pub(crate) stream: u64,
    timeline: Timeline,
    pub(crate) value: u64,
    pub(crate) commands: Arc<Committed>,
    /// What the stream had waited for until then.
    pub(crate) awaited: Awaited,
}

impl Marker {
    /// Waits until it is reached, and all that comes before it has ended.
    pub(crate) fn wait(&self) -> Outcome {
        self.commands.wait()?;
        self.awaited.wait()
    }
}

/// How a stream and the legacy default stream wait for each other.
pub(crate) enum Role {
    /// The legacy default stream itself, which waits for all blocking streams.
    Legacy,
    /// Waits for the legacy default stream.
    Blocking(Arc<Stream>),
    NonBlocking,
    /// Does work of another device's stream, and counts as that.
    Carrier,
}

/// How far a stream is: so many pieces of work, and the marker after them where they have not ended.
struct Point {
    work: u64,
    marker: Option<Marker>,
    awaited: Awaited,
}

/// Numbers for streams, never given twice.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Stream {
    number: u64,
    pub(crate) context: Arc<Context>,
    pub(crate) flags: u32,
    role: Role,
    queue: Handle<sys::mtb_queue>,
    timeline: Timeline,
    /// Pieces of work that were ever committed.
    work: AtomicU64,
    /// How many of them the legacy stream waits for.
    seen_by_legacy: AtomicU64,
    /// How many pieces of the legacy stream's this one waits for.
    legacy_seen: AtomicU64,
    state: Mutex<State>,
    pub(crate) carriers: Carriers,
}

#[derive(Default)]
pub(crate) struct State {
    last: Option<Arc<Committed>>,
    /// The newest marker, and after how many pieces of work it stands.
    marker: Option<(u64, Marker)>,
    value: u64,
    held: VecDeque<Arc<Committed>>,
    awaited: Awaited,
}

impl State {
    /// What the present end of the stream comes after: its last work, and what it has waited for.
    pub(crate) fn ends(&self) -> Ends {
        Ends {
            last: self.last.clone(),
            awaited: self.awaited.clone(),
        }
    }
}

/// The work that a point of a stream comes after.
pub(crate) struct Ends {
    last: Option<Arc<Committed>>,
    awaited: Awaited,
}

impl Ends {
    /// Waits until all of it has ended, failed or not.
    pub(crate) fn wait(&self) -> Outcome {
        self.last.iter().try_for_each(|commands| commands.wait())?;
        self.awaited.wait()
    }
}

impl Stream {
    pub(crate) fn new(context: &Arc<Context>, role: Role, flags: u32) -> Outcome<Arc<Stream>> {
        let device = context.device.handle.as_ptr();
        // SAFETY: the device is live; each call returns an owned handle, or NULL and an owned error.
        let (queue, timeline) = unsafe {
            (
                create(|error| sys::mtb_queue_create(device, ROOM, error))?,
                create(|error| sys::mtb_event_create(device, error))?,
            )
        };
        let stream = Arc::new(Stream {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            context: context.clone(),
            flags,
            role,
            queue,
            timeline: Arc::new(timeline),
            work: AtomicU64::new(0),
            seen_by_legacy: AtomicU64::new(0),
            legacy_seen: AtomicU64::new(0),
            state: Mutex::default(),
            carriers: Carriers::default(),
        });
        context.add_stream(&stream);
        // What waits for the legacy stream comes after the fence by that.
        if let (Role::NonBlocking, Some(fence)) = (&stream.role, context.fence()) {
            stream.wait_for(&fence)?;
        }
        Ok(stream)
    }

    pub(crate) fn queue(&self) -> &Handle<sys::mtb_queue> {
        &self.queue
    }

    /// Commits one piece of work, after what it has to be ordered after.
    pub(crate) fn enqueue(&self, work: impl FnOnce() -> Outcome<Arc<Committed>>) -> Outcome {
        self.enqueue_after(|_| work())
    }

    /// The same, where `work` wants to know what stands before it.
    pub(crate) fn enqueue_after(
        &self,
        work: impl FnOnce(&State) -> Outcome<Arc<Committed>>,
    ) -> Outcome {
        let mut state = self.begin()?;
        let commands = work(&state)?;
        self.note(&mut state, commands);
        Ok(())
    }

    /// Commits waits for what the next piece of work has to be ordered after, and gives the stream's lock.
    fn begin(&self) -> Outcome<MutexGuard<'_, State>> {
        self.throttle()?;
        match &self.role {
            Role::Legacy => self.begin_after_blocking(),
            Role::Blocking(legacy) => self.begin_after_legacy(legacy),
            Role::NonBlocking | Role::Carrier => Ok(lock(&self.state)),
        }
    }

    fn begin_after_legacy(&self, legacy: &Stream) -> Outcome<MutexGuard<'_, State>> {
        // Before this stream's lock. Another thread that gets the lock first waits for the same marker, or a later one.
        let point = legacy.point_after(self.legacy_seen.load(Ordering::Acquire))?;
        let mut state = lock(&self.state);
        if let Some(point) = point.filter(|p| p.work > self.legacy_seen.load(Ordering::Acquire)) {
            state.awaited.join(&point.awaited);
            if let Some(marker) = point.marker {
                self.commit_waits(&mut state, &[marker])?;
            }
            self.legacy_seen.store(point.work, Ordering::Release);
        }
        Ok(state)
    }

    fn begin_after_blocking(&self) -> Outcome<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        let mut seen = Vec::new();
        let mut markers = Vec::new();
        for stream in self.context.streams() {
            if !stream.waits_for_legacy() {
                continue;
            }
            let point = stream.point_after(stream.seen_by_legacy.load(Ordering::Acquire))?;
            if let Some(point) = point {
                markers.extend(point.marker);
                state.awaited.join(&point.awaited);
                seen.push((stream, point.work));
            }
        }
        if !markers.is_empty() {
            self.commit_waits(&mut state, &markers)?;
        }
        for (stream, work) in seen {
            stream.seen_by_legacy.store(work, Ordering::Release);
        }
        Ok(state)
    }

    /// Has what is committed later wait for markers.
    fn commit_waits(&self, state: &mut State, markers: &[Marker]) -> Outcome {
        let waits = commit(&self.queue, &self.context.sticky, |commands| {
            markers.iter().try_for_each(|marker| {
                let (event, value) = (marker.timeline.as_ptr(), marker.value);
                // SAFETY: all are live, and the command buffer is being recorded by this thread.
                unsafe {
                    check(|error| {
                        sys::mtb_command_buffer_encode_wait(commands, event, value, error)
                    })
                }
            })
        })?;
        markers.iter().for_each(|marker| state.awaited.add(marker));
        self.note(state, waits);
        Ok(())
    }

    /// Counts what was committed, waits too: what is ordered after a stream is ordered after what that waits for.
    fn note(&self, state: &mut State, commands: Arc<Committed>) {
        let number = self.work.fetch_add(1, Ordering::AcqRel);
        if number % STRIDE == 0 {
            state.held.push_back(commands.clone());
        }
        state.last = Some(commands);
    }

    /// Waits while so much is pending that the queue might run out of room: not with the lock, which others need.
    fn throttle(&self) -> Outcome {
        let oldest = {
            let mut state = lock(&self.state);
            if state.held.len() <= STRIDES {
                return Ok(());
            }
            state.held.pop_front()
        };
        oldest.map_or(Ok(()), |commands| commands.wait())
    }

    /// The present point, where there is work beyond the first `seen` pieces.
    fn point_after(&self, seen: u64) -> Outcome<Option<Point>> {
        if self.work.load(Ordering::Acquire) == seen {
            return Ok(None);
        }
        let mut state = lock(&self.state);
        let work = self.work.load(Ordering::Acquire);
        let marker = match &state.last {
            Some(last) if !last.has_ended() => Some(self.marker(&mut state)?),
            _ => None,
        };
        Ok(Some(Point {
            work,
            marker,
            awaited: state.awaited.clone(),
        }))
    }

    /// The marker after all work so far.
    fn marker(&self, state: &mut State) -> Outcome<Marker> {
        let work = self.work.load(Ordering::Acquire);
        match &state.marker {
            Some((after, marker)) if *after == work => Ok(marker.clone()),
            _ => self.new_marker(state),
        }
    }

    fn new_marker(&self, state: &mut State) -> Outcome<Marker> {
        let value = state.value + 1;
        let commands = commit(&self.queue, &self.context.sticky, |commands| {
            let event = self.timeline.as_ptr();
            // SAFETY: both are live, and the command buffer is being recorded by this thread.
            unsafe {
                check(|error| sys::mtb_command_buffer_encode_signal(commands, event, value, error))
            }
        })?;
        state.value = value;
        let marker = Marker {
            stream: self.number,
            awaited: state.awaited.clone(),
            timeline: self.timeline.clone(),
            value,
            commands,
        };
        state.marker = Some((self.work.load(Ordering::Acquire), marker.clone()));
        Ok(marker)
    }

    /// The stream's present point, for an event. One that keeps the time needs a point of its own.
    pub(crate) fn record(&self, keeps_time: bool) -> Outcome<Marker> {
        let mut state = self.begin()?;
        let marker = if keeps_time {
            self.new_marker(&mut state)?
        } else {
            self.marker(&mut state)?
        };
        // Work of the program's, other than the markers that streams make of each other to be in order.
        state.last = Some(marker.commands.clone());
        Ok(marker)
    }

    /// Has later work wait for `marker`.
    pub(crate) fn wait_for(&self, marker: &Marker) -> Outcome {
        if marker.commands.has_ended() {
            lock(&self.state).awaited.join(&marker.awaited);
            return Ok(());
        }
        let mut state = self.begin()?;
        self.commit_waits(&mut state, std::slice::from_ref(marker))
    }

    /// Whether the legacy default stream and this one wait for each other.
    pub(crate) fn waits_for_legacy(&self) -> bool {
        matches!(self.role, Role::Blocking(_))
    }

    /// Whether its work is that of another device's stream.
    pub(crate) fn is_carrier(&self) -> bool {
        matches!(self.role, Role::Carrier)
    }

    /// Whether all work is done, that which the legacy stream would wait for included.
    pub(crate) fn is_idle(&self) -> bool {
        let own = || {
            let state = lock(&self.state);
            state.last.as_ref().is_none_or(|last| last.has_ended())
        };
        if !own() {
            return false;
        }
        self.blocking_streams()
            .iter()
            .all(|stream| stream.is_idle())
    }

    /// Waits until all work of the stream has ended, and what it was ordered after, without its lock.
    pub(crate) fn wait(&self) -> Outcome {
        let own = match self.role {
            Role::Legacy => self.begin()?.ends(),
            _ => lock(&self.state).ends(),
        };
        let others = self.blocking_streams();
        let mut ends: Vec<Ends> = others.iter().map(|s| lock(&s.state).ends()).collect();
        ends.push(own);
        ends.iter().try_for_each(Ends::wait)
    }

    /// The streams that this one waits for: all that block, where it is the legacy stream.
    fn blocking_streams(&self) -> Vec<Arc<Stream>> {
        let mut streams = match self.role {
            Role::Legacy => self.context.streams(),
            _ => Vec::new(),
        };
        streams.retain(|stream| stream.waits_for_legacy());
        streams
    }

    /// Waits, and says whether the device's work has failed.
    pub(crate) fn synchronize(&self) -> Outcome {
        self.wait()?;
        self.context.sticky.check()
    }

    /// Has what is committed next ordered, for work that is not committed under the stream's lock. Gives what it comes after.
    pub(crate) fn order(&self) -> Outcome<Ends> {
        Ok(self.begin()?.ends())
    }

    /// Another stream of the same device.
    pub(crate) fn sibling(context: &Arc<Context>, flags: u32) -> Outcome<Arc<Stream>> {
        let role = if flags == cudaStreamNonBlocking {
            Role::NonBlocking
        } else {
            Role::Blocking(context.legacy()?)
        };
        Stream::new(context, role, flags)
    }
}

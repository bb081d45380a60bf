//! [`Timeline`]: a queue, and the event that tells how far the queue is. A timeline knows no other timeline.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use metal_bridge::sys::{self, Handle, check, create};

use crate::runtime::commands::{Committed, commit};
use crate::runtime::device_state::DeviceState;
use crate::runtime::failure::Outcome;
use crate::runtime::lock::lock;
use crate::runtime::marker::{Awaited, Marker};

/// The number of command buffers that a stream's queue has slots for, and of transfers. [`Timeline::throttle`] waits
/// before it is full.
const SLOTS: usize = 4096;
/// One of this many commits is held, to wait for if too many are pending.
const STRIDE: u64 = 256;
/// The most held commits that need no wait. With the commits between and around them they are at most half as many as
/// the slots, since a piece of work takes up to two slots of a kind.
const STRIDES: usize = SLOTS / 2 / STRIDE as usize - 2;

/// Numbers for streams, never given twice.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Timeline {
    number: u64,
    pub(crate) state: Arc<DeviceState>,
    queue: Handle<sys::mtb_command_queue>,
    event: Arc<Handle<sys::mtb_event>>,
    /// Pieces of work that were ever committed.
    work: AtomicU64,
    progress: Mutex<Progress>,
}

#[derive(Default)]
pub(crate) struct Progress {
    last: Option<Arc<Committed>>,
    /// The newest marker, and the number of pieces of work before it.
    marker: Option<(u64, Marker)>,
    value: u64,
    /// Pieces of work and markers that were ever committed.
    commits: u64,
    held: VecDeque<Arc<Committed>>,
    pub(crate) awaited: Awaited,
}

impl Progress {
    /// Counts what takes slots of the queue, for [`Timeline::throttle`].
    fn count(&mut self, commands: &Arc<Committed>) {
        if self.commits % STRIDE == 0 {
            self.held.push_back(commands.clone());
        }
        self.commits += 1;
    }

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

/// How far a stream is: the number of its pieces of work, and the marker after them if they have not ended.
pub(crate) struct Point {
    pub(crate) work: u64,
    pub(crate) marker: Option<Marker>,
    pub(crate) awaited: Awaited,
}

impl Timeline {
    pub(crate) fn new(state: &Arc<DeviceState>) -> Outcome<Timeline> {
        let device = state.device.handle.as_ptr();
        // SAFETY: the device is live; each call returns an owned handle, or NULL and an owned error.
        let (queue, event) = unsafe {
            (
                create(|error| sys::mtb_command_queue_create(device, SLOTS, error))?,
                create(|error| sys::mtb_event_create(device, error))?,
            )
        };
        Ok(Timeline {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            state: state.clone(),
            queue,
            event: Arc::new(event),
            work: AtomicU64::new(0),
            progress: Mutex::default(),
        })
    }

    pub(crate) fn queue(&self) -> &Handle<sys::mtb_command_queue> {
        &self.queue
    }

    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.progress)
    }

    /// Makes what is committed later wait for markers.
    pub(crate) fn commit_waits(&self, progress: &mut Progress, markers: &[Marker]) -> Outcome {
        let waits = commit(&self.queue, &self.state.sticky, |commands| {
            markers.iter().try_for_each(|marker| {
                let (event, value) = (marker.event.as_ptr(), marker.value);
                // SAFETY: all are live, and the command buffer is being recorded by this thread.
                unsafe {
                    check(|error| {
                        sys::mtb_command_buffer_encode_wait(commands, event, value, error)
                    })
                }
            })
        })?;
        for marker in markers {
            progress.awaited.add(marker);
        }
        self.note(progress, waits);
        Ok(())
    }

    /// Counts a piece of work. A wait counts too: what comes after a stream comes after what the stream waits for.
    pub(crate) fn note(&self, progress: &mut Progress, commands: Arc<Committed>) {
        self.work.fetch_add(1, Ordering::AcqRel);
        progress.count(&commands);
        progress.last = Some(commands);
    }

    /// If so much is pending that the queue's slots might run out, waits without the lock, which others need.
    pub(crate) fn throttle(&self) -> Outcome {
        let oldest = {
            let mut progress = self.progress();
            if progress.held.len() <= STRIDES {
                return Ok(());
            }
            progress.held.pop_front()
        };
        oldest.map_or(Ok(()), |commands| commands.wait())
    }

    /// The present point, if there is work beyond the first `seen` pieces.
    pub(crate) fn point_after(&self, seen: u64) -> Outcome<Option<Point>> {
        if self.work.load(Ordering::Acquire) == seen {
            return Ok(None);
        }
        let mut progress = self.progress();
        let work = self.work.load(Ordering::Acquire);
        let marker = match &progress.last {
            Some(last) if !last.has_ended() => Some(self.marker(&mut progress)?),
            _ => None,
        };
        Ok(Some(Point {
            work,
            marker,
            awaited: progress.awaited.clone(),
        }))
    }

    /// The marker after all work so far.
    fn marker(&self, progress: &mut Progress) -> Outcome<Marker> {
        let work = self.work.load(Ordering::Acquire);
        match &progress.marker {
            Some((after, marker)) if *after == work => Ok(marker.clone()),
            _ => self.new_marker(progress),
        }
    }

    fn new_marker(&self, progress: &mut Progress) -> Outcome<Marker> {
        let value = progress.value + 1;
        let commands = commit(&self.queue, &self.state.sticky, |commands| {
            let event = self.event.as_ptr();
            // SAFETY: both are live, and the command buffer is being recorded by this thread.
            unsafe {
                check(|error| sys::mtb_command_buffer_encode_signal(commands, event, value, error))
            }
        })?;
        progress.value = value;
        progress.count(&commands);
        let marker = Marker {
            stream: self.number,
            awaited: progress.awaited.clone(),
            event: self.event.clone(),
            value,
            commands,
        };
        progress.marker = Some((self.work.load(Ordering::Acquire), marker.clone()));
        Ok(marker)
    }

    /// The present point, for an event. An event that keeps the time needs a marker of its own.
    pub(crate) fn record(&self, progress: &mut Progress, keeps_time: bool) -> Outcome<Marker> {
        let marker = if keeps_time {
            self.new_marker(progress)?
        } else {
            self.marker(progress)?
        };
        // The program asked for this marker, so it counts as the stream's work; the markers that order streams do not.
        progress.last = Some(marker.commands.clone());
        Ok(marker)
    }

    /// Whether all work is done.
    pub(crate) fn is_idle(&self) -> bool {
        let progress = self.progress();
        progress.last.as_ref().is_none_or(|last| last.has_ended())
    }
}

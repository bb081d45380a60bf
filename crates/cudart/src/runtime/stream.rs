//! [`Stream`]: a timeline, and the order between it and the legacy default stream.
//!
//! Work is ordered by the GPU: a stream that another one has to wait for commits a command buffer that signals its
//! event (a marker), and the other one commits a command buffer that waits for that value. A wait is only ever encoded for
//! a marker that has been committed, so waits cannot form a circle. Locks of streams are taken in one order: the legacy stream's
//! before another one's.

use std::collections::BTreeMap;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use metal_bridge::sys::{self, Handle};

use crate::runtime::commands::Committed;
use crate::runtime::device_state::DeviceState;
use crate::runtime::failure::Outcome;
use crate::runtime::lock::lock;
use crate::runtime::marker::Marker;
use crate::runtime::timeline::{Ends, Progress, Timeline};

/// How a stream and the legacy default stream wait for each other.
pub(crate) enum Role {
    /// The legacy default stream itself, which waits for the blocking ones among these.
    Legacy(Arc<Streams>),
    /// Waits for the legacy default stream.
    Blocking(Arc<Stream>),
    NonBlocking,
    /// Does work of another device's stream, and counts as that stream.
    Proxy,
}

/// The streams of a device that have not been destroyed, or have work pending.
#[derive(Default)]
pub(crate) struct Streams(Mutex<Vec<Weak<Stream>>>);

impl Streams {
    pub(crate) fn add(&self, stream: &Arc<Stream>) {
        let mut streams = lock(&self.0);
        streams.retain(|known| known.strong_count() > 0);
        streams.push(Arc::downgrade(stream));
    }

    pub(crate) fn all(&self) -> Vec<Arc<Stream>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }

    fn blocking(&self) -> Vec<Arc<Stream>> {
        let mut streams = self.all();
        streams.retain(|stream| stream.waits_for_legacy());
        streams
    }
}

pub(crate) struct Stream {
    pub(crate) flags: u32,
    role: Role,
    timeline: Timeline,
    /// How many pieces of this stream's work the legacy stream comes after.
    seen_by_legacy: AtomicU64,
    /// How many pieces of the legacy stream's work this stream comes after.
    legacy_seen: AtomicU64,
    /// The streams that do this one's work on other devices, by device. No two streams share a proxy, since they would
    /// wait for each other there.
    pub(crate) proxies: Mutex<BTreeMap<i32, Arc<Stream>>>,
}

impl Stream {
    pub(crate) fn new(state: &Arc<DeviceState>, role: Role, flags: u32) -> Outcome<Arc<Stream>> {
        Ok(Arc::new(Stream {
            flags,
            role,
            timeline: Timeline::new(state)?,
            seen_by_legacy: AtomicU64::new(0),
            legacy_seen: AtomicU64::new(0),
            proxies: Mutex::default(),
        }))
    }

    /// The state of the stream's device.
    pub(crate) fn state(&self) -> &Arc<DeviceState> {
        &self.timeline.state
    }

    pub(crate) fn queue(&self) -> &Handle<sys::mtb_command_queue> {
        self.timeline.queue()
    }

    /// Commits one piece of work, after what it has to be ordered after.
    pub(crate) fn enqueue(&self, work: impl FnOnce() -> Outcome<Arc<Committed>>) -> Outcome {
        self.enqueue_after(|_| work())
    }

    /// The same; `work` gets the progress before it.
    pub(crate) fn enqueue_after(
        &self,
        work: impl FnOnce(&Progress) -> Outcome<Arc<Committed>>,
    ) -> Outcome {
        let mut progress = self.begin()?;
        let commands = work(&progress)?;
        self.timeline.note(&mut progress, commands);
        Ok(())
    }

    /// Commits waits for what the next piece of work has to be ordered after, and gives the stream's lock.
    fn begin(&self) -> Outcome<MutexGuard<'_, Progress>> {
        self.timeline.throttle()?;
        match &self.role {
            Role::Legacy(streams) => self.begin_after_blocking(streams),
            Role::Blocking(legacy) => self.begin_after_legacy(legacy),
            Role::NonBlocking | Role::Proxy => Ok(self.timeline.progress()),
        }
    }

    fn begin_after_legacy(&self, legacy: &Stream) -> Outcome<MutexGuard<'_, Progress>> {
        // Before this stream's lock. If another thread gets the lock first, it waits for the same marker, or a later
        // one.
        let seen = self.legacy_seen.load(Ordering::Acquire);
        let point = legacy.timeline.point_after(seen)?;
        let mut progress = self.timeline.progress();
        if let Some(point) = point.filter(|p| p.work > self.legacy_seen.load(Ordering::Acquire)) {
            progress.awaited.join(&point.awaited);
            if let Some(marker) = point.marker {
                self.timeline.commit_waits(&mut progress, &[marker])?;
            }
            self.legacy_seen.store(point.work, Ordering::Release);
        }
        Ok(progress)
    }

    fn begin_after_blocking(&self, streams: &Streams) -> Outcome<MutexGuard<'_, Progress>> {
        let mut progress = self.timeline.progress();
        let mut seen = Vec::new();
        let mut markers = Vec::new();
        for stream in streams.blocking() {
            let before = stream.seen_by_legacy.load(Ordering::Acquire);
            if let Some(point) = stream.timeline.point_after(before)? {
                markers.extend(point.marker);
                progress.awaited.join(&point.awaited);
                seen.push((stream, point.work));
            }
        }
        if !markers.is_empty() {
            self.timeline.commit_waits(&mut progress, &markers)?;
        }
        for (stream, work) in seen {
            stream.seen_by_legacy.store(work, Ordering::Release);
        }
        Ok(progress)
    }

    /// The stream's present point, for an event. An event that keeps the time needs a marker of its own.
    pub(crate) fn record(&self, keeps_time: bool) -> Outcome<Marker> {
        let mut progress = self.begin()?;
        self.timeline.record(&mut progress, keeps_time)
    }

    /// Makes later work wait for `marker`.
    pub(crate) fn wait_for(&self, marker: &Marker) -> Outcome {
        if marker.commands.has_ended() {
            self.timeline.progress().awaited.join(&marker.awaited);
            return Ok(());
        }
        let mut progress = self.begin()?;
        let markers = slice::from_ref(marker);
        self.timeline.commit_waits(&mut progress, markers)
    }

    /// Whether the legacy default stream and this one wait for each other.
    pub(crate) fn waits_for_legacy(&self) -> bool {
        matches!(self.role, Role::Blocking(_))
    }

    /// Whether its work is that of another device's stream.
    pub(crate) fn is_proxy(&self) -> bool {
        matches!(self.role, Role::Proxy)
    }

    /// The streams that this one waits for: all that block, if it is the legacy stream.
    fn waited_for(&self) -> Vec<Arc<Stream>> {
        match &self.role {
            Role::Legacy(streams) => streams.blocking(),
            _ => Vec::new(),
        }
    }

    /// Whether all work is done, including the work that the legacy stream would wait for.
    pub(crate) fn is_idle(&self) -> bool {
        self.timeline.is_idle() && self.waited_for().iter().all(|stream| stream.is_idle())
    }

    /// Waits, without the stream's lock, until its work has ended, and all that the work was ordered after.
    pub(crate) fn wait(&self) -> Outcome {
        let own = match self.role {
            Role::Legacy(_) => self.begin()?.ends(),
            _ => self.timeline.progress().ends(),
        };
        let others = self.waited_for();
        let others = others.iter().map(|other| other.timeline.progress().ends());
        let ends: Vec<Ends> = others.chain([own]).collect();
        ends.iter().try_for_each(Ends::wait)
    }

    /// Waits, and says whether the device's work has failed.
    pub(crate) fn synchronize(&self) -> Outcome {
        self.wait()?;
        self.state().sticky.check()
    }

    /// Orders what is committed next, for work that is not committed under the stream's lock. Returns what that work
    /// comes after.
    pub(crate) fn order(&self) -> Outcome<Ends> {
        Ok(self.begin()?.ends())
    }
}

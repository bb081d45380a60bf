//! Work with memory of several devices: whose queue does it, and what it is ordered after.
//!
//! A queue takes memory of its own device, and copies between that memory and another device's. Work that is only with
//! another device's memory is done on that device, in a queue that waits for the stream; the stream then waits for
//! that queue.

use std::sync::Arc;

use crate::codes::cudaErrorContextIsDestroyed;
use crate::memory::pointers::Memory;
use crate::runtime::context::Context;
use crate::runtime::device_state::DeviceState;
use crate::runtime::failure::{Failed, Outcome};
use crate::runtime::lock::lock;
use crate::runtime::stream::Stream;

/// The stream that does `stream`'s work on the device of this state.
fn proxy_of(stream: &Stream, state: &Arc<DeviceState>) -> Outcome<Arc<Stream>> {
    let mut proxies = lock(&stream.proxies);
    let index = state.device.index;
    match proxies.get(&index) {
        Some(proxy) if Arc::ptr_eq(proxy.state(), state) => Ok(proxy.clone()),
        // There is no proxy yet, or the device was reset since.
        _ => {
            let context =
                Context::holding(state).ok_or(Failed::from(cudaErrorContextIsDestroyed))?;
            let proxy = context.new_proxy()?;
            proxies.insert(index, proxy.clone());
            Ok(proxy)
        }
    }
}

/// Releases the proxies on a device that is reset.
pub(crate) fn forget_proxies(state: &Arc<DeviceState>) {
    for stream in Context::all_in_use().flat_map(|context| context.streams()) {
        lock(&stream.proxies).retain(|_, proxy| !Arc::ptr_eq(proxy.state(), state));
    }
}

/// The devices whose own memory is among these.
pub(crate) fn owners<'a>(memories: &[&'a Memory]) -> impl Iterator<Item = &'a Arc<DeviceState>> {
    memories.iter().filter_map(|memory| memory.owner())
}

/// Does `work` in the order of `stream`, in a queue that takes all of `memories`.
fn in_stream_order<T>(
    stream: &Arc<Stream>,
    memories: &[&Memory],
    work: impl FnOnce(&Stream) -> Outcome<T>,
) -> Outcome<T> {
    for owner in owners(memories) {
        owner.sticky.check()?;
    }
    let state = match owners(memories).next() {
        Some(state) if !owners(memories).any(|owner| Arc::ptr_eq(owner, stream.state())) => state,
        _ => return work(stream),
    };
    let proxy = proxy_of(stream, state)?;
    proxy.wait_for(&stream.record(false)?)?;
    let done = work(&proxy)?;
    stream.wait_for(&proxy.record(false)?)?;
    Ok(done)
}

/// Does `work` in `stream`, ordered like a copy between devices that names no stream. By CUDA's documentation such a
/// copy comes after all that was committed to these devices before, and before all that is committed to them later. If
/// there are devices, the stream's own is one of them.
fn alone_on<T>(
    devices: &[Arc<DeviceState>],
    stream: &Arc<Stream>,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<T> {
    if devices.is_empty() {
        return work();
    }
    let devices: Vec<Arc<Context>> = devices.iter().filter_map(Context::holding).collect();
    let streams: Vec<Arc<Stream>> = devices
        .iter()
        .flat_map(|device| device.streams())
        // Blocking streams and the legacy one wait for each other anyway; a proxy's work is another stream's.
        .filter(|other| !other.waits_for_legacy() && !other.is_proxy())
        .filter(|other| !Arc::ptr_eq(other, stream))
        .collect();
    for other in &streams {
        stream.wait_for(&other.record(false)?)?;
    }
    let done = work()?;
    let marker = stream.record(false)?;
    for other in &streams {
        other.wait_for(&marker)?;
    }
    for device in devices {
        device.keep_fence(&marker);
    }
    Ok(done)
}

/// Does `work` in the order of `stream`, in a queue that takes all of `memories`. If the call waits, and one of
/// `devices` is not the stream's, no other work runs meanwhile on the stream's device and these: [`alone_on`].
pub(crate) fn perform<'a>(
    stream: &Arc<Stream>,
    memories: &[&Memory],
    waits: bool,
    devices: impl Iterator<Item = &'a Arc<DeviceState>>,
    work: impl FnOnce(&Stream) -> Outcome,
) -> Outcome {
    let work = || in_stream_order(stream, memories, work);
    if waits {
        alone_on(&devices_of(stream, devices), stream, work)
    } else {
        work()
    }
}

/// The devices that a call which names no stream is [`alone_on`]: the stream's and these; none if all are the
/// stream's.
fn devices_of<'a>(
    stream: &Stream,
    others: impl Iterator<Item = &'a Arc<DeviceState>>,
) -> Vec<Arc<DeviceState>> {
    let mut devices = vec![stream.state().clone()];
    for other in others {
        if !devices.iter().any(|device| Arc::ptr_eq(device, other)) {
            devices.push(other.clone());
        }
    }
    if devices.len() == 1 {
        devices.clear();
    }
    devices
}

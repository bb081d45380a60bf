//! Work with memory of several devices: whose queue does it, and what it is ordered after.
//!
//! A queue takes memory of its own device, and copies between that and another device. What is with other devices'
//! memory alone is done there, in a queue that waits for the stream and that the stream waits for.

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
        // None yet, or one from before the device was reset.
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

/// Does `work` in the turn of `stream`, in a queue that takes all of `memories`.
fn in_turn<T>(
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

/// Does `work` in `stream` as CUDA's documentation has it for copies between devices that name no stream: after all
/// that was committed to these devices before, and before all that is committed to them later. The stream's own device
/// is one of them, if there is any.
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
        // The blocking streams wait for the legacy one, and it for them; what proxies do is work of other streams.
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

/// Does `work` in the turn of `stream`, in a queue that takes all of `memories`; in a call that waits, alone on the stream's
/// device and these, if one of them is another.
pub(crate) fn perform<'a>(
    stream: &Arc<Stream>,
    memories: &[&Memory],
    waits: bool,
    devices: impl Iterator<Item = &'a Arc<DeviceState>>,
    work: impl FnOnce(&Stream) -> Outcome,
) -> Outcome {
    let work = || in_turn(stream, memories, work);
    if waits {
        alone_on(&devices_of(stream, devices), stream, work)
    } else {
        work()
    }
}

/// The stream's device and these, if one of them is another: what a call that names no stream is [`alone_on`].
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

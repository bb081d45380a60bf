//! Calls: devices.

use std::ffi::c_int;
use std::sync::{Arc, PoisonError};

use metal_bridge::sys;

use crate::api::calls::calls;
use crate::api::out::{out, set_if_wanted};
use crate::api::route::forget_proxies;
use crate::codes::*;
use crate::memory::allocation::{ALLOCATIONS, Kind};
use crate::runtime::context::Context;
use crate::runtime::devices::{self, Device};
use crate::runtime::events::EVENTS;
use crate::runtime::failure::{Outcome, require, require_no_flags};
use crate::runtime::handles::STREAMS;
use crate::runtime::lock::lock;
use crate::runtime::properties;
use crate::types::*;

/// CUDA 12.4: the version whose documentation this follows.
const VERSION: c_int = 12040;

calls! {
    /// The number of devices.
    cudaGetDeviceCount = get_count(count: *mut c_int);
    /// Makes a device the calling thread's.
    cudaSetDevice = set(device: c_int);
    /// The calling thread's device.
    cudaGetDevice = get(device: *mut c_int);
    /// A device's properties and limits.
    cudaGetDeviceProperties = get_properties(properties: *mut cudaDeviceProp, device: c_int);
    /// One of the properties.
    cudaDeviceGetAttribute = get_attribute(value: *mut c_int, attribute: c_int, device: c_int);
    /// Waits for all work of the current device.
    cudaDeviceSynchronize = synchronize();
    /// Waits for the current device's work, releases its memory, streams and events, and forgets its failure.
    cudaDeviceReset = reset();
    /// Whether the two devices are in one peer group.
    cudaDeviceCanAccessPeer = can_access_peer(can: *mut c_int, device: c_int, peer: c_int);
    /// Lets the current device use the peer's memory.
    cudaDeviceEnablePeerAccess = enable_peer_access(peer: c_int, flags: u32);
    /// Ends the current device's access to the peer's memory.
    cudaDeviceDisablePeerAccess = disable_peer_access(peer: c_int);
    /// Bytes of the current device's recommended working set: what is not allocated, and all. NULL for a number that
    /// is not wanted.
    cudaMemGetInfo = mem_get_info(free: *mut usize, total: *mut usize);
    /// The runtime's version: there is no other driver.
    cudaDriverGetVersion = get_version(version: *mut c_int);
    /// The version of CUDA that the runtime follows.
    cudaRuntimeGetVersion = get_version(version: *mut c_int);
    /// 0 and 0: Metal's queues have no priorities.
    cudaDeviceGetStreamPriorityRange = get_priority_range(least: *mut c_int, greatest: *mut c_int);
}

unsafe fn get_count(count: *mut c_int) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(count, "count") }?;
    let devices = devices::known()?.len();
    result.set(c_int::try_from(devices).unwrap_or(c_int::MAX));
    require(devices > 0, cudaErrorNoDevice, || {
        "the system has no Metal device".to_owned()
    })
}

unsafe fn set(device: c_int) -> Outcome {
    Device::at(device)?.make_current();
    Ok(())
}

unsafe fn get(device: *mut c_int) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(device, "device") }?;
    result.set(Device::current()?.index);
    Ok(())
}

unsafe fn get_properties(properties: *mut cudaDeviceProp, device: c_int) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(properties, "properties") }?;
    result.set(properties::of(Device::at(device)?));
    Ok(())
}

unsafe fn get_attribute(value: *mut c_int, attribute: c_int, device: c_int) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(value, "value") }?;
    result.set(properties::attribute(Device::at(device)?, attribute)?);
    Ok(())
}

unsafe fn synchronize() -> Outcome {
    Context::of_in_any_state(Device::current()?)?.synchronize()
}

unsafe fn reset() -> Outcome {
    let device = Device::current()?;
    lock(&device.peers).clear();
    for other in devices::all() {
        lock(&other.peers).remove(&device.index);
    }
    let Some(context) = Context::take(device) else {
        return Ok(());
    };
    let state = &context.state;
    // Kept until their work is done: the context does not keep streams alive.
    let streams = STREAMS.remove_where(|stream| Arc::ptr_eq(stream.state(), state));
    let events = EVENTS.remove_where(|event| Arc::ptr_eq(&event.state, state));
    context.destroy()?;
    drop((streams, events));
    let mut allocations = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    let freed = allocations.remove_where(|a| Arc::ptr_eq(&a.state, state));
    drop(allocations);
    forget_proxies(state);
    // The program may unmap what it had registered once this returns, so no device may use that any more.
    if freed.iter().any(|a| a.kind == Kind::Registered) {
        Context::all_in_use().try_for_each(|other| other.wait())?;
    }
    drop(freed);
    Ok(())
}

/// Whether the two are different devices that use each other's memory without a copy.
fn are_peers(device: &Device, peer: &Device) -> bool {
    // SAFETY: both devices are live.
    let group = |d: &Device| unsafe { sys::mtb_device_peer_group_id(d.handle.as_ptr()) };
    device.index != peer.index && group(device) != 0 && group(device) == group(peer)
}

unsafe fn can_access_peer(can: *mut c_int, device: c_int, peer: c_int) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(can, "the pointer to the result") }?;
    result.set(are_peers(Device::at(device)?, Device::at(peer)?).into());
    Ok(())
}

unsafe fn enable_peer_access(peer: c_int, flags: u32) -> Outcome {
    let (device, peer) = (Device::current()?, Device::at(peer)?);
    require_no_flags(flags)?;
    require(
        are_peers(device, peer),
        cudaErrorPeerAccessUnsupported,
        || format!("devices {} and {} are not peers", device.index, peer.index),
    )?;
    let is_new = lock(&device.peers).insert(peer.index);
    require(is_new, cudaErrorPeerAccessAlreadyEnabled, || {
        format!("access to device {} is enabled already", peer.index)
    })
}

unsafe fn disable_peer_access(peer: c_int) -> Outcome {
    let (device, peer) = (Device::current()?, Device::at(peer)?);
    let was_enabled = lock(&device.peers).remove(&peer.index);
    require(was_enabled, cudaErrorPeerAccessNotEnabled, || {
        format!("access to device {} is not enabled", peer.index)
    })
}

unsafe fn mem_get_info(free: *mut usize, total: *mut usize) -> Outcome {
    let device = Context::current()?.state.device;
    let all = device.limits.recommended_max_working_set_size;
    let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    // SAFETY: the caller's promise.
    unsafe {
        set_if_wanted(free, bytes(all.saturating_sub(device.allocated())));
        set_if_wanted(total, bytes(all));
    }
    Ok(())
}

unsafe fn get_version(version: *mut c_int) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { out(version, "version") }?.set(VERSION);
    Ok(())
}

unsafe fn get_priority_range(least: *mut c_int, greatest: *mut c_int) -> Outcome {
    Device::current()?;
    // SAFETY: the caller's promise.
    unsafe {
        set_if_wanted(least, 0);
        set_if_wanted(greatest, 0);
    }
    Ok(())
}

//! Calls: copies.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::api::calls::calls;
use crate::api::ends::{Ends, Rows};
use crate::api::route::{alone_on, devices_of, in_turn, owners};
use crate::codes::*;
use crate::memory::pointers::Memory;
use crate::runtime::context::Context;
use crate::runtime::device_state::DeviceState;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Outcome, require};
use crate::runtime::handles::{DefaultStream, stream};
use crate::runtime::stream::Stream;
use crate::types::*;

calls! {
    /// Copies in the default stream. Waits for the end, except between two places of device memory.
    cudaMemcpy, cudaMemcpy_ptds = memcpy(
        destination: *mut c_void,
        source: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    );
    /// Copies in a stream. Waits only where the host's side is pageable and is written, and between host memories.
    cudaMemcpyAsync, cudaMemcpyAsync_ptsz = memcpy_async(
        destination: *mut c_void,
        source: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    );
    /// Copies rows.
    cudaMemcpy2D, cudaMemcpy2D_ptds = memcpy_2d(
        destination: *mut c_void,
        destination_pitch: usize,
        source: *const c_void,
        source_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    );
    /// Copies rows in a stream.
    cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz = memcpy_2d_async(
        destination: *mut c_void,
        destination_pitch: usize,
        source: *const c_void,
        source_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
        stream: cudaStream_t,
    );
    /// Copies between devices, in the default stream of the current one.
    cudaMemcpyPeer, cudaMemcpyPeer_ptds = memcpy_peer(
        destination: *mut c_void,
        destination_device: c_int,
        source: *const c_void,
        source_device: c_int,
        count: usize,
    );
    /// Copies between devices in a stream.
    cudaMemcpyPeerAsync, cudaMemcpyPeerAsync_ptsz = memcpy_peer_async(
        destination: *mut c_void,
        destination_device: c_int,
        source: *const c_void,
        source_device: c_int,
        count: usize,
        stream: cudaStream_t,
    );
}

/// Copies in the turn of `stream`; `waits` says whether the call is one of the synchronous ones.
///
/// # Safety
///
/// As for [`Ends::copy`].
unsafe fn copy(
    stream: &Arc<Stream>,
    pointers: (*const c_void, *mut c_void),
    rows: &Rows,
    kind: cudaMemcpyKind,
    waits: bool,
) -> Outcome {
    require(
        kind <= cudaMemcpyDefault,
        cudaErrorInvalidMemcpyDirection,
        || format!("there is no direction {kind}"),
    )?;
    let Some(ends) = Ends::of(pointers, rows)? else {
        return Ok(());
    };
    ends.check_direction(kind)?;
    // SAFETY: the caller's promise.
    unsafe { perform(stream, &ends, rows, waits, owners(&ends.both())) }
}

/// Copies in the turn of `stream`, in the synchronous form alone on these devices.
///
/// # Safety
///
/// As for [`Ends::copy`].
unsafe fn perform<'a>(
    stream: &Arc<Stream>,
    ends: &Ends,
    rows: &Rows,
    waits: bool,
    devices: impl Iterator<Item = &'a Arc<DeviceState>>,
) -> Outcome {
    let work = || {
        in_turn(stream, &ends.both(), |queue| {
            // SAFETY: the caller's promise.
            unsafe { ends.copy(queue, rows, waits) }
        })
    };
    if waits {
        alone_on(&devices_of(stream, devices), stream, work)
    } else {
        work()
    }
}

unsafe fn memcpy(
    default: DefaultStream,
    destination: *mut c_void,
    source: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Outcome {
    let stream = stream(default, std::ptr::null_mut())?;
    let rows = Rows::flat(count);
    // SAFETY: the caller's promise.
    unsafe { copy(&stream, (source, destination), &rows, kind, true) }
}

unsafe fn memcpy_async(
    default: DefaultStream,
    destination: *mut c_void,
    source: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
    handle: cudaStream_t,
) -> Outcome {
    let stream = stream(default, handle)?;
    let rows = Rows::flat(count);
    // SAFETY: the caller's promise.
    unsafe { copy(&stream, (source, destination), &rows, kind, false) }
}

#[expect(clippy::too_many_arguments, reason = "CUDA's")]
unsafe fn memcpy_2d(
    default: DefaultStream,
    destination: *mut c_void,
    destination_pitch: usize,
    source: *const c_void,
    source_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Outcome {
    let stream = stream(default, std::ptr::null_mut())?;
    let rows = Rows {
        width,
        height,
        source_pitch,
        destination_pitch,
    };
    // SAFETY: the caller's promise.
    unsafe { copy(&stream, (source, destination), &rows, kind, true) }
}

#[expect(clippy::too_many_arguments, reason = "CUDA's")]
unsafe fn memcpy_2d_async(
    default: DefaultStream,
    destination: *mut c_void,
    destination_pitch: usize,
    source: *const c_void,
    source_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
    handle: cudaStream_t,
) -> Outcome {
    let stream = stream(default, handle)?;
    let rows = Rows {
        width,
        height,
        source_pitch,
        destination_pitch,
    };
    // SAFETY: the caller's promise.
    unsafe { copy(&stream, (source, destination), &rows, kind, false) }
}

/// Checks that this is memory of the device. Memory of the host is every device's.
fn check_owner(memory: &Memory, state: &Arc<DeviceState>) -> Outcome {
    let is_owner = match memory.owner() {
        Some(owner) => Arc::ptr_eq(owner, state),
        None => !memory.is_pageable(),
    };
    require(is_owner, cudaErrorInvalidValue, || {
        let index = state.device.index;
        format!(
            "one of the pointers is not to memory of device {index}, which the call names for it"
        )
    })
}

/// Copies between devices in the turn of `stream`; `waits` says whether the call is the synchronous one.
///
/// # Safety
///
/// As for [`Ends::copy`].
unsafe fn copy_peer(
    stream: &Arc<Stream>,
    (source, source_device): (*const c_void, c_int),
    (destination, destination_device): (*mut c_void, c_int),
    count: usize,
    waits: bool,
) -> Outcome {
    let devices = [
        Context::of(Device::at(source_device)?)?.state.clone(),
        Context::of(Device::at(destination_device)?)?.state.clone(),
    ];
    let rows = Rows::flat(count);
    let Some(ends) = Ends::of((source, destination), &rows)? else {
        return Ok(());
    };
    check_owner(&ends.source, &devices[0])?;
    check_owner(&ends.destination, &devices[1])?;
    // SAFETY: the caller's promise.
    unsafe { perform(stream, &ends, &rows, waits, devices.iter()) }
}

unsafe fn memcpy_peer(
    default: DefaultStream,
    destination: *mut c_void,
    destination_device: c_int,
    source: *const c_void,
    source_device: c_int,
    count: usize,
) -> Outcome {
    let stream = stream(default, std::ptr::null_mut())?;
    let (source, destination) = ((source, source_device), (destination, destination_device));
    // SAFETY: the caller's promise.
    unsafe { copy_peer(&stream, source, destination, count, true) }
}

unsafe fn memcpy_peer_async(
    default: DefaultStream,
    destination: *mut c_void,
    destination_device: c_int,
    source: *const c_void,
    source_device: c_int,
    count: usize,
    handle: cudaStream_t,
) -> Outcome {
    let stream = stream(default, handle)?;
    let (source, destination) = ((source, source_device), (destination, destination_device));
    // SAFETY: the caller's promise.
    unsafe { copy_peer(&stream, source, destination, count, false) }
}

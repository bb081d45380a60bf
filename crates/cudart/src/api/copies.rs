//! Calls: copies.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::api::calls::calls;
use crate::api::ends::{Ends, Rows};
use crate::api::route::{owners, perform};
use crate::codes::*;
use crate::memory::pointers::Memory;
use crate::runtime::context::Context;
use crate::runtime::device_state::DeviceState;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Outcome, require};
use crate::runtime::handles::Target;
use crate::types::*;

calls! {
    /// Copies in the default stream. Waits for the end, except between two addresses of device memory.
    cudaMemcpy, cudaMemcpy_ptds;
    /// Copies in a stream. Waits only if it writes pageable memory, or copies between host memories.
    cudaMemcpyAsync, cudaMemcpyAsync_ptsz = memcpy(
        destination: *mut c_void,
        source: *const c_void,
        count: usize,
        kind: cudaMemcpyKind,
    );
    /// Copies rows.
    cudaMemcpy2D, cudaMemcpy2D_ptds;
    /// Copies rows in a stream.
    cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz = memcpy_2d(
        destination: *mut c_void,
        destination_pitch: usize,
        source: *const c_void,
        source_pitch: usize,
        width: usize,
        height: usize,
        kind: cudaMemcpyKind,
    );
    /// Copies between devices, in the default stream of the current one.
    cudaMemcpyPeer, cudaMemcpyPeer_ptds;
    /// Copies between devices in a stream.
    cudaMemcpyPeerAsync, cudaMemcpyPeerAsync_ptsz = memcpy_peer(
        destination: *mut c_void,
        destination_device: c_int,
        source: *const c_void,
        source_device: c_int,
        count: usize,
    );
}

/// Copies between two memories as `kind` says.
///
/// # Safety
///
/// As for [`Ends::copy`].
unsafe fn copy(
    target: Target,
    pointers: (*const c_void, *mut c_void),
    rows: &Rows,
    kind: cudaMemcpyKind,
) -> Outcome {
    let stream = target.stream()?;
    require(
        kind <= cudaMemcpyDefault,
        cudaErrorInvalidMemcpyDirection,
        || format!("unknown copy direction {kind} (cudaMemcpyKind)"),
    )?;
    let Some(ends) = Ends::of(pointers, rows)? else {
        return Ok(());
    };
    ends.check_direction(kind)?;
    let memories = ends.both();
    perform(
        &stream,
        &memories,
        target.waits,
        owners(&memories),
        |queue| {
            // SAFETY: the caller's promise.
            unsafe { ends.copy(queue, rows, target.waits) }
        },
    )
}

unsafe fn memcpy(
    target: Target,
    destination: *mut c_void,
    source: *const c_void,
    count: usize,
    kind: cudaMemcpyKind,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { copy(target, (source, destination), &Rows::flat(count), kind) }
}

#[expect(clippy::too_many_arguments, reason = "CUDA's")]
unsafe fn memcpy_2d(
    target: Target,
    destination: *mut c_void,
    destination_pitch: usize,
    source: *const c_void,
    source_pitch: usize,
    width: usize,
    height: usize,
    kind: cudaMemcpyKind,
) -> Outcome {
    let rows = Rows {
        width,
        height,
        source_pitch,
        destination_pitch,
    };
    // SAFETY: the caller's promise.
    unsafe { copy(target, (source, destination), &rows, kind) }
}

/// Checks that this is memory of the device, or of the host, which every device can use.
fn check_owner(memory: &Memory, state: &Arc<DeviceState>) -> Outcome {
    let is_owner = match memory.owner() {
        Some(owner) => Arc::ptr_eq(owner, state),
        None => !memory.is_pageable(),
    };
    require(is_owner, cudaErrorInvalidValue, || {
        let index = state.device.index;
        format!("the call names device {index} for a pointer that is not to memory of that device")
    })
}

unsafe fn memcpy_peer(
    target: Target,
    destination: *mut c_void,
    destination_device: c_int,
    source: *const c_void,
    source_device: c_int,
    count: usize,
) -> Outcome {
    let stream = target.stream()?;
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
    perform(
        &stream,
        &ends.both(),
        target.waits,
        devices.iter(),
        |queue| {
            // SAFETY: the caller's promise.
            unsafe { ends.copy(queue, &rows, target.waits) }
        },
    )
}

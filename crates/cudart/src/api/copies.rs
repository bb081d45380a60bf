//! Calls: copies.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use metal_bridge::sys;

use crate::api::calls::calls;
use crate::api::route::{alone_on, devices_of, in_turn, owners};
use crate::codes::*;
use crate::memory::pages::Access;
use crate::memory::pointers::Memory;
use crate::runtime::devices::{Context, Device};
use crate::runtime::failure::{Failed, Outcome, require};
use crate::runtime::handles::{DefaultStream, stream};
use crate::runtime::stream::Stream;
use crate::runtime::transfer::Transfer;
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

/// Rows of bytes, and the pitches of both sides.
struct Rows {
    width: usize,
    height: usize,
    source_pitch: usize,
    destination_pitch: usize,
}

impl Rows {
    fn flat(count: usize) -> Rows {
        Rows {
            width: count,
            height: 1,
            source_pitch: count,
            destination_pitch: count,
        }
    }

    fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }
}

/// Bytes from the first of the first row to the last of the last one.
pub(crate) fn extent(pitch: usize, width: usize, height: usize) -> Outcome<usize> {
    let extent = pitch
        .checked_mul(height - 1)
        .and_then(|bytes| bytes.checked_add(width));
    extent.ok_or_else(|| {
        let message =
            format!("{height} rows {pitch} bytes apart are more than there are addresses");
        Failed::new(cudaErrorInvalidValue, message)
    })
}

/// Whether the two sides fit the direction.
fn check_direction(source: &Memory, destination: &Memory, kind: cudaMemcpyKind) -> Outcome {
    // Pinned memory is mapped for the devices, at the same address. Managed memory is both.
    let fits = |memory: &Memory, on_host: bool| {
        if on_host {
            !memory.is_device()
        } else {
            !memory.is_pageable()
        }
    };
    let (from_host, to_host) = match kind {
        cudaMemcpyHostToHost => (true, true),
        cudaMemcpyHostToDevice => (true, false),
        cudaMemcpyDeviceToHost => (false, true),
        cudaMemcpyDeviceToDevice => (false, false),
        _ => return Ok(()),
    };
    require(
        fits(source, from_host) && fits(destination, to_host),
        cudaErrorInvalidValue,
        || "the pointers do not fit the direction of the copy".to_owned(),
    )
}

/// The two ends of a copy.
struct Ends {
    source: Memory,
    destination: Memory,
}

impl Ends {
    /// `None` where there is nothing to copy.
    fn of(
        (source, destination): (*const c_void, *mut c_void),
        rows: &Rows,
    ) -> Outcome<Option<Ends>> {
        if rows.is_empty() {
            return Ok(None);
        }
        let pitches = rows.source_pitch.min(rows.destination_pitch);
        require(pitches >= rows.width, cudaErrorInvalidPitchValue, || {
            format!("a pitch of {pitches} bytes for rows of {}", rows.width)
        })?;
        let end = |pointer, pitch, access| {
            Memory::at(pointer, extent(pitch, rows.width, rows.height)?, access)
        };
        Ok(Some(Ends {
            source: end(source, rows.source_pitch, Access::Read)?,
            destination: end(destination, rows.destination_pitch, Access::Write)?,
        }))
    }

    fn both(&self) -> [&Memory; 2] {
        [&self.source, &self.destination]
    }

    /// Copies in a queue that takes both; `waits` says whether the call is one of the synchronous ones.
    ///
    /// # Safety
    ///
    /// Host memory is valid: until the call returns where that waits for the copy, or the copy is done.
    unsafe fn copy(&self, queue: &Stream, rows: &Rows, waits: bool) -> Outcome {
        let (source, destination) = (&self.source, &self.destination);
        let places = (
            source.place(&queue.context, rows.source_pitch)?,
            destination.place(&queue.context, rows.destination_pitch)?,
        );
        let runs = if waits {
            !(source.is_device() && destination.is_device())
        } else {
            // CUDA's documentation: to pageable memory, and between host memories.
            destination.is_pageable() || (source.is_host() && destination.is_host())
        };
        // The source may be gone when the call has returned.
        let host = if runs {
            sys::MTB_HOST_BORROWED
        } else {
            sys::MTB_HOST_COPIED
        };
        let transfer = Transfer::new(queue)?;
        let size = (rows.width, rows.height);
        // SAFETY: the caller's promise. Pageable memory that is written to is waited for.
        let copied = unsafe { transfer.copy(places.0, places.1, size, host) };
        match copied {
            // No room to stage a pageable source: it is read in its turn then, while the caller waits.
            Err(failed) if failed.code == cudaErrorMemoryAllocation && source.is_pageable() => {
                let host = sys::MTB_HOST_BORROWED;
                // SAFETY: the caller's promise, until the call returns.
                unsafe { transfer.copy(places.0, places.1, size, host) }?;
                transfer.run()
            }
            Err(failed) => Err(failed),
            Ok(()) if runs => transfer.run(),
            Ok(()) => transfer.commit(),
        }
    }
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
    check_direction(&ends.source, &ends.destination, kind)?;
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
    devices: impl Iterator<Item = &'a Arc<Context>>,
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
fn check_owner(memory: &Memory, context: &Arc<Context>) -> Outcome {
    let is_owner = match memory.owner() {
        Some(owner) => Arc::ptr_eq(owner, context),
        None => !memory.is_pageable(),
    };
    require(is_owner, cudaErrorInvalidValue, || {
        let index = context.device.index;
        format!("one of the pointers is to no memory of device {index}, of which it is said to be")
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
        Device::at(source_device)?.context()?,
        Device::at(destination_device)?.context()?,
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

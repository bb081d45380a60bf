//! Calls: allocating and freeing memory.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Arc, PoisonError};

use crate::api::calls::calls;
use crate::api::out::out;
use crate::codes::*;
use crate::memory::access::Access;
use crate::memory::allocation::{ALLOCATIONS, Allocation, Kind};
use crate::memory::pointers::{allocation_at, check_pageable, require_given};
use crate::runtime::context::Context;
use crate::runtime::device_state::DeviceState;
use crate::runtime::devices::Device;
use crate::runtime::failure::{Failed, Outcome, require, require_no_flags};
use crate::runtime::handles::{DefaultStream, stream};
use crate::types::*;

/// Rows of pitched memory begin at multiples of this.
const PITCH: usize = 512;

calls! {
    /// Memory of the current device, uninitialized. NULL for no bytes.
    cudaMalloc = malloc(pointer: *mut *mut c_void, size: usize);
    /// Frees memory of `cudaMalloc` and its like, or managed memory; work that was committed keeps it until it is done.
    cudaFree = free(pointer: *mut c_void);
    /// Pinned memory: zeroed pages that devices use where they are. NULL for no bytes.
    cudaMallocHost = malloc_host(pointer: *mut *mut c_void, size: usize);
    /// The same, with flags, which change nothing.
    cudaHostAlloc = host_alloc(pointer: *mut *mut c_void, size: usize, flags: c_uint);
    /// Frees pinned memory; work that was committed keeps it until it is done.
    cudaFreeHost = free_host(pointer: *mut c_void);
    /// The device's address of pinned memory: the same address.
    cudaHostGetDevicePointer = host_get_device_pointer(
        device_pointer: *mut *mut c_void,
        host_pointer: *mut c_void,
        flags: c_uint,
    );
    /// The flags of pinned memory.
    cudaHostGetFlags = host_get_flags(flags: *mut c_uint, host_pointer: *mut c_void);
    /// Lets devices use the caller's memory where it is.
    cudaHostRegister = host_register(pointer: *mut c_void, size: usize, flags: c_uint);
    /// Ends the registration. Waits for the work of all devices, which may use the memory.
    cudaHostUnregister = host_unregister(pointer: *mut c_void);
    /// Memory that CPU and devices use at the same address. NULL for no bytes.
    cudaMallocManaged = malloc_managed(pointer: *mut *mut c_void, size: usize, flags: c_uint);
    /// Memory of the stream's device, usable at once.
    cudaMallocAsync, cudaMallocAsync_ptsz = malloc_async(
        pointer: *mut *mut c_void,
        size: usize,
        stream: cudaStream_t,
    );
    /// Frees memory of a device: the program loses it at once, and work that was committed keeps it until it is done.
    cudaFreeAsync, cudaFreeAsync_ptsz = free_async(pointer: *mut c_void, stream: cudaStream_t);
    /// Memory for `height` rows of `width` bytes, which begin `pitch` bytes apart.
    cudaMallocPitch = malloc_pitch(
        pointer: *mut *mut c_void,
        pitch: *mut usize,
        width: usize,
        height: usize,
    );
    /// A hint: its arguments are checked, but managed memory does not move.
    cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz = prefetch(
        pointer: *const c_void,
        count: usize,
        device: c_int,
        stream: cudaStream_t,
    );
    /// Says which stream uses managed memory: the arguments are checked, and nothing changes.
    cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz = attach(
        stream: cudaStream_t,
        pointer: *mut c_void,
        length: usize,
        flags: c_uint,
    );
    /// A hint: its arguments are checked, and nothing changes.
    cudaMemAdvise = advise(pointer: *const c_void, count: usize, advice: c_int, device: c_int);
}

/// Makes an allocation known, and gives its address.
fn publish(allocation: Allocation) -> Outcome<*mut c_void> {
    let (start, length) = (allocation.start, allocation.length);
    let mut allocations = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    let is_new = allocations.insert(start, length, Arc::new(allocation));
    // If not, another thread has registered the same memory.
    require(is_new, cudaErrorHostMemoryAlreadyRegistered, || {
        format!("some of the {length} bytes at {start:#x} are allocated or registered already")
    })?;
    Ok(ptr::with_exposed_provenance_mut(start))
}

/// Removes and returns the allocation that starts at `pointer`, if `is_wanted` accepts it.
fn withdraw(
    pointer: *const c_void,
    noun: &str,
    is_wanted: impl FnOnce(&Allocation) -> bool,
) -> Outcome<Arc<Allocation>> {
    let mut allocations = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    match allocations.get(pointer.addr()) {
        Some(allocation) if is_wanted(allocation) => {}
        _ => {
            let message = format!("{pointer:p} is not the start of {noun}, or was freed");
            return Err(Failed::new(cudaErrorInvalidValue, message));
        }
    }
    let allocation = allocations.remove(pointer.addr());
    drop(allocations);
    allocation.ok_or_else(|| cudaErrorUnknown.into())
}

fn allocate_on(state: &Arc<DeviceState>, size: usize) -> Outcome<*mut c_void> {
    if size == 0 {
        return Ok(ptr::null_mut());
    }
    publish(Allocation::on_device(state, size)?)
}

unsafe fn malloc(pointer: *mut *mut c_void, size: usize) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(pointer, "the pointer to the result") }?;
    result.set(allocate_on(&Context::current()?.state, size)?);
    Ok(())
}

fn is_freeable(allocation: &Allocation) -> bool {
    matches!(allocation.kind, Kind::Device | Kind::Managed)
}

unsafe fn free(pointer: *mut c_void) -> Outcome {
    // Needed even if there is nothing to free: the call reports the failure of earlier work.
    let current = Context::current()?;
    if pointer.is_null() {
        return Ok(());
    }
    let freed = withdraw(pointer, "device memory", is_freeable)?;
    drop(current);
    drop(freed);
    Ok(())
}

unsafe fn malloc_host(pointer: *mut *mut c_void, size: usize) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { host_alloc(pointer, size, cudaHostAllocDefault) }
}

unsafe fn host_alloc(pointer: *mut *mut c_void, size: usize, flags: c_uint) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(pointer, "the pointer to the result") }?;
    let known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    require(flags & !known == 0, cudaErrorInvalidValue, || {
        format!("unknown flags {flags:#x} for pinned memory")
    })?;
    let context = Context::current()?;
    result.set(match size {
        0 => ptr::null_mut(),
        _ => publish(Allocation::on_host(
            &context.state,
            Kind::Pinned,
            size,
            flags,
        )?)?,
    });
    Ok(())
}

unsafe fn free_host(pointer: *mut c_void) -> Outcome {
    let current = Context::current()?;
    if pointer.is_null() {
        return Ok(());
    }
    let freed = withdraw(pointer, "pinned memory", |a| a.kind == Kind::Pinned)?;
    drop(current);
    drop(freed);
    Ok(())
}

/// The allocation that a host pointer is in, pinned or registered.
fn pinned_at(pointer: *const c_void) -> Outcome<Arc<Allocation>> {
    let found = allocation_at(pointer, 1)?.map(|(allocation, _)| allocation);
    let pinned = found.filter(|a| matches!(a.kind, Kind::Pinned | Kind::Registered));
    pinned.ok_or_else(|| {
        let message = format!("{pointer:p} is not in pinned or registered memory");
        Failed::new(cudaErrorInvalidValue, message)
    })
}

unsafe fn host_get_device_pointer(
    device_pointer: *mut *mut c_void,
    host_pointer: *mut c_void,
    flags: c_uint,
) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(device_pointer, "the pointer to the result") }?;
    require_no_flags(flags)?;
    Context::current()?;
    pinned_at(host_pointer)?;
    result.set(host_pointer);
    Ok(())
}

unsafe fn host_get_flags(flags: *mut c_uint, host_pointer: *mut c_void) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(flags, "flags") }?;
    Context::current()?;
    result.set(pinned_at(host_pointer)?.flags);
    Ok(())
}

unsafe fn host_register(pointer: *mut c_void, size: usize, flags: c_uint) -> Outcome {
    let known = cudaHostAllocPortable
        | cudaHostAllocMapped
        | cudaHostRegisterIoMemory
        | cudaHostRegisterReadOnly;
    require_given(pointer)?;
    require(size > 0, cudaErrorInvalidValue, || {
        "the size must be at least 1 byte, not 0".to_owned()
    })?;
    let end = pointer.addr().checked_add(size);
    require(end.is_some(), cudaErrorInvalidValue, || {
        format!("{size} bytes at {pointer:p} exceed the address space")
    })?;
    require(flags & !known == 0, cudaErrorInvalidValue, || {
        format!("unknown flags {flags:#x} for registered memory")
    })?;
    require(
        flags & cudaHostRegisterIoMemory == 0,
        cudaErrorNotSupported,
        || "Metal cannot use memory of other devices on the bus".to_owned(),
    )?;
    let context = Context::current()?;
    let access = if flags & cudaHostRegisterReadOnly == 0 {
        Access::Write
    } else {
        Access::Read
    };
    let pages = match allocation_at(pointer, size) {
        Ok(None) => check_pageable(pointer, size, access)?,
        Ok(Some(_)) | Err(_) => {
            let message = format!(
                "some of the {size} bytes at {pointer:p} are allocated or registered already"
            );
            return Err(Failed::new(cudaErrorHostMemoryAlreadyRegistered, message));
        }
    };
    let start = pointer.expose_provenance();
    publish(Allocation::registered(
        &context.state,
        (start, size),
        pages,
        flags,
    )?)?;
    Ok(())
}

unsafe fn host_unregister(pointer: *mut c_void) -> Outcome {
    let current = Context::current()?;
    require_given(pointer)?;
    let unregistered = withdraw(pointer, "registered memory", |a| a.kind == Kind::Registered)
        .map_err(|_| Failed::from(cudaErrorHostMemoryNotRegistered))?;
    // The caller may unmap the memory now: no device may use it any more.
    Context::all_in_use().try_for_each(|context| context.wait())?;
    drop(unregistered);
    current.state.sticky.check()
}

unsafe fn malloc_managed(pointer: *mut *mut c_void, size: usize, flags: c_uint) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(pointer, "the pointer to the result") }?;
    let context = Context::current()?;
    // As in CUDA, whatever the flags.
    if size == 0 {
        result.set(ptr::null_mut());
        return Ok(());
    }
    let is_known = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost;
    require(is_known, cudaErrorInvalidValue, || {
        format!("flags must be cudaMemAttachGlobal or cudaMemAttachHost, not {flags:#x}")
    })?;
    let allocation = Allocation::on_host(&context.state, Kind::Managed, size, flags)?;
    result.set(publish(allocation)?);
    Ok(())
}

unsafe fn malloc_async(
    default: DefaultStream,
    pointer: *mut *mut c_void,
    size: usize,
    handle: cudaStream_t,
) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(pointer, "the pointer to the result") }?;
    let stream = stream(default, handle)?;
    result.set(allocate_on(stream.state(), size)?);
    Ok(())
}

unsafe fn free_async(
    default: DefaultStream,
    pointer: *mut c_void,
    handle: cudaStream_t,
) -> Outcome {
    stream(default, handle)?;
    if pointer.is_null() {
        return Ok(());
    }
    // All work that may use the memory was committed before, and keeps it.
    withdraw(pointer, "device memory", |a| a.kind == Kind::Device).map(drop)
}

unsafe fn malloc_pitch(
    pointer: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Outcome {
    // SAFETY: the caller's promise.
    let (result, pitch_result) = unsafe {
        (
            out(pointer, "the pointer to the result")?,
            out(pitch, "pitch")?,
        )
    };
    let pitch = width.checked_next_multiple_of(PITCH);
    let size = pitch.and_then(|pitch| pitch.checked_mul(height));
    let (Some(pitch), Some(size)) = (pitch, size) else {
        let message =
            format!("{height} rows of {width} bytes take more bytes than the address space has");
        return Err(Failed::new(cudaErrorMemoryAllocation, message));
    };
    result.set(allocate_on(&Context::current()?.state, size)?);
    pitch_result.set(pitch);
    Ok(())
}

/// Checks that a hint's range is managed memory, and that its device exists.
fn check_hint(pointer: *const c_void, count: usize, device: c_int) -> Outcome {
    if device != cudaCpuDeviceId {
        Device::at(device)?;
    }
    let found = allocation_at(pointer, count)?;
    let is_managed = found.is_some_and(|(allocation, _)| allocation.kind == Kind::Managed);
    require(is_managed && count > 0, cudaErrorInvalidValue, || {
        format!("the {count} bytes at {pointer:p} are not managed memory")
    })
}

unsafe fn prefetch(
    default: DefaultStream,
    pointer: *const c_void,
    count: usize,
    device: c_int,
    handle: cudaStream_t,
) -> Outcome {
    stream(default, handle)?;
    check_hint(pointer, count, device)
}

unsafe fn attach(
    default: DefaultStream,
    handle: cudaStream_t,
    pointer: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Outcome {
    stream(default, handle)?;
    let known = [cudaMemAttachGlobal, cudaMemAttachHost, cudaMemAttachSingle];
    require(known.contains(&flags), cudaErrorInvalidValue, || {
        format!(
            "flags must be cudaMemAttachGlobal, cudaMemAttachHost or cudaMemAttachSingle, not {flags:#x}"
        )
    })?;
    let is_one_streams = flags == cudaMemAttachSingle;
    require(
        !is_one_streams || !handle.is_null(),
        cudaErrorInvalidValue,
        || "cudaMemAttachSingle needs a stream other than the default one".to_owned(),
    )?;
    let found = allocation_at(pointer, 1)?.map(|(allocation, _)| allocation);
    let is_whole = found.is_some_and(|a| {
        let is_start = a.start == pointer.addr() && (length == 0 || length == a.length);
        a.kind == Kind::Managed && is_start
    });
    require(is_whole, cudaErrorInvalidValue, || {
        format!("the {length} bytes at {pointer:p} are not one whole allocation of managed memory")
    })
}

unsafe fn advise(pointer: *const c_void, count: usize, advice: c_int, device: c_int) -> Outcome {
    Context::current()?;
    require((1..=6).contains(&advice), cudaErrorInvalidValue, || {
        format!("unknown advice {advice} (cudaMemoryAdvise)")
    })?;
    // The first two kinds of advice are not about a device.
    check_hint(
        pointer,
        count,
        if advice <= 2 { cudaCpuDeviceId } else { device },
    )
}

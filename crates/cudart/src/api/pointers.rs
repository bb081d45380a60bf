//! Calls: what pointers mean.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use metal_bridge::sys;

use crate::api::calls::calls;
use crate::api::out::out;
use crate::codes::*;
use crate::memory::allocation::Kind;
use crate::memory::pointers::allocation_at;
use crate::runtime::context::Context;
use crate::runtime::failure::{Failed, Outcome, require};
use crate::types::*;

calls! {
    /// What the runtime knows of a pointer; `cudaMemoryTypeUnregistered` for any other pointer.
    cudaPointerGetAttributes = get_attributes(
        attributes: *mut cudaPointerAttributes,
        pointer: *const c_void,
    );
    /// The address that kernels see (`gpuAddress`). A program may write it into memory: kernels that are launched later
    /// may follow it. `cudaErrorNotSupported` if the system does not tell it.
    cudaMetalGetGpuAddress = get_gpu_address(address: *mut u64, pointer: *const c_void);
}

unsafe fn get_attributes(
    attributes: *mut cudaPointerAttributes,
    pointer: *const c_void,
) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(attributes, "attributes") }?;
    Context::current()?;
    let pointer = pointer.cast_mut();
    let Some((allocation, _)) = allocation_at(pointer, 1)? else {
        result.set(cudaPointerAttributes {
            r#type: cudaMemoryTypeUnregistered,
            device: cudaInvalidDeviceId,
            devicePointer: ptr::null_mut(),
            hostPointer: pointer,
        });
        return Ok(());
    };
    result.set(cudaPointerAttributes {
        r#type: match allocation.kind {
            Kind::Device => cudaMemoryTypeDevice,
            Kind::Pinned | Kind::Registered => cudaMemoryTypeHost,
            Kind::Managed => cudaMemoryTypeManaged,
        },
        device: allocation.state.device.index as c_int,
        devicePointer: pointer,
        hostPointer: if allocation.is_on_host() {
            pointer
        } else {
            ptr::null_mut()
        },
    });
    Ok(())
}

unsafe fn get_gpu_address(address: *mut u64, pointer: *const c_void) -> Outcome {
    // SAFETY: the caller's promise.
    let result = unsafe { out(address, "address") }?;
    let context = Context::current()?;
    let (allocation, offset) = allocation_at(pointer, 1)?.ok_or_else(|| {
        let message = format!("{pointer:p} is not in memory that the runtime knows");
        Failed::new(cudaErrorInvalidValue, message)
    })?;
    let (buffer, start) = allocation.buffer(&context.state)?;
    // SAFETY: the buffer is live.
    let base = unsafe { sys::mtb_buffer_gpu_address(buffer.as_ptr()) };
    require(base != 0, cudaErrorNotSupported, || {
        "this system does not report the GPU addresses of buffers".to_owned()
    })?;
    allocation.address_taken.store(true, Ordering::Release);
    result.set(base + (start + offset) as u64);
    Ok(())
}

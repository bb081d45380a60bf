//! From the pointers of a call to the memory behind them.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::addresses::are_kept;
use super::allocation::{ALLOCATIONS, Allocation, Kind};
use super::calls::calls;
use super::codes::*;
use super::devices::Context;
use super::failure::{Failed, Outcome, require};
use super::out::out;
use super::pages::{Access, whole_pages};
use super::ranges::Found;
use super::types::*;
use crate::sys;

calls! {
    /// What the runtime knows of a pointer. Of one that it does not know: `cudaMemoryTypeUnregistered`.
    cudaPointerGetAttributes = get_attributes(
        attributes: *mut cudaPointerAttributes,
        pointer: *const c_void,
    );
    /// The address that kernels see (`gpuAddress`), for pointers that stand in memory; kernels that are launched later may
    /// follow it. `cudaErrorNotSupported` where the system does not tell it.
    cudaMetalGetGpuAddress = get_gpu_address(address: *mut u64, pointer: *const c_void);
}

/// The allocation that `length` bytes from `pointer` on are in, and where in it; `None` for memory that is not known.
pub(super) fn allocation_at(
    pointer: *const c_void,
    length: usize,
) -> Outcome<Option<(Arc<Allocation>, usize)>> {
    let allocations = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    match allocations.find(pointer.addr(), length) {
        Found::Inside(allocation, offset) => Ok(Some((allocation, offset))),
        Found::Outside => Ok(None),
        Found::Straddling => {
            let message = format!("{length} bytes at {pointer:p} reach past the memory there");
            Err(Failed::new(cudaErrorInvalidValue, message))
        }
    }
}

/// Checks memory that the runtime does not know, and gives the whole pages that hold it: the process has them for this access,
/// and they are not where the runtime's memory was before it was freed.
pub(super) fn check_pageable(
    pointer: *const c_void,
    length: usize,
    access: Access,
) -> Outcome<(usize, usize)> {
    require(
        !are_kept(pointer.addr(), length),
        cudaErrorInvalidValue,
        || format!("the memory at {pointer:p} was freed, or is no longer than to there"),
    )?;
    whole_pages(pointer.addr(), length, access)
}

/// One end of a copy.
pub(super) enum Memory {
    /// Host memory that the runtime does not know.
    Pageable(*mut c_void),
    Known(Arc<Allocation>, usize),
}

impl Memory {
    /// The memory of `length` bytes from `pointer` on, for this access.
    pub(super) fn at(pointer: *const c_void, length: usize, access: Access) -> Outcome<Memory> {
        require(!pointer.is_null(), cudaErrorInvalidValue, || {
            "the pointer is NULL".to_owned()
        })?;
        Ok(match allocation_at(pointer, length)? {
            Some((allocation, offset)) => {
                let is_allowed = access == Access::Read || !allocation.is_read_only();
                require(is_allowed, cudaErrorInvalidValue, || {
                    format!("the memory at {pointer:p} was registered to be read only")
                })?;
                Memory::Known(allocation, offset)
            }
            None => {
                check_pageable(pointer, length, access)?;
                Memory::Pageable(pointer.cast_mut())
            }
        })
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            Memory::Pageable(_) => None,
            Memory::Known(allocation, _) => Some(allocation.kind),
        }
    }

    pub(super) fn is_pageable(&self) -> bool {
        self.kind().is_none()
    }

    /// Whether the CPU has it, and no device of its own: pageable, pinned or registered.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.kind(), None | Some(Kind::Pinned | Kind::Registered))
    }

    pub(super) fn is_device(&self) -> bool {
        self.kind() == Some(Kind::Device)
    }

    /// The device whose own memory it is.
    pub(super) fn owner(&self) -> Option<&Arc<Context>> {
        match self {
            Memory::Known(allocation, _) if allocation.kind == Kind::Device => {
                Some(&allocation.context)
            }
            _ => None,
        }
    }

    /// As the bridge takes it, for work on this device. The buffer in it lives as long as `self` does.
    pub(super) fn place(&self, context: &Context, pitch: usize) -> Outcome<sys::mtb_place> {
        Ok(match self {
            Memory::Pageable(bytes) => sys::mtb_place {
                buffer: ptr::null_mut(),
                offset: 0,
                bytes: *bytes,
                pitch,
            },
            Memory::Known(allocation, offset) => {
                let (buffer, start) = allocation.buffer(context)?;
                sys::mtb_place {
                    // Kept by the allocation too.
                    buffer: buffer.as_ptr(),
                    offset: start + offset,
                    bytes: ptr::null_mut(),
                    pitch,
                }
            }
        })
    }
}

unsafe fn get_attributes(
    attributes: *mut cudaPointerAttributes,
    pointer: *const c_void,
) -> Outcome {
    // SAFETY: the caller's promise.
    let place = unsafe { out(attributes, "attributes") }?;
    Context::current()?;
    let pointer = pointer.cast_mut();
    let Some((allocation, _)) = allocation_at(pointer, 1)? else {
        place.set(cudaPointerAttributes {
            r#type: cudaMemoryTypeUnregistered,
            device: cudaInvalidDeviceId,
            devicePointer: ptr::null_mut(),
            hostPointer: pointer,
        });
        return Ok(());
    };
    place.set(cudaPointerAttributes {
        r#type: match allocation.kind {
            Kind::Device => cudaMemoryTypeDevice,
            Kind::Pinned | Kind::Registered => cudaMemoryTypeHost,
            Kind::Managed => cudaMemoryTypeManaged,
        },
        device: allocation.context.device.index as c_int,
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
    let place = unsafe { out(address, "address") }?;
    let context = Context::current()?;
    let (allocation, offset) = allocation_at(pointer, 1)?.ok_or_else(|| {
        let message = format!("{pointer:p} is in no memory of the runtime's");
        Failed::new(cudaErrorInvalidValue, message)
    })?;
    let (buffer, start) = allocation.buffer(&context)?;
    // SAFETY: the buffer is live.
    let base = unsafe { sys::mtb_buffer_gpu_address(buffer.as_ptr()) };
    require(base != 0, cudaErrorNotSupported, || {
        "the system does not tell the addresses that its GPU sees".to_owned()
    })?;
    allocation.address_taken.store(true, Ordering::Release);
    place.set(base + (start + offset) as u64);
    Ok(())
}

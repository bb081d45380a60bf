//! From the pointers of a call to the memory behind them.

use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, PoisonError};

use metal_bridge::sys;

use crate::codes::*;
use crate::memory::access::Access;
use crate::memory::addresses::are_kept;
use crate::memory::allocation::{ALLOCATIONS, Allocation, Kind};
use crate::memory::permission::whole_pages;
use crate::memory::ranges::Found;
use crate::runtime::device_state::DeviceState;
use crate::runtime::failure::{Failed, Outcome, require};

/// The allocation that `length` bytes from `pointer` on are in, and where in it; `None` for memory that is not known.
pub(crate) fn allocation_at(
    pointer: *const c_void,
    length: usize,
) -> Outcome<Option<(Arc<Allocation>, usize)>> {
    let allocations = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    match allocations.find(pointer.addr(), length) {
        Found::Inside(allocation, offset) => Ok(Some((allocation, offset))),
        Found::Outside => Ok(None),
        Found::Straddling => {
            let message = format!("the {length} bytes at {pointer:p} do not lie in one allocation");
            Err(Failed::new(cudaErrorInvalidValue, message))
        }
    }
}

/// Checks memory that the runtime does not know, and gives the whole pages that hold it. The process must be allowed
/// the access, and no byte may lie where the runtime had memory that was freed.
pub(crate) fn check_pageable(
    pointer: *const c_void,
    length: usize,
    access: Access,
) -> Outcome<(usize, usize)> {
    require(
        !are_kept(pointer.addr(), length),
        cudaErrorInvalidValue,
        || {
            format!(
                "some of the {length} bytes at {pointer:p} lie in memory that was freed, or between two allocations"
            )
        },
    )?;
    whole_pages(pointer.addr(), length, access)
}

/// An error for NULL.
pub(crate) fn require_given(pointer: *const c_void) -> Outcome {
    require(!pointer.is_null(), cudaErrorInvalidValue, || {
        "the pointer is NULL".to_owned()
    })
}

/// One end of a copy.
pub(crate) enum Memory {
    /// Host memory that the runtime does not know.
    Pageable(*mut c_void),
    Known(Arc<Allocation>, usize),
}

impl Memory {
    /// The memory of `length` bytes from `pointer` on, for this access.
    pub(crate) fn at(pointer: *const c_void, length: usize, access: Access) -> Outcome<Memory> {
        require_given(pointer)?;
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

    pub(crate) fn is_pageable(&self) -> bool {
        self.kind().is_none()
    }

    /// Whether it is memory of the host: pageable, pinned or registered.
    pub(crate) fn is_host(&self) -> bool {
        matches!(self.kind(), None | Some(Kind::Pinned | Kind::Registered))
    }

    pub(crate) fn is_device(&self) -> bool {
        self.kind() == Some(Kind::Device)
    }

    /// The device whose own memory it is.
    pub(crate) fn owner(&self) -> Option<&Arc<DeviceState>> {
        match self {
            Memory::Known(allocation, _) if allocation.kind == Kind::Device => {
                Some(&allocation.state)
            }
            _ => None,
        }
    }

    /// The place, as the bridge takes it, for work on this device. Its buffer lives as long as `self` does.
    pub(crate) fn place(&self, state: &DeviceState, pitch: usize) -> Outcome<sys::mtb_place> {
        Ok(match self {
            Memory::Pageable(bytes) => sys::mtb_place {
                buffer: ptr::null_mut(),
                offset: 0,
                bytes: *bytes,
                pitch,
            },
            Memory::Known(allocation, offset) => {
                let (buffer, start) = allocation.buffer(state)?;
                sys::mtb_place {
                    // The allocation keeps the buffer alive too.
                    buffer: buffer.as_ptr(),
                    offset: start + offset,
                    bytes: ptr::null_mut(),
                    pitch,
                }
            }
        })
    }
}

//! [`Ends`]: the two ends of a copy, and the transfer between them.

use std::ffi::c_void;
use std::ptr;

use metal_bridge::sys::{self, create};

use crate::codes::*;
use crate::memory::access::Access;
use crate::memory::extent::extent;
use crate::memory::pointers::Memory;
use crate::runtime::failure::{Outcome, allocation_failed, require};
use crate::runtime::stream::Stream;
use crate::runtime::timeline;
use crate::runtime::transfer::Transfer;
use crate::types::*;

/// Rows of bytes, and the pitches of both sides.
pub(crate) struct Rows {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) source_pitch: usize,
    pub(crate) destination_pitch: usize,
}

impl Rows {
    pub(crate) fn flat(count: usize) -> Rows {
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

/// The two ends of a copy.
pub(crate) struct Ends {
    pub(crate) source: Memory,
    pub(crate) destination: Memory,
}

impl Ends {
    /// `None` if there is nothing to copy.
    pub(crate) fn of(
        (source, destination): (*const c_void, *mut c_void),
        rows: &Rows,
    ) -> Outcome<Option<Ends>> {
        if rows.is_empty() {
            return Ok(None);
        }
        let pitches = [
            ("source", rows.source_pitch),
            ("destination", rows.destination_pitch),
        ];
        for (name, pitch) in pitches {
            require(pitch >= rows.width, cudaErrorInvalidPitchValue, || {
                let width = rows.width;
                format!("the {name}'s pitch ({pitch} bytes) is smaller than a row ({width} bytes)")
            })?;
        }
        let end = |pointer, pitch, access| {
            Memory::at(pointer, extent(pitch, rows.width, rows.height)?, access)
        };
        Ok(Some(Ends {
            source: end(source, rows.source_pitch, Access::Read)?,
            destination: end(destination, rows.destination_pitch, Access::Write)?,
        }))
    }

    /// Whether the two ends fit the direction.
    pub(crate) fn check_direction(&self, kind: cudaMemcpyKind) -> Outcome {
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
        let ends = [
            ("source", &self.source, from_host),
            ("destination", &self.destination, to_host),
        ];
        for (name, memory, on_host) in ends {
            require(fits(memory, on_host), cudaErrorInvalidValue, || {
                let side = if on_host { "host" } else { "device" };
                format!("the {name} must be {side} memory for this direction of the copy")
            })?;
        }
        Ok(())
    }

    pub(crate) fn both(&self) -> [&Memory; 2] {
        [&self.source, &self.destination]
    }

    /// Copies in a queue that takes both ends; `waits` is true for the synchronous calls.
    ///
    /// # Safety
    ///
    /// Pageable memory is valid until the call returns, other host memory until the copy is done.
    pub(crate) unsafe fn copy(&self, queue: &Stream, rows: &Rows, waits: bool) -> Outcome {
        let (source, destination) = (&self.source, &self.destination);
        let places = (
            source.place(queue.state(), rows.source_pitch)?,
            destination.place(queue.state(), rows.destination_pitch)?,
        );
        let runs = if waits {
            !(source.is_device() && destination.is_device())
        } else {
            // By CUDA's documentation, an asynchronous copy waits if it writes pageable memory or has two host ends.
            destination.is_pageable() || (source.is_host() && destination.is_host())
        };
        // If the call does not wait, a pageable source may be gone after it.
        let host = if runs {
            sys::MTB_HOST_BORROWED
        } else {
            sys::MTB_HOST_COPIED
        };
        let earlier = runs.then(|| queue.order()).transpose()?;
        if let (Some(earlier), true) = (&earlier, source.is_pageable()) {
            // A host function may still write there, and the bridge may read before the stream comes to the copy.
            earlier.wait()?;
        }
        let transfer = Transfer::new(queue)?;
        let size = (rows.width, rows.height);
        // SAFETY: the caller's promise. The call waits for copies into pageable memory.
        let copied = unsafe { transfer.copy(places.0, places.1, size, host) };
        if matches!(&copied, Err(failed) if failed.code == cudaErrorInvalidValue) {
            // Everything else that the bridge refuses with this code was checked before: the two ends overlap.
            // SAFETY: as above.
            return unsafe { self.copy_overlapping(transfer, queue, places, size, earlier) };
        }
        match copied {
            // There is no memory to stage the pageable source. The copy reads it in stream order, while the caller waits.
            Err(failed) if failed.code == cudaErrorMemoryAllocation && source.is_pageable() => {
                let host = sys::MTB_HOST_BORROWED;
                // SAFETY: the caller's promise, until the call returns.
                unsafe { transfer.copy(places.0, places.1, size, host) }?;
                transfer.run(&queue.order()?)
            }
            Err(failed) => Err(failed),
            Ok(()) => finish(transfer, earlier),
        }
    }

    /// Copies between two ends that overlap, which the bridge refuses, by way of other memory. CUDA leaves open which
    /// bytes result.
    ///
    /// # Safety
    ///
    /// As for [`copy`](Self::copy).
    unsafe fn copy_overlapping(
        &self,
        transfer: Transfer<'_>,
        queue: &Stream,
        (source, destination): (sys::mtb_place, sys::mtb_place),
        (width, height): (usize, usize),
        earlier: Option<timeline::Ends>,
    ) -> Outcome {
        let memory = queue.state().memory.as_ptr();
        // The CPU makes copies between host memories in stream order, so it must reach the memory between them.
        let mode = if self.source.is_device() || self.destination.is_device() {
            sys::MTB_STORAGE_PRIVATE
        } else {
            sys::MTB_STORAGE_SHARED
        };
        // SAFETY: the memory is live; the call returns an owned buffer, or NULL and an owned error.
        let buffer = unsafe {
            create(|error| sys::mtb_memory_allocate(memory, width * height, mode, error))
        }
        .map_err(allocation_failed)?;
        let between = sys::mtb_place {
            // The transfer keeps the buffer alive.
            buffer: buffer.as_ptr(),
            offset: 0,
            bytes: ptr::null_mut(),
            pitch: width,
        };
        let size = (width, height);
        // SAFETY: the caller's promise. Both ends are in the same memory: if it is pageable, the call waits for the
        // copy.
        unsafe {
            transfer.copy(source, between, size, sys::MTB_HOST_BORROWED)?;
            transfer.copy(between, destination, size, sys::MTB_HOST_BORROWED)?;
        }
        finish(transfer, earlier)
    }
}

/// Runs the transfer after `earlier`, the queue's work so far, and waits; commits it if there is no `earlier`.
fn finish(transfer: Transfer<'_>, earlier: Option<timeline::Ends>) -> Outcome {
    match earlier {
        Some(earlier) => transfer.run(&earlier),
        None => transfer.commit(),
    }
}

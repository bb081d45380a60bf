//! Calls: fills.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::api::calls::calls;
use crate::api::route::{alone_on, devices_of, in_turn, owners};
use crate::codes::*;
use crate::memory::access::Access;
use crate::memory::extent::extent;
use crate::memory::pointers::Memory;
use crate::runtime::failure::{Outcome, require};
use crate::runtime::handles::{DefaultStream, stream};
use crate::runtime::stream::Stream;
use crate::runtime::transfer::Transfer;
use crate::types::*;

calls! {
    /// Fills with the low byte of `value`, in the default stream. Waits where the memory is pinned or managed.
    cudaMemset, cudaMemset_ptds = memset(pointer: *mut c_void, value: c_int, count: usize);
    /// Fills in a stream. No thread waits.
    cudaMemsetAsync, cudaMemsetAsync_ptsz = memset_async(
        pointer: *mut c_void,
        value: c_int,
        count: usize,
        stream: cudaStream_t,
    );
    /// Fills rows.
    cudaMemset2D, cudaMemset2D_ptds = memset_2d(
        pointer: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
    );
    /// Fills rows in a stream.
    cudaMemset2DAsync, cudaMemset2DAsync_ptsz = memset_2d_async(
        pointer: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
        stream: cudaStream_t,
    );
}

struct Fill {
    pointer: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
}

impl Fill {
    fn flat(pointer: *mut c_void, value: c_int, count: usize) -> Fill {
        Fill {
            pointer,
            pitch: count,
            value,
            width: count,
            height: 1,
        }
    }

    /// `waits` says whether the call is one of the synchronous ones.
    fn enqueue(&self, default: DefaultStream, handle: cudaStream_t, waits: bool) -> Outcome {
        let stream = stream(default, handle)?;
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        // Of a fill CUDA documents no other code.
        require(self.pitch >= self.width, cudaErrorInvalidValue, || {
            format!("a pitch of {} bytes for rows of {}", self.pitch, self.width)
        })?;
        let length = extent(self.pitch, self.width, self.height)?;
        let memory = Memory::at(self.pointer, length, Access::Write)?;
        require(!memory.is_pageable(), cudaErrorInvalidValue, || {
            format!("{:p} is not in memory that the runtime knows", self.pointer)
        })?;
        let fill = || in_turn(&stream, &[&memory], |queue| self.run(queue, &memory, waits));
        if waits {
            alone_on(&devices_of(&stream, owners(&[&memory])), &stream, fill)
        } else {
            fill()
        }
    }

    /// Fills in a queue that takes the memory.
    fn run(&self, queue: &Stream, memory: &Memory, waits: bool) -> Outcome {
        let transfer = Transfer::new(queue)?;
        let place = memory.place(queue.state(), self.pitch)?;
        // As memset takes it.
        let value = self.value as u8;
        transfer.fill(place, (self.width, self.height), value)?;
        if waits && !memory.is_device() {
            transfer.commit_and_wait()
        } else {
            transfer.commit()
        }
    }
}

unsafe fn memset(
    default: DefaultStream,
    pointer: *mut c_void,
    value: c_int,
    count: usize,
) -> Outcome {
    Fill::flat(pointer, value, count).enqueue(default, ptr::null_mut(), true)
}

unsafe fn memset_async(
    default: DefaultStream,
    pointer: *mut c_void,
    value: c_int,
    count: usize,
    handle: cudaStream_t,
) -> Outcome {
    Fill::flat(pointer, value, count).enqueue(default, handle, false)
}

unsafe fn memset_2d(
    default: DefaultStream,
    pointer: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
) -> Outcome {
    let fill = Fill {
        pointer,
        pitch,
        value,
        width,
        height,
    };
    fill.enqueue(default, ptr::null_mut(), true)
}

unsafe fn memset_2d_async(
    default: DefaultStream,
    pointer: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    handle: cudaStream_t,
) -> Outcome {
    let fill = Fill {
        pointer,
        pitch,
        value,
        width,
        height,
    };
    fill.enqueue(default, handle, false)
}

//! Calls: fills.

use std::ffi::{c_int, c_void};

use crate::api::calls::calls;
use crate::api::route::{owners, perform};
use crate::codes::*;
use crate::memory::access::Access;
use crate::memory::extent::extent;
use crate::memory::pointers::Memory;
use crate::runtime::failure::{Outcome, require};
use crate::runtime::handles::Target;
use crate::runtime::stream::Stream;
use crate::runtime::transfer::Transfer;

calls! {
    /// Fills with the low byte of `value`, in the default stream. Waits if the memory is pinned or managed.
    cudaMemset, cudaMemset_ptds;
    /// Fills in a stream. No thread waits.
    cudaMemsetAsync, cudaMemsetAsync_ptsz = memset(pointer: *mut c_void, value: c_int, count: usize);
    /// Fills rows.
    cudaMemset2D, cudaMemset2D_ptds;
    /// Fills rows in a stream.
    cudaMemset2DAsync, cudaMemset2DAsync_ptsz = memset_2d(
        pointer: *mut c_void,
        pitch: usize,
        value: c_int,
        width: usize,
        height: usize,
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
    fn enqueue(&self, target: Target) -> Outcome {
        let stream = target.stream()?;
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        // CUDA documents no other code for a fill.
        require(self.pitch >= self.width, cudaErrorInvalidValue, || {
            let (pitch, width) = (self.pitch, self.width);
            format!("the pitch ({pitch} bytes) is smaller than a row ({width} bytes)")
        })?;
        let length = extent(self.pitch, self.width, self.height)?;
        let memory = Memory::at(self.pointer, length, Access::Write)?;
        require(!memory.is_pageable(), cudaErrorInvalidValue, || {
            format!("{:p} is not in memory that the runtime knows", self.pointer)
        })?;
        let memories = [&memory];
        perform(
            &stream,
            &memories,
            target.waits,
            owners(&memories),
            |queue| self.run(queue, &memory, target.waits),
        )
    }

    /// Fills in a queue that takes the memory.
    fn run(&self, queue: &Stream, memory: &Memory, waits: bool) -> Outcome {
        let transfer = Transfer::new(queue)?;
        let place = memory.place(queue.state(), self.pitch)?;
        // The low byte, as memset takes it.
        let value = self.value as u8;
        transfer.fill(place, (self.width, self.height), value)?;
        if waits && !memory.is_device() {
            transfer.commit_and_wait()
        } else {
            transfer.commit()
        }
    }
}

unsafe fn memset(target: Target, pointer: *mut c_void, value: c_int, count: usize) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe { memset_2d(target, pointer, count, value, count, 1) }
}

unsafe fn memset_2d(
    target: Target,
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
    fill.enqueue(target)
}

//! [`Program`]: what one thread does, beside a model of it.

use std::ffi::c_void;
use std::ptr;

use metal_cudart::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::Shared;
use super::handles::{Event, Kind, Memory, Result, Stream, check};

/// A thread's handles, and its numbers.
pub(super) struct Program<'a> {
    shared: &'a Shared,
    own: [Stream; 2],
    event: Event,
    random: SmallRng,
}

/// Memory and what the model has in it.
struct Cell {
    memory: Memory,
    model: Vec<u8>,
}

const KINDS: [Kind; 4] = [Kind::Device, Kind::DeviceAsync, Kind::Pinned, Kind::Managed];
const LARGEST: usize = 24 << 10;
const MOST_STEPS: usize = 12;

/// Bytes that a host function adds 1 to.
struct Bytes {
    start: *mut u8,
    length: usize,
}

unsafe extern "C-unwind" fn increment(context: *mut c_void) {
    // SAFETY: boxed for this one call, by a program that waits before it frees the bytes.
    let bytes = unsafe {
        let Bytes { start, length } = *Box::from_raw(context.cast::<Bytes>());
        std::slice::from_raw_parts_mut(start, length)
    };
    bytes
        .iter_mut()
        .for_each(|byte| *byte = byte.wrapping_add(1));
}

impl<'a> Program<'a> {
    pub(super) fn new(shared: &'a Shared, seed: u64) -> Result<Program<'a>> {
        Ok(Program {
            shared,
            own: [
                Stream::new(cudaStreamDefault)?,
                Stream::new(cudaStreamNonBlocking)?,
            ],
            event: Event::new(cudaEventDisableTiming)?,
            random: SmallRng::seed_from_u64(seed),
        })
    }

    fn any_stream(&mut self) -> cudaStream_t {
        match self.random.random_range(0..5) {
            0 => self.own[0].0,
            1 => self.own[1].0,
            2 => self.shared.streams[0].0,
            3 => self.shared.streams[1].0,
            _ => cudaStreamPerThread as cudaStream_t,
        }
    }

    /// Runs one program, from its allocations to the calls that free them, and compares the memory with the model.
    pub(super) fn run(&mut self) -> Result<()> {
        let length = 4 + self.random.random_range(0..LARGEST);
        let mut stream = self.any_stream();
        let mut cells = Vec::new();
        for kind in KINDS {
            cells.push(self.cell(kind, length, stream)?);
        }
        let mut called = false;
        for _ in 0..self.random.random_range(0..MOST_STEPS) {
            stream = self.next_stream(stream)?;
            called |= self.step(&mut cells, length, stream)?;
        }
        // Sometimes all is freed with its work pending; but not under a function of the program's own.
        if !called && self.random.random_range(0..8) == 0 {
            return Ok(());
        }
        self.wait(stream)?;
        let mut bytes = vec![0; length];
        for cell in &cells {
            let (to, from) = (bytes.as_mut_ptr().cast(), cell.memory.pointer);
            // SAFETY: both have the bytes.
            let code = unsafe { cudaMemcpyAsync(to, from, length, cudaMemcpyDefault, stream) };
            check("cudaMemcpyAsync", code)?;
            assert!(
                bytes == cell.model,
                "{:?} memory has other bytes than the model",
                cell.memory.kind
            );
        }
        Ok(())
    }

    fn cell(&mut self, kind: Kind, length: usize, stream: cudaStream_t) -> Result<Cell> {
        let memory = Memory::new(kind, length)?;
        let value: u8 = self.random.random();
        // SAFETY: the memory has the bytes.
        let code = unsafe { cudaMemsetAsync(memory.pointer, value.into(), length, stream) };
        check("cudaMemsetAsync", code)?;
        let model = vec![value; length];
        Ok(Cell { memory, model })
    }

    /// The same stream, or another one that was made to wait for it.
    fn next_stream(&mut self, stream: cudaStream_t) -> Result<cudaStream_t> {
        if self.random.random_range(0..3) > 0 {
            return Ok(stream);
        }
        let other = self.any_stream();
        let event = self.event.0;
        // SAFETY: handles, checked by the calls.
        unsafe {
            check("cudaEventRecord", cudaEventRecord(event, stream))?;
            check("cudaStreamWaitEvent", cudaStreamWaitEvent(other, event, 0))?;
        }
        Ok(other)
    }

    /// Does one piece of work on some of the bytes. Returns whether it is a call of a host function.
    fn step(&mut self, cells: &mut [Cell], length: usize, stream: cudaStream_t) -> Result<bool> {
        let start = self.random.random_range(0..length);
        let count = 1 + self.random.random_range(0..length - start);
        let range = start..start + count;
        let (to, from) = (
            self.random.random_range(0..KINDS.len()),
            self.random.random_range(0..KINDS.len()),
        );
        let written = cells[to].memory.at(start);
        let on_host = matches!(cells[to].memory.kind, Kind::Pinned | Kind::Managed);
        match self.random.random_range(0..5) {
            0 => {
                let value: u8 = self.random.random();
                // SAFETY: the range is in the memory.
                let code = unsafe { cudaMemsetAsync(written, value.into(), count, stream) };
                check("cudaMemsetAsync", code)?;
                cells[to].model[range].fill(value);
            }
            1 => {
                let bytes: Vec<u8> = (0..count).map(|_| self.random.random()).collect();
                let (from, kind) = (bytes.as_ptr().cast(), cudaMemcpyDefault);
                // SAFETY: the range is in the memory, and the vector has the bytes until the call returns.
                let code = unsafe { cudaMemcpyAsync(written, from, count, kind, stream) };
                check("cudaMemcpyAsync", code)?;
                cells[to].model[range].copy_from_slice(&bytes);
            }
            2 => {
                self.add(written, count, stream)?;
                add_to(&mut cells[to].model[range], 3);
            }
            3 if on_host => {
                let bytes = Box::new(Bytes {
                    start: written.cast(),
                    length: count,
                });
                let context = Box::into_raw(bytes).cast();
                // SAFETY: the function takes such a box.
                let code = unsafe { cudaLaunchHostFunc(stream, Some(increment), context) };
                check("cudaLaunchHostFunc", code)?;
                add_to(&mut cells[to].model[range], 1);
                return Ok(true);
            }
            _ if from != to => {
                let source = cells[from].memory.at(start);
                let kind = cudaMemcpyDefault;
                // SAFETY: the ranges are in their memories.
                let code = unsafe { cudaMemcpyAsync(written, source, count, kind, stream) };
                check("cudaMemcpyAsync", code)?;
                let bytes = cells[from].model[range.clone()].to_vec();
                cells[to].model[range].copy_from_slice(&bytes);
            }
            _ => {}
        }
        Ok(false)
    }

    /// A kernel that adds 3 to bytes.
    fn add(&self, bytes: *mut c_void, count: usize, stream: cudaStream_t) -> Result<()> {
        let function = ptr::without_provenance(self.shared.add);
        let (mut values, mut term, mut length) = (bytes, 3u32, count as u32);
        let arguments: &mut [*mut c_void] = &mut [
            ptr::from_mut(&mut values).cast(),
            ptr::from_mut(&mut term).cast(),
            ptr::from_mut(&mut length).cast(),
        ];
        let block = dim3 { x: 128, y: 1, z: 1 };
        let grid = dim3 {
            x: length.div_ceil(block.x),
            ..block_of_one()
        };
        // SAFETY: the arguments fit the kernel, which stays inside the bytes.
        let code =
            unsafe { cudaLaunchKernel(function, grid, block, arguments.as_mut_ptr(), 0, stream) };
        check("cudaLaunchKernel", code)
    }

    /// Waits for the stream in one of several ways.
    fn wait(&mut self, stream: cudaStream_t) -> Result<()> {
        let event = self.event.0;
        // SAFETY: handles, checked by the calls.
        unsafe {
            match self.random.random_range(0..3) {
                0 => check("cudaStreamSynchronize", cudaStreamSynchronize(stream)),
                1 => {
                    check("cudaEventRecord", cudaEventRecord(event, stream))?;
                    check("cudaEventSynchronize", cudaEventSynchronize(event))
                }
                _ => loop {
                    match cudaStreamQuery(stream) {
                        code if code == cudaErrorNotReady => std::thread::yield_now(),
                        code => break check("cudaStreamQuery", code),
                    }
                },
            }
        }
    }
}

const fn block_of_one() -> dim3 {
    dim3 { x: 1, y: 1, z: 1 }
}

fn add_to(bytes: &mut [u8], term: u8) {
    bytes
        .iter_mut()
        .for_each(|byte| *byte = byte.wrapping_add(term));
}

//! Thousands of random programs over several streams and events, against a model that does everything in the order in which
//! the program says it: what the program orders gives the model's bytes, whatever the device does with the rest.
//!
//! A program keeps to what CUDA orders: before a stream touches a cell, it is made to wait for whoever has used that cell
//! last, by an event, through the legacy default stream, or by a wait of the caller.

use std::ffi::c_void;
use std::ptr;

use metal_bridge::cuda::*;
use metal_bridge_test_support::in_child_with;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::support::*;

const CELLS: usize = 6;
const CELL: usize = 1024;
const STREAMS: usize = 5;

/// How a stream and the legacy one, which is the first, wait for each other.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Legacy,
    Blocking,
    NonBlocking,
}

const ROLES: [Role; STREAMS] = [
    Role::Legacy,
    Role::Blocking,
    Role::Blocking,
    Role::NonBlocking,
    Role::NonBlocking,
];

struct Program {
    random: SmallRng,
    streams: [cudaStream_t; STREAMS],
    events: [cudaEvent_t; 3],
    /// Cells of the device's memory and of pinned memory, with what each has in the model.
    memories: [Memory; 2],
    model: [Vec<u8>; 2],
    /// For each stream, how much of each stream's work it is ordered after.
    seen: [[u64; STREAMS]; STREAMS],
    work: [u64; STREAMS],
    /// Who has used each cell last: the stream and how much work it had then.
    used: [[Option<(usize, u64)>; CELLS]; 2],
}

struct Increment {
    cell: *mut u8,
}

unsafe extern "C-unwind" fn increment(context: *mut c_void) {
    // SAFETY: boxed by the program, for this one call; the cell is the stream's in its turn.
    let cell = unsafe { Box::from_raw(context.cast::<Increment>()) };
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts_mut(cell.cell, CELL) };
    bytes
        .iter_mut()
        .for_each(|byte| *byte = byte.wrapping_add(1));
}

impl Program {
    fn new() -> Program {
        Program {
            random: SmallRng::seed_from_u64(0),
            streams: [
                ptr::null_mut(),
                stream(cudaStreamDefault),
                stream(cudaStreamDefault),
                stream(cudaStreamNonBlocking),
                stream(cudaStreamNonBlocking),
            ],
            events: [
                event(0),
                event(cudaEventDisableTiming),
                event(cudaEventDisableTiming),
            ],
            memories: [Memory::device(CELLS * CELL), Memory::pinned(CELLS * CELL)],
            model: [vec![0; CELLS * CELL], vec![0; CELLS * CELL]],
            seen: [[0; STREAMS]; STREAMS],
            work: [0; STREAMS],
            used: [[None; CELLS]; 2],
        }
    }

    fn place(&self, memory: usize, cell: usize) -> *mut c_void {
        self.memories[memory].at(cell * CELL)
    }

    /// `stream` is ordered after the first `work` pieces of `other`, and after all that these were ordered after.
    fn learn(&mut self, stream: usize, other: usize) {
        for third in 0..STREAMS {
            self.seen[stream][third] = self.seen[stream][third].max(self.seen[other][third]);
        }
        self.seen[stream][other] = self.work[other];
    }

    /// What a piece of work of `stream` is ordered after by itself.
    fn learn_from_legacy(&mut self, stream: usize) {
        match ROLES[stream] {
            Role::Legacy => {
                for other in (0..STREAMS).filter(|other| ROLES[*other] == Role::Blocking) {
                    self.learn(stream, other);
                }
            }
            Role::Blocking => self.learn(stream, 0),
            Role::NonBlocking => {}
        }
    }

    /// Has `stream` wait for `other`, as the program may.
    fn wait_for(&mut self, stream: usize, other: usize) {
        let event = self.events[self.random.random_range(0..3)];
        // SAFETY: handles, checked by the calls.
        unsafe {
            if self.random.random_ratio(1, 12) {
                ok(cudaStreamSynchronize(self.streams[other]));
            } else {
                self.learn_from_legacy(other);
                ok(cudaEventRecord(event, self.streams[other]));
                ok(cudaStreamWaitEvent(self.streams[stream], event, 0));
            }
        }
        self.learn(stream, other);
    }

    /// Orders `stream` after the last use of a cell and makes it the last one.
    fn use_cell(&mut self, stream: usize, memory: usize, cell: usize) {
        self.learn_from_legacy(stream);
        if let Some((other, work)) = self.used[memory][cell]
            && other != stream
            && self.seen[stream][other] < work
        {
            self.wait_for(stream, other);
        }
        self.used[memory][cell] = Some((stream, self.work[stream] + 1));
    }

    fn step(&mut self) {
        let stream = self.random.random_range(0..STREAMS);
        let handle = self.streams[stream];
        let (memory, cell) = (
            self.random.random_range(0..2),
            self.random.random_range(0..CELLS),
        );
        let start = self.random.random_range(0..CELL);
        let length = self.random.random_range(1..=CELL - start);
        let range = cell * CELL + start..cell * CELL + start + length;
        self.use_cell(stream, memory, cell);
        let place = self.place(memory, cell).wrapping_byte_add(start);
        match self.random.random_range(0..5) {
            0 => {
                let value: u8 = self.random.random();
                // SAFETY: the range is in the cell.
                ok(unsafe { cudaMemsetAsync(place, value.into(), length, handle) });
                self.model[memory][range].fill(value);
            }
            1 => {
                let bytes: Vec<u8> = (0..length).map(|_| self.random.random()).collect();
                let (from, kind) = (bytes.as_ptr().cast(), cudaMemcpyDefault);
                // SAFETY: the range is in the cell, and the vector has the bytes until the call returns.
                ok(unsafe { cudaMemcpyAsync(place, from, length, kind, handle) });
                self.model[memory][range].copy_from_slice(&bytes);
            }
            2 if memory == 1 => {
                let context = Box::new(Increment {
                    cell: self.place(memory, cell).cast(),
                });
                let context = Box::into_raw(context).cast();
                // SAFETY: the function takes such a box.
                ok(unsafe { cudaLaunchHostFunc(handle, Some(increment), context) });
                let bytes = &mut self.model[memory][cell * CELL..(cell + 1) * CELL];
                bytes
                    .iter_mut()
                    .for_each(|byte| *byte = byte.wrapping_add(1));
            }
            _ => {
                let (from_memory, from_cell) = (
                    self.random.random_range(0..2),
                    self.random.random_range(0..CELLS),
                );
                if (from_memory, from_cell) == (memory, cell) {
                    // Ranges over each other are refused, and order nothing.
                    // SAFETY: the range is in the cell.
                    let code = unsafe { cudaMemcpyAsync(place, place, length, 4, handle) };
                    expect(cudaErrorInvalidValue, code);
                    // SAFETY: as above.
                    ok(unsafe { cudaMemsetAsync(place, 0, length, handle) });
                    self.model[memory][range].fill(0);
                } else {
                    self.use_cell(stream, from_memory, from_cell);
                    let from = self.place(from_memory, from_cell).wrapping_byte_add(start);
                    let kind = cudaMemcpyDefault;
                    // SAFETY: the ranges are in their cells.
                    ok(unsafe { cudaMemcpyAsync(place, from, length, kind, handle) });
                    let at = from_cell * CELL + start;
                    let bytes = self.model[from_memory][at..at + length].to_vec();
                    self.model[memory][range].copy_from_slice(&bytes);
                }
            }
        }
        self.work[stream] += 1;
        self.seen[stream][stream] = self.work[stream];
    }

    fn run(&mut self, seed: u64) {
        self.random = SmallRng::seed_from_u64(seed);
        for _ in 0..self.random.random_range(5..40) {
            self.step();
        }
        // SAFETY: takes nothing.
        ok(unsafe { cudaDeviceSynchronize() });
        for memory in 0..2 {
            let bytes = self.memories[memory].read(0, CELLS * CELL);
            let wrong = bytes
                .iter()
                .zip(&self.model[memory])
                .position(|(a, b)| a != b);
            assert_eq!(wrong, None, "program {seed}: a byte of memory {memory}");
        }
    }
}

fn run(seeds: std::ops::Range<u64>) {
    let mut program = Program::new();
    for memory in &program.memories {
        memory.write(0, &[0; CELLS * CELL]);
    }
    for seed in seeds {
        program.run(seed);
    }
}

#[test]
fn programs_do_what_the_model_does() {
    // A process of its own: other tests' streams hold the legacy one up.
    in_child_with(
        "random_programs::programs_do_what_the_model_does",
        &[],
        || run(0..1200),
    );
}

#[test]
fn programs_do_what_the_model_does_where_the_device_reorders() {
    let test = "random_programs::programs_do_what_the_model_does_where_the_device_reorders";
    let variables = [
        ("SOFTWARE_METAL_SHUFFLE", "7"),
        ("SOFTWARE_METAL_POISON", "1"),
    ];
    in_child_with(test, &variables, || run(10_000..11_200));
}

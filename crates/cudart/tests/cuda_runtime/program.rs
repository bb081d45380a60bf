//! A random program over several streams and events, beside a model that does everything in the order in which the
//! program says it: what the program orders gives the model's bytes, whatever the device does with the rest.
//!
//! A program keeps to what CUDA orders: before a stream touches a cell, the program makes it wait for the last use of
//! that cell, by an event, through the legacy default stream, or by a wait of the caller. If there are two devices,
//! streams of both use all memory, whichever device is the current one, and copies of the default stream between the
//! two order both.

use std::ffi::{CStr, c_void};
use std::ptr;

use metal_cudart::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::support::*;

const SOURCE: &CStr = cr#"
#include <metal_stdlib>
using namespace metal;

kernel void add(device uchar *bytes [[buffer(0)]], constant uint &amount [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    bytes[i] += uchar(amount);
}
"#;

const CELLS: usize = 6;
const CELL: usize = 1024;
/// What the kernel adds.
const AMOUNT: u32 = 7;

/// How a stream and its device's legacy one wait for each other.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Legacy,
    Blocking,
    NonBlocking,
}

/// A device's streams. The first is what NULL means if the device is the current one.
const ROLES: [Role; 5] = [
    Role::Legacy,
    Role::Blocking,
    Role::Blocking,
    Role::NonBlocking,
    Role::NonBlocking,
];

struct Stream {
    device: usize,
    role: Role,
    handle: cudaStream_t,
}

pub struct Program {
    random: SmallRng,
    streams: Vec<Stream>,
    add: cudaMetalFunction_t,
    /// The events of each device.
    events: Vec<[cudaEvent_t; 3]>,
    /// Cells of each device's memory, and at last of pinned memory, with what each has in the model.
    memories: Vec<Memory>,
    model: Vec<Vec<u8>>,
    /// For each stream, how much of each stream's work it is ordered after.
    seen: Vec<Vec<u64>>,
    work: Vec<u64>,
    /// Who has used each cell last: the stream and how much work it had then.
    used: Vec<[Option<(usize, u64)>; CELLS]>,
}

struct Increment {
    cell: *mut u8,
}

fn function_of(source: &CStr, name: &CStr) -> cudaMetalFunction_t {
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: pointers to handles, and C strings.
    unsafe {
        ok(cudaMetalRegisterSource(&mut module, source.as_ptr()));
        ok(cudaMetalGetFunction(&mut function, module, name.as_ptr()));
    }
    function
}

unsafe extern "C-unwind" fn increment(context: *mut c_void) {
    // SAFETY: boxed by the program, for this one call; the cell is the stream's in stream order.
    let cell = unsafe { Box::from_raw(context.cast::<Increment>()) };
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts_mut(cell.cell, CELL) };
    bytes
        .iter_mut()
        .for_each(|byte| *byte = byte.wrapping_add(1));
}

impl Program {
    /// All memory has zeros, as the model does.
    pub fn new(devices: usize) -> Program {
        let (mut streams, mut events, mut memories) = (Vec::new(), Vec::new(), Vec::new());
        for device in 0..devices {
            set_device(device);
            streams.extend(ROLES.map(|role| Stream {
                device,
                role,
                handle: match role {
                    Role::Legacy => ptr::null_mut(),
                    Role::Blocking => stream(cudaStreamDefault),
                    Role::NonBlocking => stream(cudaStreamNonBlocking),
                },
            }));
            events.push([0, cudaEventDisableTiming, cudaEventDisableTiming].map(event));
            memories.push(Memory::device(CELLS * CELL));
        }
        memories.push(Memory::pinned(CELLS * CELL));
        for memory in &memories {
            memory.write(0, &[0; CELLS * CELL]);
        }
        Program {
            random: SmallRng::seed_from_u64(0),
            model: vec![vec![0; CELLS * CELL]; memories.len()],
            seen: vec![vec![0; streams.len()]; streams.len()],
            work: vec![0; streams.len()],
            used: vec![[None; CELLS]; memories.len()],
            streams,
            add: function_of(SOURCE, c"add"),
            events,
            memories,
        }
    }

    fn devices(&self) -> usize {
        self.events.len()
    }

    /// The handle of a stream. Makes a device current: the stream's if the handle is NULL, which means that device's
    /// legacy stream, else any.
    fn handle(&mut self, stream: usize) -> cudaStream_t {
        let any = self.random.random_range(0..self.devices());
        let stream = &self.streams[stream];
        set_device(match stream.role {
            Role::Legacy => stream.device,
            Role::Blocking | Role::NonBlocking => any,
        });
        stream.handle
    }

    fn cell(&self, memory: usize, cell: usize) -> *mut c_void {
        self.memories[memory].at(cell * CELL)
    }

    /// `stream` is ordered after the first `work` pieces of `other`, and after all that these were ordered after.
    fn learn(&mut self, stream: usize, other: usize) {
        for third in 0..self.streams.len() {
            self.seen[stream][third] = self.seen[stream][third].max(self.seen[other][third]);
        }
        self.seen[stream][other] = self.work[other];
    }

    /// Notes what every piece of work of `stream` is ordered after because of the stream's role.
    fn learn_from_legacy(&mut self, stream: usize) {
        let device = self.streams[stream].device;
        let are_blocking = |other: &Stream| other.device == device && other.role == Role::Blocking;
        let others: Vec<usize> = match self.streams[stream].role {
            Role::Legacy => self.positions(are_blocking),
            Role::Blocking => vec![self.legacy(device)],
            Role::NonBlocking => Vec::new(),
        };
        for other in others {
            self.learn(stream, other);
        }
    }

    fn positions(&self, are_wanted: impl Fn(&Stream) -> bool) -> Vec<usize> {
        let all = 0..self.streams.len();
        all.filter(|position| are_wanted(&self.streams[*position]))
            .collect()
    }

    fn legacy(&self, device: usize) -> usize {
        device * ROLES.len()
    }

    /// Makes `stream` wait for `other`, in one of the ways that programs have.
    fn wait_for(&mut self, stream: usize, other: usize) {
        let event = self.events[self.streams[other].device][self.random.random_range(0..3)];
        let handle = self.handle(other);
        // SAFETY: handles, checked by the calls.
        unsafe {
            if self.random.random_ratio(1, 12) {
                ok(cudaStreamSynchronize(handle));
            } else {
                self.learn_from_legacy(other);
                ok(cudaEventRecord(event, handle));
                ok(cudaStreamWaitEvent(self.handle(stream), event, 0));
            }
        }
        self.learn(stream, other);
    }

    /// Orders `stream` after the last use of a cell and makes it the last one.
    fn use_cell(&mut self, stream: usize, memory: usize, cell: usize) {
        self.learn_from_legacy(stream);
        let last_use = self.used[memory][cell];
        let unseen =
            |&(other, work): &(usize, u64)| other != stream && self.seen[stream][other] < work;
        if let Some((other, _)) = last_use.filter(unseen) {
            self.wait_for(stream, other);
        }
        self.used[memory][cell] = Some((stream, self.work[stream] + 1));
    }

    /// A copy between two devices' cells that names no stream: after all work of both, and before all that comes.
    fn copy_in_order_of_all(&mut self) {
        let current = self.random.random_range(0..2);
        let legacy = self.legacy(current);
        let (from, to) = (
            self.random.random_range(0..CELLS),
            self.random.random_range(0..CELLS),
        );
        let (written, read) = (self.cell(1 - current, to), self.cell(current, from));
        set_device(current);
        // SAFETY: the cells have the bytes.
        ok(unsafe {
            if self.random.random() {
                let (this, other) = (current as i32, 1 - current as i32);
                cudaMemcpyPeer(written, other, read, this, CELL)
            } else {
                cudaMemcpy(written, read, CELL, cudaMemcpyDefault)
            }
        });
        let bytes = self.model[current][from * CELL..(from + 1) * CELL].to_vec();
        self.model[1 - current][to * CELL..(to + 1) * CELL].copy_from_slice(&bytes);
        for stream in 0..self.streams.len() {
            self.learn(legacy, stream);
        }
        self.work[legacy] += 1;
        self.seen[legacy][legacy] = self.work[legacy];
        for stream in 0..self.streams.len() {
            self.learn(stream, legacy);
        }
        for (memory, cell) in [(current, from), (1 - current, to)] {
            self.used[memory][cell] = Some((legacy, self.work[legacy]));
        }
    }

    fn launch_add(&self, mut bytes: *mut c_void, length: usize, stream: cudaStream_t) {
        let mut amount = AMOUNT;
        let grid = dim3 {
            x: length as u32,
            y: 1,
            z: 1,
        };
        let block = dim3 { x: 1, ..grid };
        let arguments = &mut [
            ptr::from_mut(&mut bytes).cast(),
            ptr::from_mut(&mut amount).cast(),
        ];
        // SAFETY: the arguments fit the kernel.
        ok(unsafe { cudaLaunchKernel(self.add, grid, block, arguments.as_mut_ptr(), 0, stream) });
    }

    /// Destroys a stream with its work pending. A new stream, which waits for that work, replaces it.
    fn replace_stream(&mut self) {
        let number = self.random.random_range(0..self.streams.len());
        let Stream {
            device,
            role,
            handle,
        } = self.streams[number];
        let flags = match role {
            Role::Legacy => return,
            Role::Blocking => cudaStreamDefault,
            Role::NonBlocking => cudaStreamNonBlocking,
        };
        set_device(device);
        let event = self.events[device][0];
        self.learn_from_legacy(number);
        // SAFETY: handles, checked by the calls.
        unsafe {
            ok(cudaEventRecord(event, handle));
            ok(cudaStreamDestroy(handle));
            let new = stream(flags);
            ok(cudaStreamWaitEvent(new, event, 0));
            self.streams[number].handle = new;
        }
    }

    fn step(&mut self) {
        if self.random.random_ratio(1, 20) {
            self.replace_stream();
        }
        if self.devices() == 2 && self.random.random_ratio(1, 8) {
            return self.copy_in_order_of_all();
        }
        let stream = self.random.random_range(0..self.streams.len());
        let pinned = self.memories.len() - 1;
        let (memory, cell) = (
            self.random.random_range(0..=pinned),
            self.random.random_range(0..CELLS),
        );
        let start = self.random.random_range(0..CELL);
        let length = self.random.random_range(1..=CELL - start);
        let range = cell * CELL + start..cell * CELL + start + length;
        self.use_cell(stream, memory, cell);
        let handle = self.handle(stream);
        let written = self.cell(memory, cell).wrapping_byte_add(start);
        match self.random.random_range(0..6) {
            0 => {
                let value: u8 = self.random.random();
                // SAFETY: the range is in the cell.
                ok(unsafe { cudaMemsetAsync(written, value.into(), length, handle) });
                self.model[memory][range].fill(value);
            }
            1 => {
                let bytes: Vec<u8> = (0..length).map(|_| self.random.random()).collect();
                let (from, kind) = (bytes.as_ptr().cast(), cudaMemcpyDefault);
                // SAFETY: the range is in the cell, and the vector has the bytes until the call returns.
                ok(unsafe { cudaMemcpyAsync(written, from, length, kind, handle) });
                self.model[memory][range].copy_from_slice(&bytes);
            }
            // Kernels take memory of their own device, and pinned memory.
            2 if memory == pinned || memory == self.streams[stream].device => {
                set_device(self.streams[stream].device);
                self.launch_add(written, length, handle);
                let bytes = &mut self.model[memory][range];
                bytes
                    .iter_mut()
                    .for_each(|byte| *byte = byte.wrapping_add(AMOUNT as u8));
            }
            3 if memory == pinned => {
                let context = Box::new(Increment {
                    cell: self.cell(memory, cell).cast(),
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
                    self.random.random_range(0..=pinned),
                    self.random.random_range(0..CELLS),
                );
                if (from_memory, from_cell) == (memory, cell) {
                    // A copy onto itself is accepted; CUDA says nothing of its bytes, which the fill then overwrites.
                    // SAFETY: the range is in the cell.
                    ok(unsafe { cudaMemcpyAsync(written, written, length, 4, handle) });
                    // SAFETY: as above.
                    ok(unsafe { cudaMemsetAsync(written, 0, length, handle) });
                    self.model[memory][range].fill(0);
                } else {
                    self.use_cell(stream, from_memory, from_cell);
                    let handle = self.handle(stream);
                    let from = self.cell(from_memory, from_cell).wrapping_byte_add(start);
                    let kind = cudaMemcpyDefault;
                    // SAFETY: the ranges are in their cells.
                    ok(unsafe { cudaMemcpyAsync(written, from, length, kind, handle) });
                    let at = from_cell * CELL + start;
                    let bytes = self.model[from_memory][at..at + length].to_vec();
                    self.model[memory][range].copy_from_slice(&bytes);
                }
            }
        }
        self.work[stream] += 1;
        self.seen[stream][stream] = self.work[stream];
    }

    pub fn run(&mut self, seed: u64) {
        self.random = SmallRng::seed_from_u64(seed);
        for _ in 0..self.random.random_range(5..40) {
            self.step();
        }
        for device in 0..self.devices() {
            set_device(device);
            // SAFETY: takes nothing.
            ok(unsafe { cudaDeviceSynchronize() });
        }
        for memory in 0..self.memories.len() {
            let bytes = self.memories[memory].read(0, CELLS * CELL);
            let wrong = bytes
                .iter()
                .zip(&self.model[memory])
                .position(|(a, b)| a != b);
            assert_eq!(wrong, None, "program {seed}: a byte of memory {memory}");
        }
    }
}

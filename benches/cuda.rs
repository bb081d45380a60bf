//! What the asynchronous calls of CUDA's runtime cost the thread that makes them: the median and the 99th percentile of
//! single calls, made a few at a time so that no stream is ever full.
//!
//! `cargo bench --bench cuda`; `-- memset` and the like for a part of it.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::time::Duration;

use metal_bridge_benches::beside::is_wanted;
use metal_bridge_benches::calls::{Calls, Percentiles, time_calls};
use metal_cudart::*;

/// The time for each case.
const BUDGET: Duration = Duration::from_millis(600);
const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// Ends the benchmark if a call failed.
fn ok(code: cudaError_t) {
    // SAFETY: names live for ever.
    let name = unsafe { CStr::from_ptr(cudaGetErrorName(code)) };
    assert_eq!(code, cudaSuccess, "{name:?}");
}

/// Memory for the length of the benchmark.
#[derive(Clone, Copy)]
enum Side {
    Device,
    Pinned,
    Pageable,
}

impl Side {
    fn allocate(self, length: usize) -> *mut c_void {
        let mut pointer = ptr::null_mut();
        match self {
            // SAFETY: a result pointer.
            Side::Device => ok(unsafe { cudaMalloc(&mut pointer, length) }),
            // SAFETY: as above.
            Side::Pinned => ok(unsafe { cudaMallocHost(&mut pointer, length) }),
            Side::Pageable => pointer = vec![1u8; length].leak().as_mut_ptr().cast(),
        }
        pointer
    }

    fn name(self) -> &'static str {
        match self {
            Side::Device => "device",
            Side::Pinned => "pinned",
            Side::Pageable => "pageable",
        }
    }
}

/// The streams that every call is made in.
struct Streams {
    explicit: cudaStream_t,
    legacy: cudaStream_t,
    per_thread: cudaStream_t,
}

impl Streams {
    fn new() -> Streams {
        let mut explicit = ptr::null_mut();
        // SAFETY: a pointer to the handle.
        ok(unsafe { cudaStreamCreate(&mut explicit) });
        Streams {
            explicit,
            legacy: cudaStreamLegacy as cudaStream_t,
            per_thread: cudaStreamPerThread as cudaStream_t,
        }
    }

    /// Times `call` in each stream and prints a line of the table.
    fn measure(&self, name: &str, call: impl Fn(cudaStream_t) -> cudaError_t) {
        if !is_wanted(name) {
            return;
        }
        let cells = [self.explicit, self.legacy, self.per_thread].map(|stream| {
            let times = time_calls(Calls {
                budget: BUDGET,
                call: || ok(call(stream)),
                // SAFETY: a handle, checked by the call.
                settle: || ok(unsafe { cudaStreamSynchronize(stream) }),
            });
            cell(&times)
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn cell(times: &Percentiles) -> String {
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
    let (median, slow) = (microseconds(times.median), microseconds(times.ninety_ninth));
    format!("{median:.1} / {slow:.1}")
}

/// The part of the table that was asked for.
fn main() {
    let streams = Streams::new();
    println!("\nMedian / 99th percentile of a call, in microseconds.\n");
    println!("| call | a stream | legacy default stream | per-thread default stream |");
    println!("|---|---:|---:|---:|");
    copies(&streams);
    fills(&streams);
    events(&streams);
    kernels(&streams);
}

/// Copies to pageable memory are not in this table: the call waits for them, as CUDA's does.
fn copies(streams: &Streams) {
    for (from, to) in [
        (Side::Pinned, Side::Device),
        (Side::Device, Side::Pinned),
        (Side::Device, Side::Device),
        (Side::Pageable, Side::Device),
    ] {
        for bytes in SIZES {
            let (source, destination) = (from.allocate(bytes), to.allocate(bytes));
            let name = format!("copy, {} to {}, {} KB", from.name(), to.name(), bytes >> 10);
            streams.measure(&name, |stream| {
                // SAFETY: both sides have the bytes until the end of the program.
                unsafe { cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, stream) }
            });
        }
    }
}

fn fills(streams: &Streams) {
    for bytes in SIZES {
        let memory = Side::Device.allocate(bytes);
        let name = format!("memset, {} KB", bytes >> 10);
        streams.measure(&name, |stream| {
            // SAFETY: a handle and a range, checked by the call.
            unsafe { cudaMemsetAsync(memory, 1, bytes, stream) }
        });
    }
}

fn event(flags: u32) -> cudaEvent_t {
    let mut event = ptr::null_mut();
    // SAFETY: a pointer to the handle.
    ok(unsafe { cudaEventCreateWithFlags(&mut event, flags) });
    event
}

fn events(streams: &Streams) {
    for (name, flags) in [
        ("event record", cudaEventDefault),
        ("event record, without timing", cudaEventDisableTiming),
    ] {
        let event = event(flags);
        streams.measure(name, |stream| {
            // SAFETY: handles, checked by the call.
            unsafe { cudaEventRecord(event, stream) }
        });
    }
    let (other, recorded) = (Streams::new().explicit, event(cudaEventDisableTiming));
    let memory = Side::Device.allocate(4096);
    streams.measure(
        "memset, event record and wait of another stream",
        |stream| {
            // SAFETY: handles and a range, checked by the calls.
            unsafe {
                ok(cudaMemsetAsync(memory, 1, 4096, other));
                ok(cudaEventRecord(recorded, other));
                cudaStreamWaitEvent(stream, recorded, 0)
            }
        },
    );
}

const SOURCE: &CStr = c"
#include <metal_stdlib>
using namespace metal;
kernel void add(device float *values [[buffer(0)]], constant float &term [[buffer(1)]],
                uint i [[thread_position_in_grid]]) {
    values[i] += term;
}
";

fn kernels(streams: &Streams) {
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: pointers to the handles and C strings.
    unsafe {
        ok(cudaMetalRegisterSource(&mut module, SOURCE.as_ptr()));
        ok(cudaMetalGetFunction(&mut function, module, c"add".as_ptr()));
    }
    let values = Side::Device.allocate(4096);
    let (grid, block) = (dim3 { x: 8, y: 1, z: 1 }, dim3 { x: 128, y: 1, z: 1 });
    streams.measure("kernel launch, 1024 threads", |stream| {
        let (mut values, mut term) = (values, 1.0f32);
        let arguments = &mut [
            ptr::from_mut(&mut values).cast(),
            ptr::from_mut(&mut term).cast(),
        ];
        // SAFETY: the arguments fit the kernel, which stays inside the memory.
        unsafe { cudaLaunchKernel(function, grid, block, arguments.as_mut_ptr(), 0, stream) }
    });
}

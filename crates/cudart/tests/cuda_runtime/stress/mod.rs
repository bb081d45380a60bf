//! Many threads on one device, each with programs of allocations, copies, fills, kernels, host functions and events in
//! streams of its own, in shared ones and in its default one.

mod handles;
mod program;

use std::env;
use std::ffi::CStr;
use std::thread;
use std::time::{Duration, Instant};

use metal_bridge_test_support::{in_child, settled_handles};
use metal_bridge_workloads::stress::heap;
use metal_cudart::*;

use self::handles::{Module, Result, Stream, check};
use self::program::Program;

const THREADS: usize = 64;
/// For how many seconds they run, three if it is not set: `make stress` sets a minute.
const SECONDS_VARIABLE: &str = "METAL_CUDART_STRESS_SECONDS";

const SOURCE: &CStr = c"
#include <metal_stdlib>
using namespace metal;
kernel void add(device uchar *values [[buffer(0)]], constant uint &term [[buffer(1)]],
                constant uint &count [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < count)
        values[i] += uchar(term);
}
";

/// What all threads use.
struct Shared {
    streams: [Stream; 2],
    /// The kernel, as a number, and what it lives in.
    add: usize,
    _module: Module,
}

impl Shared {
    fn new() -> Result<Shared> {
        let module = Module::new(SOURCE)?;
        Ok(Shared {
            streams: [
                Stream::new(cudaStreamDefault)?,
                Stream::new(cudaStreamNonBlocking)?,
            ],
            add: module.function(c"add")?.addr(),
            _module: module,
        })
    }
}

#[test]
fn sixty_four_threads_share_a_device() {
    // In a process of its own, whose objects nobody else makes.
    in_child("stress::sixty_four_threads_share_a_device", || {
        let seconds = env::var(SECONDS_VARIABLE).map_or(3, |text| text.parse().unwrap());
        let rounds = run(Duration::from_secs(seconds)).unwrap();
        assert!(rounds >= THREADS);
        println!("{rounds} programs");
    });
}

/// Lets the threads run random programs until `duration` is over, one each at least, and compares what each leaves in
/// memory with a model. The device is reset before and after, and then nothing may be left. Gives the number of
/// programs.
fn run(duration: Duration) -> Result<usize> {
    reset()?;
    let (before, heap_before) = (metal_bridge::Device::live_objects(), heap::live_bytes());
    let start = Instant::now();
    let shared = Shared::new()?;
    let work = |number: usize| -> Result<usize> {
        let mut program = Program::new(&shared, number as u64)?;
        let mut rounds = 0;
        while rounds == 0 || start.elapsed() < duration {
            program.run()?;
            rounds += 1;
        }
        Ok(rounds)
    };
    let rounds = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                scope.spawn({
                    let work = &work;
                    move || work(number)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum::<Result<usize>>()
    })?;
    drop(shared);
    reset()?;
    let after = settled_handles(&before);
    assert!(
        after.same_live(&before),
        "live objects went from {before} to {after}"
    );
    assert_eq!(heap::growth(heap_before), None);
    Ok(rounds)
}

/// The device gives back what it has.
fn reset() -> Result<()> {
    // SAFETY: take nothing.
    unsafe {
        check("cudaDeviceSynchronize", cudaDeviceSynchronize())?;
        check("cudaDeviceReset", cudaDeviceReset())
    }
}

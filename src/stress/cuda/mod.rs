//! CUDA's runtime from many threads at once, on one device.

mod handles;
mod program;

use std::ffi::CStr;
use std::time::{Duration, Instant};

use self::handles::{Module, Stream, check};
use self::program::Program;
use super::threads::on_threads;
use super::{heap, heap_growth, settled_handles};
use crate::cuda::*;
use crate::device::Device;
use crate::error::Result;

/// What a run of CUDA's calls came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CudaReport {
    /// Programs of all threads together.
    pub rounds: u64,
    /// What was not as it should be, in words: bytes, objects or memory. Empty for a good run.
    pub faults: Vec<String>,
}

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

/// Lets `threads` threads run random programs (allocations, copies, fills, kernels, host functions, events) in streams of
/// their own, in shared ones and in their default ones until `duration` is over (a program each at least), and compares what
/// each program leaves in memory with a model. The current device is reset before and after.
///
/// # Errors
///
/// Whatever a call fails with. Wrong bytes, objects that are left and growing memory are no errors but
/// [`CudaReport::faults`].
pub fn cuda(threads: usize, duration: Duration) -> Result<CudaReport> {
    reset()?;
    let (before, heap_before) = (Device::live_objects(), heap::live_bytes());
    let start = Instant::now();
    let shared = Shared::new()?;
    let work = |number: usize| -> Result<(u64, usize)> {
        let mut program = Program::new(&shared, number as u64)?;
        let (mut rounds, mut wrong) = (0, 0);
        while rounds == 0 || start.elapsed() < duration {
            wrong += usize::from(!program.run()?);
            rounds += 1;
        }
        Ok((rounds, wrong))
    };
    let ended = on_threads(threads, work);
    let (mut rounds, mut faults) = (0, Vec::new());
    for (number, result) in ended.into_iter().enumerate() {
        let (count, wrong) = result?;
        rounds += count;
        if wrong > 0 {
            faults.push(format!(
                "thread {number}: {wrong} of {count} programs left other bytes than the model"
            ));
        }
    }
    drop(shared);
    reset()?;
    let after = settled_handles(&before);
    if !after.same_live(&before) {
        faults.push(format!("live objects went from {before} to {after}"));
    }
    faults.extend(heap_growth(heap_before));
    Ok(CudaReport { rounds, faults })
}

/// The device gives back what it has.
fn reset() -> Result<()> {
    // SAFETY: take nothing.
    unsafe {
        check("cudaDeviceSynchronize", cudaDeviceSynchronize())?;
        check("cudaDeviceReset", cudaDeviceReset())
    }
}

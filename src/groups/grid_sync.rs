//! [`GridSync`]: which way the threadgroups of a grid can wait for each other, and dispatches of each way.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::probe::{Probe, Room};
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::StorageMode;
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::metal::functions::descriptor::ForwardProgressUsage;
use crate::metal::library::LanguageVersion;
use crate::metal::pipeline::ComputePipeline;
use crate::metal::queue::CommandQueue;

/// How all threads of a grid can wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GridSyncSupport {
    /// In one dispatch, by `grid_group::sync`: in a probe at least as many threadgroups were resident together as the grid
    /// has.
    Barrier {
        /// The most threadgroups that a probe has seen together.
        resident: usize,
        /// What the system says of the progress of SIMD-groups that are resident (macOS 27).
        /// [`Automatic`](ForwardProgressUsage::Automatic): nothing, so that the probe alone speaks for the barrier.
        forward_progress: ForwardProgressUsage,
    },
    /// By dispatches one after another alone: [`dispatch_phases`].
    Phases(WhyPhases),
}

/// Why a grid cannot wait within one dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyPhases {
    /// The system's compiler has no Metal 3.2, whose fences `grid_group` needs.
    LanguageVersion,
    /// The pipeline has weak forward progress ([`ForwardProgressUsage::Weak`]): threads that wait in a loop may keep others
    /// from running.
    ForwardProgress,
    /// The grid has more threadgroups than are known to be resident together.
    Residency {
        /// The most threadgroups that a probe has seen together.
        resident: usize,
    },
}

impl fmt::Display for WhyPhases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhyPhases::LanguageVersion => f.write_str("the compiler has no Metal 3.2"),
            WhyPhases::ForwardProgress => {
                f.write_str("the pipeline was made with weak forward progress")
            }
            WhyPhases::Residency { resident } => {
                write!(
                    f,
                    "{resident} threadgroups are known to be resident together"
                )
            }
        }
    }
}

/// Grids whose threads wait for each other in one dispatch.
///
/// Metal does not promise that threadgroups run side by side. A probe finds how many do: a kernel whose threadgroups stay
/// until all have come, or until they have waited long enough. What it finds is a fact of that moment: it holds for kernels
/// that need no more registers than the probe's share for them, while nothing else runs on the GPU.
///
/// ```
/// use metal_bridge::groups::{GridSync, GridSyncSupport, with_header};
/// use metal_bridge::{CompileOptions, Device, DispatchType, LanguageVersion, StorageMode};
///
/// # if !metal_bridge::is_available() { return Ok(()); }
/// // The sum of all numbers, in each of them.
/// let kernel = r#"
/// ##include "cooperative_groups.h"
/// namespace cg = cooperative_groups;
/// using namespace metal;
/// kernel void sum(device uint *x [[buffer(0)]], device atomic_uint *total [[buffer(1)]], device atomic_uint *barrier [[buffer(2)]],
///                 uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
///                 uint3 threads [[threads_per_threadgroup]], uint3 position [[threadgroup_position_in_grid]],
///                 uint3 groups [[threadgroups_per_grid]]) {
///     const cg::grid_group grid(cg::thread_block(i, lane, threads), position, groups, barrier);
///     atomic_fetch_add_explicit(total, x[grid.thread_rank()], memory_order_relaxed);
///     grid.sync();
///     x[grid.thread_rank()] = atomic_load_explicit(total, memory_order_relaxed);
/// }
/// "#;
/// let device = Device::system_default()?;
/// let options = CompileOptions::new().language_version(LanguageVersion::new(3, 2));
/// let library = device.new_library_with_source(&with_header("sum.metal", kernel), &options)?;
/// let pipeline = device.new_compute_pipeline_state(&library.new_function("sum")?)?;
/// let numbers: Vec<u32> = (0..128).collect();
/// let x = device.new_buffer_with_data(&numbers, StorageMode::Shared)?;
/// let total = device.new_buffer_with_data(&[0u32], StorageMode::Shared)?;
///
/// let queue = device.new_command_queue()?;
/// let sync = GridSync::new(&queue)?;
/// let GridSyncSupport::Barrier { .. } = sync.supports_grid_sync(&pipeline, 4, 32, 0)? else {
///     return Ok(()); // Here the kernel would run as phases.
/// };
/// let mut commands = queue.command_buffer()?;
/// let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
/// encoder.set_buffer(&x, 0, 0)?;
/// encoder.set_buffer(&total, 0, 1)?;
/// // SAFETY: 128 threads, each on one of the 128 numbers; all of them come to `sync` once.
/// unsafe { sync.dispatch(&mut encoder, &pipeline, 4, 32, 0, 2)? };
/// encoder.end_encoding()?;
/// commands.commit()?.wait()?;
/// assert_eq!(*x.wait_read::<u32>()?, [127 * 128 / 2; 128]);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
#[derive(Debug)]
pub struct GridSync {
    queue: CommandQueue,
    probe: Option<Probe>,
    resident: Mutex<HashMap<Room, usize>>,
}

impl GridSync {
    /// Compiles the probe, which will run on `queue`.
    ///
    /// # Errors
    ///
    /// [`Error::Compile`], [`Error::OutOfMemory`], [`Error::Internal`]. A compiler without Metal 3.2 is not an error.
    pub fn new(queue: &CommandQueue) -> Result<GridSync> {
        Ok(GridSync {
            queue: queue.clone(),
            probe: Probe::compile(queue.device(), LanguageVersion::new(3, 2))?,
            resident: Mutex::default(),
        })
    }

    /// Which way serves a grid, and why. Runs the probe, and waits for it, unless an earlier one has seen as many threadgroups.
    /// `threadgroup_memory` counts the bytes that the launch sets, beside those that the kernel declares.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for more threads than a threadgroup of the kernel may have, and errors of the probe's command
    /// buffer.
    pub fn supports_grid_sync(
        &self,
        pipeline: &ComputePipeline,
        threadgroups: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
        threadgroup_memory: usize,
    ) -> Result<GridSyncSupport> {
        const FUNCTION: &str = "GridSync::supports_grid_sync";
        let Some(probe) = &self.probe else {
            return Ok(GridSyncSupport::Phases(WhyPhases::LanguageVersion));
        };
        let forward_progress = pipeline.forward_progress_usage();
        if forward_progress == ForwardProgressUsage::Weak {
            return Ok(GridSyncSupport::Phases(WhyPhases::ForwardProgress));
        }
        let threads = volume(FUNCTION, threads_per_threadgroup.into())?;
        let wanted = volume(FUNCTION, threadgroups.into())?;
        let room = probe.room(FUNCTION, pipeline, threads, threadgroup_memory)?;
        let mut resident = self.known(room);
        if resident < wanted {
            let found = probe.run(&self.queue, room, wanted)?;
            let mut all = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
            let known = all.entry(room).or_default();
            *known = found.max(*known);
            resident = *known;
        }
        Ok(match resident >= wanted {
            true => GridSyncSupport::Barrier {
                resident,
                forward_progress,
            },
            false => GridSyncSupport::Phases(WhyPhases::Residency { resident }),
        })
    }

    /// Dispatches a kernel whose `grid_group` has its barrier at buffer `index`. The encoder's other arguments, and threadgroup
    /// memory of `threadgroup_memory` bytes in all, are set already.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if [`supports_grid_sync`](GridSync::supports_grid_sync) has not found that many threadgroups of
    /// that size resident together, [`Error::InvalidArgument`] for a pipeline with weak forward progress, and those of the
    /// encoder's calls.
    ///
    /// # Safety
    ///
    /// As [`dispatch_threads`](ComputeEncoder::dispatch_threads). All threads of the grid call `sync` equally often.
    pub unsafe fn dispatch(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        pipeline: &ComputePipeline,
        threadgroups: impl Into<Size>,
        threads_per_threadgroup: impl Into<Size>,
        threadgroup_memory: usize,
        index: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "GridSync::dispatch";
        let (threadgroups, threads) = (threadgroups.into(), threads_per_threadgroup.into());
        if pipeline.forward_progress_usage() == ForwardProgressUsage::Weak {
            let message = WhyPhases::ForwardProgress.to_string();
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let count = volume(FUNCTION, threadgroups)?;
        let resident = match &self.probe {
            None => 0,
            Some(probe) => {
                let threads = volume(FUNCTION, threads)?;
                self.known(probe.room(FUNCTION, pipeline, threads, threadgroup_memory)?)
            }
        };
        if count > resident {
            let message = format!(
                "the grid has {count} threadgroups, but supports_grid_sync has found {resident} resident together"
            );
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        }
        let device = self.queue.device();
        let barrier = device.new_buffer_with_data(&[0u32], StorageMode::Shared)?;
        encoder.set_compute_pipeline_state(pipeline)?;
        encoder.set_buffer(&barrier, 0, index)?;
        // SAFETY: the caller's promise; the barrier is one zero that nobody else has.
        unsafe { encoder.dispatch_threadgroups(threadgroups, threads) }
    }

    fn known(&self, room: Room) -> usize {
        let all = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&room).copied().unwrap_or(0)
    }
}

fn volume(function: &'static str, size: Size) -> Result<usize> {
    let area = size.width.checked_mul(size.height);
    area.and_then(|area| area.checked_mul(size.depth))
        .ok_or_else(|| {
            let message = format!("a size of {size:?} is too large");
            Error::OutOfRange(Failure::new(function, message))
        })
}

/// A part of a kernel, between two places where all threads of the grid wait for each other.
#[derive(Debug, Clone, Copy)]
pub struct Phase<'a> {
    /// The part.
    pub pipeline: &'a ComputePipeline,
    /// The grid.
    pub threadgroups: Size,
    /// Threads of each threadgroup.
    pub threads_per_threadgroup: Size,
}

/// Encodes parts of a kernel as dispatches, each of which sees what those before it wrote: right on every device, for grids of
/// any size. The encoder's arguments serve all of them; what threads keep for the next part stands in buffers.
///
/// # Errors
///
/// Those of the encoder's calls. The parts before the one that failed are encoded.
///
/// # Safety
///
/// As [`dispatch_threads`](ComputeEncoder::dispatch_threads), for each part.
pub unsafe fn dispatch_phases(
    encoder: &mut ComputeEncoder<'_>,
    phases: &[Phase<'_>],
) -> Result<()> {
    for (number, phase) in phases.iter().enumerate() {
        if number > 0 {
            encoder.barrier_between_passes()?;
        }
        encoder.set_compute_pipeline_state(phase.pipeline)?;
        // SAFETY: the caller's promise.
        unsafe {
            encoder.dispatch_threadgroups(phase.threadgroups, phase.threads_per_threadgroup)
        }?;
    }
    Ok(())
}

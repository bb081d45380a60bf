//! Groups of threads that work together, named as in CUDA's cooperative groups, for kernels of anyone.
//!
//! [`HEADER`] is `shaders/cooperative_groups.h`, a header of the Metal Shading Language: the threadgroup, tiles of 1 to 32
//! threads, and the threads that are active, with shuffles, votes, reductions and scans; the first two copy to threadgroup
//! memory too. SIMD-groups must have 32 threads.
//! `docs/cooperative-groups.md` in the repository lists its calls beside CUDA's.
//!
//! All threads of a grid wait for each other in one of two ways. [`GridSync`] says which serves a grid, and why: `grid_group` in one
//! dispatch, for as many threadgroups as a probe has seen together, or [`dispatch_phases`].
//!
//! ```
//! use metal_bridge::{CompileOptions, Device, DispatchType, StorageMode, groups};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let kernel = r#"
//! ##include "cooperative_groups.h"
//! namespace cg = cooperative_groups;
//! kernel void sums(device int *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]],
//!                  uint lane [[thread_index_in_simdgroup]], uint3 threads [[threads_per_threadgroup]]) {
//!     const auto tile = cg::tiled_partition<4>(cg::thread_block(i, lane, threads));
//!     x[i] = cg::reduce(tile, x[i], cg::plus<int>());
//! }
//! "#;
//! let device = Device::system_default()?;
//! let library = device.new_library_with_source(&groups::with_header("sums.metal", kernel), &CompileOptions::new())?;
//! let pipeline = device.new_compute_pipeline_state(&library.new_function("sums")?)?;
//! let buffer = device.new_buffer_with_data(&[1i32, 2, 3, 4, 5, 6, 7, 8], StorageMode::Shared)?;
//!
//! let queue = device.new_command_queue()?;
//! let mut commands = queue.command_buffer()?;
//! let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
//! encoder.set_compute_pipeline_state(&pipeline)?;
//! encoder.set_buffer(&buffer, 0, 0)?;
//! // SAFETY: eight threads, each on one of the eight numbers.
//! unsafe { encoder.dispatch_threads(8, 8)? };
//! encoder.end_encoding()?;
//! commands.commit()?.wait()?;
//! assert_eq!(*buffer.wait_read::<i32>()?, [10, 10, 10, 10, 26, 26, 26, 26]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```

//!
//! | elsewhere | here |
//! |---|---|
//! | `grid_sync`, `cudaLaunchCooperativeKernel` | [`GridSync::dispatch`] of a kernel with `grid_group::sync`, or [`dispatch_phases`] |
//! | `supports_grid_sync`, `cudaDevAttrCooperativeLaunch` | [`GridSync::supports_grid_sync`] |
//! | `threadgroup_barrier`, `__syncthreads()` | `thread_block::sync` in kernels, [`memory_barrier`](crate::ComputeEncoder::memory_barrier) between dispatches |
//! | `threadgroup_size` | `thread_block::size` in kernels, [`max_total_threads_per_threadgroup`](crate::ComputePipeline::max_total_threads_per_threadgroup) on the host |
//! | metrics | [`Times::gpu_duration`](crate::Times::gpu_duration), [`KernelProfile`](crate::analysis::KernelProfile) |

mod grid_scan;
mod grid_sync;
mod probe;

pub use grid_scan::GridScan;
pub use grid_sync::{GridSync, GridSyncSupport, Phase, WhyPhases, dispatch_phases};

use crate::headers::inline_headers;

/// The text of `cooperative_groups.h`.
pub const HEADER: &str = include_str!("../../shaders/cooperative_groups.h");

/// A source whose `#include "cooperative_groups.h"` is replaced by the header, ready for
/// [`Device::new_library_with_source`](crate::Device::new_library_with_source). `name` is what diagnostics call the source.
/// With headers of your own besides, give all of them to [`inline_headers`].
pub fn with_header(name: &str, source: &str) -> String {
    inline_headers(name, source, &[("cooperative_groups.h", HEADER)])
}

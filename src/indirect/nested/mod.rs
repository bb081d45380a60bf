//! Kernels that launch kernels.
//!
//! A kernel appends launches to a queue in a buffer, and so do the kernels that it launches. The GPU runs level after level:
//! a launch begins when all launches of the level before it have ended. The CPU takes no part until the last level has ended:
//! an indirect command buffer holds the launches, and a kernel encodes them.
//!
//! [`HEADER`] is `shaders/nested_kernels.h`, for kernels of anyone. `docs/nested-kernels.md` in the repository says more.
//!
//! ```
//! use metal_bridge::indirect::nested::{self, NestedKernels, NestedLaunch, NestedLimits};
//! use metal_bridge::{CompileOptions, Device, StorageMode};
//!
//! # if !metal_bridge::is_available() { return Ok(()); }
//! let kernel = r#"
//! ##include "nested_kernels.h"
//! using namespace nested_kernels;
//! // Counts the leaves of a tree: each inner node launches its children.
//! kernel void node(device queue &all [[buffer(0)]], device const launch &own [[buffer(1)]],
//!                  device atomic_uint *leaves [[buffer(2)]]) {
//!     const uint height = own.arguments[0];
//!     if (height == 0) atomic_fetch_add_explicit(leaves, 1u, memory_order_relaxed);
//!     else for (int child = 0; child < 3; child++) append(all, 0, 1, 1, height - 1);
//! }
//! "#;
//! let device = Device::system_default()?;
//! # if !device.supports_indirect_command_buffers() { return Ok(()); }
//! let library = device.new_library_with_source(&nested::with_header("tree.metal", kernel), &CompileOptions::new())?;
//! let node = device.new_compute_pipeline_state_for_indirect_commands(&library.new_function("node")?)?;
//! let kernels = NestedKernels::new(&device, &[node], NestedLimits { launches: 64, levels: 5 })?;
//!
//! let leaves = device.new_buffer_with_data(&[0u32], StorageMode::Shared)?;
//! let root = NestedLaunch::new(0, 1, 1, &[3])?;
//! // SAFETY: one thread a launch, which adds to the one number that there is.
//! let run = unsafe { kernels.run(&device.new_command_queue()?, &[root], &[&leaves])? };
//! assert_eq!((run.levels, run.launches), (4, 40));
//! assert_eq!(*leaves.wait_read::<u32>()?, [27]);
//! # Ok::<(), metal_bridge::Error>(())
//! ```

mod by_cpu;
mod launch;
mod program;
mod run;

pub use launch::{MAX_NESTED_ARGUMENTS, NestedLaunch};
pub use program::{MAX_NESTED_BUFFERS, MAX_NESTED_FUNCTIONS, NestedKernels, NestedLimits};
pub use run::NestedRun;

use crate::headers::inline_headers;

/// The text of `nested_kernels.h`.
pub const HEADER: &str = include_str!("../../../shaders/nested_kernels.h");

/// A source whose `#include "nested_kernels.h"` is replaced by the header, ready for
/// [`Device::new_library_with_source`](crate::Device::new_library_with_source). `name` is what diagnostics call the source.
/// With headers of your own besides, give all of them to [`inline_headers`].
pub fn with_header(name: &str, source: &str) -> String {
    inline_headers(name, source, &[("nested_kernels.h", HEADER)])
}

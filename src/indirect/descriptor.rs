//! [`IndirectCommandBufferDescriptor`]: what commands may have.

use crate::metal::compute::MAX_BINDINGS;
use crate::sys;

/// The most commands of an [`IndirectCommandBuffer`](super::IndirectCommandBuffer).
pub const MAX_INDIRECT_COMMANDS: usize = sys::MTB_MAX_INDIRECT_COMMANDS as usize;

/// What the commands of an [`IndirectCommandBuffer`](super::IndirectCommandBuffer) may have (`MTLIndirectCommandBufferDescriptor`).
///
/// The default are commands of both types that inherit nothing and may have as much as a kernel can. A smaller number of
/// buffers saves memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndirectCommandBufferDescriptor {
    /// Commands may dispatch threadgroups (`MTLIndirectCommandTypeConcurrentDispatch`).
    pub concurrent_dispatch: bool,
    /// Commands may dispatch threads (`MTLIndirectCommandTypeConcurrentDispatchThreads`).
    pub concurrent_dispatch_threads: bool,
    /// Commands have the pipeline that is set on the encoder that executes them.
    pub inherit_pipeline_state: bool,
    /// Commands have the buffers and bytes that are set on the encoder; threadgroup memory is always their own.
    pub inherit_buffers: bool,
    /// Indices of buffers are below this number, [`MAX_BINDINGS`] at most.
    pub max_kernel_buffer_bind_count: usize,
    /// Indices of threadgroup memory are below this number, [`MAX_BINDINGS`] at most.
    pub max_kernel_threadgroup_memory_bind_count: usize,
}

impl Default for IndirectCommandBufferDescriptor {
    fn default() -> IndirectCommandBufferDescriptor {
        IndirectCommandBufferDescriptor {
            concurrent_dispatch: true,
            concurrent_dispatch_threads: true,
            inherit_pipeline_state: false,
            inherit_buffers: false,
            max_kernel_buffer_bind_count: MAX_BINDINGS,
            max_kernel_threadgroup_memory_bind_count: MAX_BINDINGS,
        }
    }
}

impl IndirectCommandBufferDescriptor {
    pub(super) fn to_sys(self) -> sys::mtb_indirect_descriptor {
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        sys::mtb_indirect_descriptor {
            command_types: bit(
                self.concurrent_dispatch,
                sys::MTB_INDIRECT_DISPATCH_THREADGROUPS,
            ) | bit(
                self.concurrent_dispatch_threads,
                sys::MTB_INDIRECT_DISPATCH_THREADS,
            ),
            inherits_pipeline: self.inherit_pipeline_state,
            inherits_buffers: self.inherit_buffers,
            max_buffers: self.max_kernel_buffer_bind_count,
            max_threadgroup_memories: self.max_kernel_threadgroup_memory_bind_count,
        }
    }

    pub(super) fn inherits(&self) -> bool {
        self.inherit_pipeline_state || self.inherit_buffers
    }
}

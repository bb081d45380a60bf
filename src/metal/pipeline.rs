//! [`ComputePipeline`]: a kernel made ready to launch.

use std::fmt;
use std::sync::Arc;

use super::device::Device;
use super::functions::descriptor::{ComputePipelineDescriptor, ForwardProgressUsage};
use super::functions::dynamic_library::DynamicLibrary;
use super::handle::{Handle, create};
use super::library::Function;
use crate::error::{Error, Failure, Result};
use crate::sys;

/// Threads of a SIMD-group. The crate's kernels are written for this width, which all Apple GPUs have; others are refused.
pub(crate) const SIMD_WIDTH: usize = 32;

/// A kernel made ready to launch (`MTLComputePipelineState`). Clones share it.
#[derive(Clone)]
pub struct ComputePipeline {
    inner: Arc<PipelineInner>,
}

struct PipelineInner {
    handle: Handle<sys::mtb_pipeline>,
    device: Device,
    function_name: String,
    thread_execution_width: usize,
    max_total_threads_per_threadgroup: usize,
    static_threadgroup_memory_length: usize,
    supports_indirect_commands: bool,
    forward_progress_usage: ForwardProgressUsage,
    arguments: Vec<Argument>,
}

/// An argument of a kernel, as the compiler saw it (`MTLBinding`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument {
    /// The argument's name in the source.
    pub name: String,
    /// What is bound to it.
    pub kind: ArgumentKind,
    /// What the kernel's type lets it do.
    pub access: ArgumentAccess,
    /// Where it is bound: `n` of `[[buffer(n)]]` or `[[threadgroup(n)]]`.
    pub index: usize,
    /// The compiled kernel uses it, so a dispatch needs it bound.
    pub is_used: bool,
    /// Bytes of what the argument points to (buffers) or of its memory (threadgroup memory).
    pub data_size: usize,
    /// Alignment of the same, in bytes.
    pub alignment: usize,
}

/// What is bound to an argument (`MTLBindingType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArgumentKind {
    /// A buffer or inline bytes.
    Buffer,
    /// Threadgroup memory whose length the encoder sets.
    ThreadgroupMemory,
    /// A [`VisibleFunctionTable`](crate::VisibleFunctionTable).
    VisibleFunctionTable,
    /// Something that this crate does not bind, such as a texture.
    Other,
}

/// What a kernel may do with an argument (`MTLBindingAccess`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArgumentAccess {
    /// `constant`, or a pointer to `const`.
    ReadOnly,
    /// Reading and writing.
    ReadWrite,
    /// Writing only.
    WriteOnly,
}

impl Device {
    /// Makes a kernel ready to launch (`newComputePipelineStateWithDescriptor:options:reflection:error:`).
    ///
    /// # Errors
    ///
    /// [`Error::Compile`], [`Error::WrongDevice`] for a function of another device.
    pub fn new_compute_pipeline_state(&self, function: &Function) -> Result<ComputePipeline> {
        let descriptor = ComputePipelineDescriptor::new(function);
        self.make_pipeline("Device::new_compute_pipeline_state", &descriptor)
    }

    /// [`new_compute_pipeline_state`](Device::new_compute_pipeline_state) of a kernel that the commands of an
    /// [`IndirectCommandBuffer`](crate::indirect::IndirectCommandBuffer) may have (`supportIndirectCommandBuffers`).
    ///
    /// # Errors
    ///
    /// As [`new_compute_pipeline_state`](Device::new_compute_pipeline_state), and [`Error::Unsupported`]. Metal refuses
    /// some kernels with [`Error::Compile`].
    pub fn new_compute_pipeline_state_for_indirect_commands(
        &self,
        function: &Function,
    ) -> Result<ComputePipeline> {
        const FUNCTION: &str = "Device::new_compute_pipeline_state_for_indirect_commands";
        let descriptor = ComputePipelineDescriptor {
            support_indirect_command_buffers: true,
            ..ComputePipelineDescriptor::new(function)
        };
        self.make_pipeline(FUNCTION, &descriptor)
    }

    /// [`new_compute_pipeline_state`](Device::new_compute_pipeline_state) with functions that the kernel's own source
    /// does not have. [`VisibleFunctionTable`](crate::VisibleFunctionTable) has an example.
    ///
    /// # Errors
    ///
    /// As [`new_compute_pipeline_state`](Device::new_compute_pipeline_state), also for what is linked;
    /// [`Error::InvalidArgument`] for a linked function that is not `[[visible]]`; [`Error::Unsupported`] if the device
    /// lacks what the descriptor asks for.
    pub fn new_compute_pipeline_state_with_descriptor(
        &self,
        descriptor: &ComputePipelineDescriptor,
    ) -> Result<ComputePipeline> {
        const FUNCTION: &str = "Device::new_compute_pipeline_state_with_descriptor";
        self.make_pipeline(FUNCTION, descriptor)
    }

    fn make_pipeline(
        &self,
        caller: &'static str,
        descriptor: &ComputePipelineDescriptor,
    ) -> Result<ComputePipeline> {
        let function = &descriptor.compute_function;
        if function.device() != self {
            let message = format!(
                "the function {} belongs to {}",
                function.name(),
                function.device().name()
            );
            return Err(Error::WrongDevice(Failure::new(caller, message)));
        }
        let functions =
            |functions: &[Function]| -> Vec<_> { functions.iter().map(Function::as_ptr).collect() };
        let linked = functions(&descriptor.linked_functions.functions);
        let private = functions(&descriptor.linked_functions.private_functions);
        let libraries = descriptor.preloaded_libraries.iter();
        let libraries: Vec<_> = libraries.map(DynamicLibrary::as_ptr).collect();
        let raw = sys::mtb_pipeline_descriptor {
            function: function.as_ptr(),
            supports_indirect_commands: descriptor.support_indirect_command_buffers,
            linked_functions: linked.as_ptr(),
            linked_function_count: linked.len(),
            private_functions: private.as_ptr(),
            private_function_count: private.len(),
            preloaded_libraries: libraries.as_ptr(),
            preloaded_library_count: libraries.len(),
            max_call_stack_depth: descriptor.max_call_stack_depth,
            forward_progress_usage: match descriptor.forward_progress_usage {
                ForwardProgressUsage::Automatic => sys::MTB_FORWARD_PROGRESS_AUTOMATIC,
                ForwardProgressUsage::Weak => sys::MTB_FORWARD_PROGRESS_WEAK,
                ForwardProgressUsage::SimdGroupParallel => {
                    sys::MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL
                }
            },
        };
        // SAFETY: all that the descriptor names is live during the call, which returns an owned pipeline, or NULL and an
        // owned error.
        let handle =
            unsafe { create(|error| sys::mtb_pipeline_create_with_descriptor(&raw, error)) }?;
        let raw = handle.as_ptr();
        // SAFETY: the pipeline is live; its strings live as long as it does and are copied.
        let inner = unsafe {
            PipelineInner {
                function_name: sys::text(sys::mtb_pipeline_function_name(raw)),
                thread_execution_width: sys::mtb_pipeline_thread_execution_width(raw),
                max_total_threads_per_threadgroup:
                    sys::mtb_pipeline_max_total_threads_per_threadgroup(raw),
                static_threadgroup_memory_length:
                    sys::mtb_pipeline_static_threadgroup_memory_length(raw),
                supports_indirect_commands: sys::mtb_pipeline_supports_indirect_commands(raw),
                forward_progress_usage: match sys::mtb_pipeline_forward_progress_usage(raw) {
                    sys::MTB_FORWARD_PROGRESS_WEAK => ForwardProgressUsage::Weak,
                    sys::MTB_FORWARD_PROGRESS_SIMD_GROUP_PARALLEL => {
                        ForwardProgressUsage::SimdGroupParallel
                    }
                    _ => ForwardProgressUsage::Automatic,
                },
                arguments: arguments(raw),
                handle,
                device: self.clone(),
            }
        };
        Ok(ComputePipeline {
            inner: Arc::new(inner),
        })
    }
}

/// # Safety
///
/// `raw` is a live pipeline.
unsafe fn arguments(raw: *const sys::mtb_pipeline) -> Vec<Argument> {
    // SAFETY: the pipeline is live.
    let count = unsafe { sys::mtb_pipeline_argument_count(raw) };
    let argument = |position| {
        let mut argument = sys::mtb_argument {
            name: std::ptr::null(),
            kind: sys::MTB_ARGUMENT_OTHER,
            access: sys::MTB_ACCESS_READ_WRITE,
            index: 0,
            is_used: false,
            data_size: 0,
            alignment: 0,
        };
        // SAFETY: both are live; the name lives as long as the pipeline and is copied.
        let name = unsafe {
            sys::mtb_pipeline_get_argument(raw, position, &mut argument)
                .then(|| sys::text(argument.name))
        };
        let kind = match argument.kind {
            sys::MTB_ARGUMENT_BUFFER => ArgumentKind::Buffer,
            sys::MTB_ARGUMENT_THREADGROUP_MEMORY => ArgumentKind::ThreadgroupMemory,
            sys::MTB_ARGUMENT_VISIBLE_FUNCTION_TABLE => ArgumentKind::VisibleFunctionTable,
            _ => ArgumentKind::Other,
        };
        let access = match argument.access {
            sys::MTB_ACCESS_READ_ONLY => ArgumentAccess::ReadOnly,
            sys::MTB_ACCESS_WRITE_ONLY => ArgumentAccess::WriteOnly,
            _ => ArgumentAccess::ReadWrite,
        };
        name.map(|name| Argument {
            name,
            kind,
            access,
            index: argument.index as usize,
            is_used: argument.is_used,
            data_size: argument.data_size,
            alignment: argument.alignment,
        })
    };
    (0..count).filter_map(argument).collect()
}

impl ComputePipeline {
    pub(crate) fn as_ptr(&self) -> *mut sys::mtb_pipeline {
        self.inner.handle.as_ptr()
    }

    /// The device that the pipeline belongs to.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// The kernel's name.
    pub fn function_name(&self) -> &str {
        &self.inner.function_name
    }

    /// Refuses another width, with which lanes would reach past what is divided among 32 of them.
    pub(crate) fn check_simd_width(&self, function: &'static str) -> Result<()> {
        let width = self.thread_execution_width();
        if width == SIMD_WIDTH {
            return Ok(());
        }
        let message = format!(
            "{} has simdgroups of {width} threads, and the kernel {} is written for {SIMD_WIDTH}",
            self.device().name(),
            self.function_name()
        );
        Err(Error::Unsupported(Failure::new(function, message)))
    }

    /// How the kernel is scheduled if it blocks across SIMD-groups (`forwardProgressUsage`, macOS 27).
    pub fn forward_progress_usage(&self) -> ForwardProgressUsage {
        self.inner.forward_progress_usage
    }

    /// Threads in a SIMD-group (`threadExecutionWidth`).
    pub fn thread_execution_width(&self) -> usize {
        self.inner.thread_execution_width
    }

    /// The most threads that a threadgroup of this kernel can have (`maxTotalThreadsPerThreadgroup`).
    pub fn max_total_threads_per_threadgroup(&self) -> usize {
        self.inner.max_total_threads_per_threadgroup
    }

    /// Bytes of threadgroup memory that the kernel declares itself (`staticThreadgroupMemoryLength`).
    pub fn static_threadgroup_memory_length(&self) -> usize {
        self.inner.static_threadgroup_memory_length
    }

    /// Whether commands of an indirect command buffer may have the pipeline (`supportIndirectCommandBuffers`).
    pub fn support_indirect_command_buffers(&self) -> bool {
        self.inner.supports_indirect_commands
    }

    /// The kernel's arguments (`MTLComputePipelineReflection.bindings`).
    pub fn arguments(&self) -> &[Argument] {
        &self.inner.arguments
    }
}

impl fmt::Debug for ComputePipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComputePipeline")
            .field("function_name", &self.function_name())
            .finish()
    }
}

//! [`ComputePipelineDescriptor`]: what a pipeline is made of.

use super::dynamic_library::DynamicLibrary;
use crate::metal::library::Function;

/// Functions that a pipeline links beside its kernel (`MTLLinkedFunctions`): `[[visible]]` functions of any library.
#[derive(Debug, Clone, Default)]
pub struct LinkedFunctions {
    /// The pipeline has a [handle](crate::ComputePipeline::function_handle) for each of these (`functions`).
    pub functions: Vec<Function>,
    /// Only their names call these (`privateFunctions`, macOS 12).
    pub private_functions: Vec<Function>,
}

/// How Metal schedules kernels that block across SIMD-groups (`MTLForwardProgressUsage`, macOS 27).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ForwardProgressUsage {
    /// Metal chooses. Pipelines say so where the system does not say what it has chosen, as before macOS 27.
    #[default]
    Automatic,
    /// Weak forward progress: a SIMD-group that waits in a loop may keep the one that it waits for from running.
    Weak,
    /// SIMD-groups run on while others wait in loops.
    SimdGroupParallel,
}

/// What a pipeline is made of (`MTLComputePipelineDescriptor`).
#[derive(Debug, Clone)]
pub struct ComputePipelineDescriptor {
    /// The kernel.
    pub compute_function: Function,
    /// Commands of an [`IndirectCommandBuffer`](crate::indirect::IndirectCommandBuffer) may have the pipeline.
    pub support_indirect_command_buffers: bool,
    /// What the kernel calls beside the functions of its own source.
    pub linked_functions: LinkedFunctions,
    /// Where functions are looked up before the libraries that the sources were compiled with.
    pub preloaded_libraries: Vec<DynamicLibrary>,
    /// How deep calls through tables are nested: zero is Metal's default, 1.
    pub max_call_stack_depth: usize,
    /// How the kernel is scheduled if it blocks across SIMD-groups.
    pub forward_progress_usage: ForwardProgressUsage,
}

impl ComputePipelineDescriptor {
    /// A pipeline of the kernel alone.
    pub fn new(compute_function: &Function) -> ComputePipelineDescriptor {
        ComputePipelineDescriptor {
            compute_function: compute_function.clone(),
            support_indirect_command_buffers: false,
            linked_functions: LinkedFunctions::default(),
            preloaded_libraries: Vec::new(),
            max_call_stack_depth: 0,
            forward_progress_usage: ForwardProgressUsage::Automatic,
        }
    }

    /// Links a function that the kernel picks from a table or calls by name.
    pub fn link(mut self, function: &Function) -> ComputePipelineDescriptor {
        self.linked_functions.functions.push(function.clone());
        self
    }

    /// Links a function that the kernel calls by name.
    pub fn link_privately(mut self, function: &Function) -> ComputePipelineDescriptor {
        let functions = &mut self.linked_functions.private_functions;
        functions.push(function.clone());
        self
    }

    /// Adds a library to those where functions are looked up first.
    pub fn preload(mut self, library: &DynamicLibrary) -> ComputePipelineDescriptor {
        self.preloaded_libraries.push(library.clone());
        self
    }

    /// Says how deep calls through tables are nested.
    pub fn max_call_stack_depth(mut self, depth: usize) -> ComputePipelineDescriptor {
        self.max_call_stack_depth = depth;
        self
    }

    /// Says how the kernel is scheduled if it blocks across SIMD-groups.
    pub fn forward_progress_usage(
        mut self,
        usage: ForwardProgressUsage,
    ) -> ComputePipelineDescriptor {
        self.forward_progress_usage = usage;
        self
    }
}

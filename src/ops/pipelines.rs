//! The libraries under `shaders/` and the pipelines made of them: each compiled once a device, when first used.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use once_cell::sync::OnceCell;

use crate::error::Result;
use crate::metal::device::Device;
use crate::metal::function_constants::FunctionConstantValues;
use crate::metal::library::Library;
use crate::metal::pipeline::ComputePipeline;
pub(crate) use crate::metal::pipeline::SIMD_WIDTH;
use crate::ops::lane_execution::LaneExecution;
use crate::ops::shader::Shader;

/// The value of a function constant, by its index in the shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Bool(usize, bool),
    Uint(usize, u32),
}

/// At most this many function constants in a kernel.
const MAX_CONSTANTS: usize = 4;

/// A kernel with its constants fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KernelName {
    shader: Shader,
    function: &'static str,
    constants: [Option<Constant>; MAX_CONSTANTS],
}

impl KernelName {
    /// A kernel without function constants.
    pub(crate) fn new(shader: Shader, function: &'static str) -> KernelName {
        KernelName {
            shader,
            function,
            constants: [None; MAX_CONSTANTS],
        }
    }

    /// The same kernel with its first constant.
    pub(crate) fn with(mut self, constant: Constant) -> KernelName {
        let free = self
            .constants
            .iter_mut()
            .find(|constant| constant.is_none());
        *free.expect("no kernel of ours has more constants") = Some(constant);
        self
    }
}

/// The pipelines of one device's kernels.
pub(crate) struct Pipelines {
    device: Device,
    lanes: LaneExecution,
    for_indirect_commands: bool,
    libraries: Made<Shader, Library>,
    by_kernel: Made<KernelName, ComputePipeline>,
}

impl Pipelines {
    pub(crate) fn new(device: &Device, lanes: LaneExecution) -> Pipelines {
        Pipelines {
            device: device.clone(),
            lanes,
            for_indirect_commands: false,
            libraries: Made::default(),
            by_kernel: Made::default(),
        }
    }

    /// Pipelines that the commands of indirect command buffers may have, too.
    pub(crate) fn recordable(device: &Device, lanes: LaneExecution) -> Pipelines {
        Pipelines {
            for_indirect_commands: true,
            ..Pipelines::new(device, lanes)
        }
    }

    pub(crate) fn lanes(&self) -> LaneExecution {
        self.lanes
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The pipeline of a kernel, compiled at its first use. A thread waits only for a compilation that it needs itself.
    pub(crate) fn pipeline(&self, name: KernelName) -> Result<ComputePipeline> {
        self.by_kernel
            .get_or_make(name, || self.make_pipeline(name))
    }

    fn make_pipeline(&self, name: KernelName) -> Result<ComputePipeline> {
        let library = self.libraries.get_or_make(name.shader, || {
            let source = name.shader.source();
            let options = name.shader.compile_options(self.lanes);
            self.device.new_library_with_source(&source, &options)
        })?;
        let mut constants = FunctionConstantValues::new();
        for constant in name.constants.into_iter().flatten() {
            match constant {
                Constant::Bool(index, value) => constants.set(index, value),
                Constant::Uint(index, value) => constants.set(index, value),
            };
        }
        let function = library.new_function_with_constants(name.function, &constants)?;
        let make = match self.for_indirect_commands {
            true => Device::new_compute_pipeline_state_for_indirect_commands,
            false => Device::new_compute_pipeline_state,
        };
        let pipeline = make(&self.device, &function)?;
        pipeline.check_simd_width("Ops")?;
        Ok(pipeline)
    }
}

/// Values that are made once each, when they are first asked for.
struct Made<K, V>(Mutex<HashMap<K, Arc<OnceCell<V>>>>);

impl<K: Eq + Hash, V: Clone> Made<K, V> {
    /// The value of `key`. If making it fails, the next call tries again.
    fn get_or_make(&self, key: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        // The map is consistent even after a panic with it locked.
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = cells.entry(key).or_default().clone();
        drop(cells);
        cell.get_or_try_init(make).cloned()
    }
}

impl<K, V> Default for Made<K, V> {
    fn default() -> Made<K, V> {
        Made(Mutex::default())
    }
}

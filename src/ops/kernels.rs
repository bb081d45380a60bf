//! The libraries under `shaders/` and the pipelines made of them: each compiled once a device, when first used.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Failure, Result};
use crate::metal::constants::FunctionConstantValues;
use crate::metal::device::Device;
use crate::metal::library::{CompileOptions, Library};
use crate::metal::pipeline::ComputePipeline;
use crate::ops::SIMD_WIDTH;
use crate::ops::source::Shader;

/// The value of a function constant, by its index in the shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Bool(usize, bool),
    Uint(usize, u32),
}

/// At most this many function constants in a kernel.
const MAX_CONSTANTS: usize = 2;

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
        let free = self.constants.iter_mut().find(|place| place.is_none());
        *free.expect("no kernel of ours has more constants") = Some(constant);
        self
    }
}

/// The kernels of one device.
pub(crate) struct Kernels {
    device: Device,
    libraries: Mutex<HashMap<Shader, Library>>,
    pipelines: Mutex<HashMap<KernelName, ComputePipeline>>,
}

impl Kernels {
    pub(crate) fn new(device: &Device) -> Kernels {
        Kernels {
            device: device.clone(),
            libraries: Mutex::default(),
            pipelines: Mutex::default(),
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The pipeline of a kernel, compiled at its first use. Two threads that ask at once may both compile: the second
    /// result is dropped, and neither waits for a compilation that it does not need.
    pub(crate) fn pipeline(&self, name: KernelName) -> Result<ComputePipeline> {
        if let Some(pipeline) = lock(&self.pipelines).get(&name) {
            return Ok(pipeline.clone());
        }
        let library = self.library(name.shader)?;
        let mut constants = FunctionConstantValues::new();
        for constant in name.constants.into_iter().flatten() {
            match constant {
                Constant::Bool(index, value) => constants.set(index, value),
                Constant::Uint(index, value) => constants.set(index, value),
            };
        }
        let function = library.new_function_with_constants(name.function, &constants)?;
        let pipeline = self.device.new_compute_pipeline_state(&function)?;
        // With another width, lanes would reach past what is divided among 32 of them.
        let width = pipeline.thread_execution_width();
        if width != SIMD_WIDTH {
            let message = format!(
                "{} has simdgroups of {width} for the kernel {}, which is written for {SIMD_WIDTH}",
                self.device.name(),
                name.function
            );
            return Err(Error::Unsupported(Failure::new("Ops", message)));
        }
        Ok(lock(&self.pipelines)
            .entry(name)
            .or_insert(pipeline)
            .clone())
    }

    fn library(&self, shader: Shader) -> Result<Library> {
        if let Some(library) = lock(&self.libraries).get(&shader) {
            return Ok(library.clone());
        }
        let library = self
            .device
            .new_library_with_source(&shader.source(), &CompileOptions::new())?;
        Ok(match lock(&self.libraries).entry(shader) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => entry.insert(library).clone(),
        })
    }
}

/// The maps are whole whatever panicked while they were locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! `--pipelines`: compiles each kernel to machine code, as a pipeline does. Nothing else tells the threadgroup memory
//! that a kernel declares, and nothing else finds the errors of code generation.

use std::thread;

use metal_bridge::software::{Kernel, SourceCheck};
use metal_bridge::{CompileOptions, Device, Error, Library};

use super::diagnostics;

/// Whether kernels are compiled to machine code.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Pipelines {
    /// In sources of up to 16 kernels: each takes about a tenth of a second
    #[default]
    Auto,
    Always,
    Never,
}

const FEW: usize = 16;

impl Pipelines {
    pub fn wanted(self, kernels: usize) -> bool {
        match self {
            Pipelines::Auto => kernels <= FEW,
            Pipelines::Always => true,
            Pipelines::Never => false,
        }
    }
}

/// Notes the threadgroup memory that each kernel declares, and the kernels that fail, but for those that fail because a function
/// constant has no value: that is not the source's error. If the library cannot be made (a host has no macros with parameters),
/// `check` stays as it is.
pub fn make(source: &[u8], options: &CompileOptions, check: &mut SourceCheck) {
    let text = String::from_utf8_lossy(source);
    let library = Device::system_default()
        .and_then(|device| Ok((device.new_library_with_source(&text, options)?, device)));
    let Ok((library, device)) = library else {
        return;
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get());
    let share = check.kernels.len().div_ceil(threads).max(1);
    let problems: Vec<String> = thread::scope(|scope| {
        let (device, library) = (&device, &library);
        let workers: Vec<_> = check
            .kernels
            .chunks_mut(share)
            .map(|kernels| scope.spawn(move || measure(device, library, kernels)))
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|problems| problems.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    check.succeeded = problems.is_empty();
    check
        .diagnostics
        .extend(problems.into_iter().map(diagnostics::error));
}

/// Only the message tells: Metal has no error code of its own for it.
fn lacks_constant(error: &Error) -> bool {
    let message = error.to_string();
    message.contains("function constant '") && message.contains(" has no value")
}

fn measure(device: &Device, library: &Library, kernels: &mut [Kernel]) -> Vec<String> {
    let mut problems = Vec::new();
    for kernel in kernels {
        let pipeline = library
            .new_function(&kernel.name)
            .and_then(|function| device.new_compute_pipeline_state(&function));
        match pipeline {
            Ok(pipeline) => {
                let bytes = pipeline.static_threadgroup_memory_length();
                kernel.threadgroup_memory = Some(bytes as u64);
            }
            Err(error) if lacks_constant(&error) => {}
            Err(error) => problems.push(format!("kernel '{}': {error}", kernel.name)),
        }
    }
    problems
}

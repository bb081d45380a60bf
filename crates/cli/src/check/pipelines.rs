//! `--pipelines`: machine code of each kernel, as a pipeline has it, for what nothing else tells: the threadgroup memory that a
//! kernel declares, and what only the generation of code finds.

use std::thread;

use metal_bridge::software::{Kernel, SourceCheck};
use metal_bridge::{CompileOptions, Device, Library};

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

/// Notes what each kernel declares, and what goes wrong. A kernel that needs a value for a function constant stays as it is, and
/// so do all if a host could not ask for the library: it has no macros with parameters.
pub fn make(source: &[u8], options: &CompileOptions, check: &mut SourceCheck) {
    let text = String::from_utf8_lossy(source);
    let library = Device::system_default()
        .and_then(|device| Ok((device.new_library_with_source(&text, options)?, device)));
    let Ok((library, device)) = library else {
        return;
    };
    let needs_constants = check.function_constants.iter().any(|it| it.required);
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
    if !needs_constants {
        check.succeeded = problems.is_empty();
        check
            .diagnostics
            .extend(problems.into_iter().map(diagnostics::error));
    }
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
            Err(error) => problems.push(format!("kernel '{}': {error}", kernel.name)),
        }
    }
    problems
}

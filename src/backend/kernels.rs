//! Kernels of the user's own, and how many threads their threadgroups should have.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Failure, Result};
use crate::metal::device::{Device, Size};
use crate::metal::library::{CompileOptions, Library};
use crate::metal::pipeline::ComputePipeline;

/// Threads that a threadgroup need not exceed to fill a GPU; fewer threadgroups than that leave cores idle.
const ENOUGH_THREADS: usize = 256;

#[derive(Debug, Default)]
struct Known {
    /// By the name of a kernel, the library that has it, and which registration that was.
    libraries: HashMap<String, (u64, Library)>,
    registrations: u64,
    pipelines: HashMap<String, ComputePipeline>,
}

/// The kernels that were registered.
#[derive(Debug, Default)]
pub(super) struct Kernels(Mutex<Known>);

impl Kernels {
    /// Compiles the source and remembers its kernels, in place of those of the same names. Returns the names.
    pub(super) fn register(
        &self,
        device: &Device,
        source: &str,
        options: &CompileOptions,
    ) -> Result<Vec<String>> {
        let library = device.new_library_with_source(source, options)?;
        let names = library.function_names();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.registrations += 1;
        let registration = known.registrations;
        for name in &names {
            known
                .libraries
                .insert(name.clone(), (registration, library.clone()));
            known.pipelines.remove(name);
        }
        Ok(names)
    }

    /// The pipeline of a kernel, made at its first use.
    pub(super) fn pipeline(&self, device: &Device, name: &str) -> Result<ComputePipeline> {
        let (registration, library) = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(pipeline) = known.pipelines.get(name) {
                return Ok(pipeline.clone());
            }
            known.libraries.get(name).cloned().ok_or_else(|| {
                let message = format!("no source that was registered has a kernel `{name}`");
                Error::NotFound(Failure::new("MetalBackend::get_compute_pipeline", message))
            })?
        };
        // Without the lock, since others may want pipelines meanwhile. If two threads make one, the first stays.
        let made = device.new_compute_pipeline_state(&library.new_function(name)?)?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The name may have been registered again.
        if known.libraries.get(name).map(|now| now.0) != Some(registration) {
            return Ok(made);
        }
        Ok(known
            .pipelines
            .entry(name.to_owned())
            .or_insert(made)
            .clone())
    }
}

/// A multiple of the execution width that the pipeline's registers allow, no more than the grid needs.
pub(super) fn threads_for(pipeline: &ComputePipeline, threads: usize) -> usize {
    let width = pipeline.thread_execution_width().max(1);
    let most = pipeline.max_total_threads_per_threadgroup().max(1);
    if most < width {
        return most;
    }
    let wanted = threads.max(1).div_ceil(width).saturating_mul(width);
    wanted
        .min(ENOUGH_THREADS.max(width) / width * width)
        .min(most / width * width)
}

/// The same in two dimensions: as wide as the execution width, so that neighbours of a row share a simdgroup.
pub(super) fn threads_for_2d(pipeline: &ComputePipeline, grid: Size) -> Size {
    let width = pipeline.thread_execution_width().max(1);
    let threads = threads_for(
        pipeline,
        grid.width.max(1).saturating_mul(grid.height.max(1)),
    );
    let columns = width.min(threads).min(grid.width.max(1));
    Size::new(columns, (threads / columns).clamp(1, grid.height.max(1)), 1)
}

//! Kernels that launch kernels, against models in memory.

mod algorithms;
#[cfg(software_metal)]
mod failures;
mod limits;

use metal_bridge::indirect::nested::{self, NestedKernels, NestedLaunch, NestedLimits, NestedRun};

use super::*;

/// Those of the example, and one for limits.
static KERNELS: LazyLock<Library> = LazyLock::new(|| {
    let source = [
        include_str!("kernels.metal"),
        include_str!("../../../../examples/nested_kernels/kernels.metal"),
    ];
    let source = nested::with_header("kernels.metal", &source.concat());
    let library = device().new_library_with_source(&source, &CompileOptions::new());
    library.expect("the nested kernels compile")
});

fn kernels(name: &str, launches: usize, levels: usize) -> NestedKernels {
    let function = KERNELS.new_function(name).unwrap();
    let pipeline = device().new_compute_pipeline_state_for_indirect_commands(&function);
    let limits = NestedLimits { launches, levels };
    NestedKernels::new(device(), &[pipeline.unwrap()], limits).unwrap()
}

/// By the GPU alone, or level after level by the CPU.
fn run_from(
    kernels: &NestedKernels,
    by_gpu: bool,
    roots: &[NestedLaunch],
    buffers: &[&Buffer],
) -> metal_bridge::Result<NestedRun> {
    // SAFETY: each test's buffers have what its kernels touch.
    unsafe {
        match by_gpu {
            true => kernels.run(&queue(), roots, buffers),
            false => kernels.run_by_cpu(&queue(), roots, buffers),
        }
    }
}

fn filled<T: bytemuck::Pod>(values: &[T]) -> Buffer {
    device()
        .new_buffer_with_data(values, StorageMode::Shared)
        .unwrap()
}

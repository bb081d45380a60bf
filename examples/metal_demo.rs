//! The device, an addition, a product of matrices, how wide a kernel runs, and what the operations took.

use std::error::Error;
use std::io::{Write, stdout};

use metal_bridge::{Buffer, CompileOptions, MetalBackend, MetalOps, StorageMode};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void twice(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }
";

fn main() -> Result<(), Box<dyn Error>> {
    demo(&mut stdout())
}

/// Says on `out` what it finds.
pub fn demo(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    if !MetalBackend::is_available() {
        writeln!(out, "there is no Metal here")?;
        return Ok(());
    }
    let ops = MetalOps::new(MetalBackend::initialize()?);
    let backend = ops.backend();
    writeln!(out, "device: {}", backend.name())?;
    ops.enable_metrics(true);

    let four = |values: [f32; 4]| backend.create_buffer_with_data(&values, StorageMode::Shared);
    let (a, b) = (four([1.0, 2.0, 3.0, 4.0])?, four([5.0, 6.0, 7.0, 8.0])?);
    let c = backend.create_buffer(4 * size_of::<f32>(), StorageMode::Shared)?;
    let read = |buffer: &Buffer| -> metal_bridge::Result<[f32; 4]> {
        let mut values = [0.0; 4];
        backend.copy_buffer_to_host(buffer, &mut values)?;
        Ok(values)
    };

    ops.add(&a, &b, &c, 4)?;
    let sum = read(&c)?;
    writeln!(out, "a + b = {sum:?}")?;
    assert_eq!(sum, [6.0, 8.0, 10.0, 12.0]);

    // The same numbers as matrices of two rows: [[1, 2], [3, 4]] [[5, 6], [7, 8]].
    ops.matmul(&a, &b, &c, 2, 2, 2)?;
    let product = read(&c)?;
    writeln!(out, "a b = {product:?}")?;
    assert_eq!(product, [19.0, 22.0, 43.0, 50.0]);

    // A kernel of one's own, and what its pipeline says about threads.
    backend.register_kernels(SOURCE, &CompileOptions::new())?;
    let pipeline = backend.get_compute_pipeline("twice")?;
    writeln!(
        out,
        "threadExecutionWidth: {}, maxTotalThreadsPerThreadgroup: {}",
        pipeline.thread_execution_width(),
        pipeline.max_total_threads_per_threadgroup()
    )?;
    let threads = backend.optimal_thread_group_size(&pipeline, 4);
    let submission = backend.submit(|encoder| {
        encoder.set_compute_pipeline_state(&pipeline)?;
        encoder.set_buffer(&c, 0, 0)?;
        // SAFETY: a thread touches one of the four floats.
        unsafe { encoder.dispatch_threads(4, threads) }
    })?;
    submission.wait()?;
    let doubled = read(&c)?;
    writeln!(out, "2 a b = {doubled:?}")?;
    assert_eq!(doubled, [38.0, 44.0, 86.0, 100.0]);

    write!(out, "{}", ops.metrics())?;
    Ok(())
}

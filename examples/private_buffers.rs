//! Weights in memory that the GPU has alone, and results that come back without a wait.

use metal_bridge::memory::{Memory, Owned, TransferKind, Values};
use metal_bridge::{CompileOptions, Device, DispatchType, Result, StorageMode};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const float *weights [[buffer(0)]], device float *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]])
{
    out[i] = 2.0f * weights[i];
}
";

fn main() -> Result<()> {
    if !metal_bridge::is_available() {
        println!("there is no Metal here");
        return Ok(());
    }
    let device = Device::system_default()?;
    let library = device.new_library_with_source(SOURCE, &CompileOptions::new())?;
    let scale = device.new_compute_pipeline_state(&library.new_function("scale")?)?;
    let memory = Memory::new(&device)?;
    let queue = device.new_command_queue()?;
    let transfers = memory.transfer_queue(&queue)?;

    // The CPU never sees these bytes: they go by way of staging, and the vector is the transfer's until it is done.
    let values: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let bytes = size_of_val(&values[..]);
    let weights = memory.allocate(bytes, StorageMode::Private)?;
    let out = memory.allocate(bytes, StorageMode::Private)?;
    transfers.copy(Owned::new(values), weights.at(0)).commit()?;

    // The kernel runs after the upload: one queue, one order.
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
    encoder.set_compute_pipeline_state(&scale)?;
    encoder.set_buffer_read_only(&weights, 0, 0)?;
    encoder.set_buffer(&out, 0, 1)?;
    // SAFETY: a thread touches one float of each buffer, and there are as many.
    unsafe { encoder.dispatch_threads(1000, 64)? };
    encoder.end_encoding()?;
    commands.commit()?;

    // And the download after the kernel. This thread is free until it wants the values.
    let results = transfers
        .copy(out.at(0), Values::<f32>::new(1000))
        .commit()?;
    let results = results.wait()?;
    assert!(
        results
            .iter()
            .enumerate()
            .all(|(i, result)| *result == 2.0 * i as f32)
    );
    println!("{} results, the last one {}", results.len(), results[999]);

    let statistics = memory.statistics();
    assert_eq!(
        statistics.transfers(TransferKind::HostToPrivate).bytes,
        bytes as u64
    );
    println!("{statistics}");
    Ok(())
}

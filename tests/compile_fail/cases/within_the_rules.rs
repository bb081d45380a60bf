//! What the other cases do, done right.

use std::sync::Arc;

use metal_bridge::memory::{Download, Memory, TransferQueue};
use metal_bridge::{Buffer, CommandQueue, ComputePipeline, Device, DispatchType, Result, Submission};

fn encode(queue: &CommandQueue, pipeline: &ComputePipeline, buffer: &Buffer) -> Result<Submission> {
    let mut commands = queue.command_buffer()?;
    let mut first = commands.compute_command_encoder(DispatchType::Serial)?;
    first.set_compute_pipeline_state(pipeline)?;
    first.set_buffer(buffer, 0, 0)?;
    // SAFETY: never called.
    unsafe { first.dispatch_threads(1, 1)? };
    first.end_encoding()?;
    let second = commands.blit_command_encoder()?;
    drop(second);
    let copy = buffer.clone();
    commands.add_completed_handler(move |_| drop(copy));
    commands.commit()
}

fn transfer(transfers: &TransferQueue, buffer: &Buffer, values: Arc<[f32]>) -> Result<Vec<f32>> {
    let mut output = vec![0.0f32; 4];
    let mut batch = transfers.batch()?;
    batch.upload(&[1.0f32; 4], buffer, 0)?;
    batch.download(buffer, 0, &mut output)?;
    batch.commit_and_wait()?;
    output[0] = 2.0;
    let mut batch = transfers.batch()?;
    // Borrowed for ever.
    batch.upload(&[1u8, 2, 3, 4], buffer, 0)?;
    batch.upload_owned(values, buffer, 0)?;
    let download = batch.download_into(buffer, 0, output)?;
    batch.commit()?;
    transfers.command_queue().call_host_function(|| {})?;
    download.wait()
}

fn shared<T: Send + Sync>() {}

fn main() {
    shared::<(Device, CommandQueue, Buffer, ComputePipeline, Submission)>();
    shared::<(Memory, TransferQueue, Download<Vec<f32>>)>();
    let _ = (encode, transfer);
}

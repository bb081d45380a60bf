//! What the cases do, done right.

use std::sync::Arc;
use std::time::Duration;

use metal_bridge::memory::{Download, Memory, Owned, Rows, Staged, TransferQueue, Values};
use metal_bridge::{
    Buffer, CommandQueue, ComputePipeline, Device, DispatchType, Function, Library, ReadGuard,
    Result, SharedEvent, Submission, WeakSharedEvent, WriteGuard,
};

pub fn encode(
    queue: &CommandQueue,
    pipeline: &ComputePipeline,
    buffer: &Buffer,
) -> Result<Submission> {
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

pub fn transfer(
    transfers: &TransferQueue,
    buffer: &Buffer,
    values: Arc<[f32]>,
) -> Result<Vec<f32>> {
    let mut output = vec![0.0f32; 4];
    let mut batch = transfers.batch()?;
    batch.copy(&[1.0f32; 4], buffer.at(0))?;
    batch.copy(buffer.at(0), &mut output)?;
    batch.run()?;
    output[0] = 2.0;
    let mut batch = transfers.batch()?;
    // Borrowed for ever.
    batch.copy(&[1u8, 2, 3, 4], buffer.at(0))?;
    batch.copy(Owned::new(values), buffer.at(0))?;
    let download = batch.copy(buffer.at(0), Owned::new(output))?;
    batch.commit()?;
    let staged = vec![1u8; 4];
    let copied = transfers.copy(Rows::new(Staged(&staged), 2), buffer.range(..2));
    drop(staged);
    copied.run_timeout(Duration::ZERO)?;
    let new: Vec<u8> = transfers.copy(buffer.at(0), Values::new(4)).run()?;
    let place = buffer.range(..4);
    transfers.copy(Owned::new(new), place).commit()?;
    transfers.fill(place, 0u8).commit()?;
    transfers.command_queue().call_host_function(|| {})?;
    download.wait()
}

fn shared<T: Send + Sync>() {}

pub fn share() {
    shared::<(Device, CommandQueue, Buffer, ComputePipeline, Submission)>();
    shared::<(Library, Function, SharedEvent, WeakSharedEvent)>();
    shared::<(Memory, TransferQueue, Download<Vec<f32>>)>();
    shared::<(ReadGuard<'static, f32>, WriteGuard<'static, f32>)>();
}

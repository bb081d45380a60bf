//! What the other cases do, done right.

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

fn shared<T: Send + Sync>() {}

fn main() {
    shared::<(Device, CommandQueue, Buffer, ComputePipeline, Submission)>();
    let _ = encode;
}

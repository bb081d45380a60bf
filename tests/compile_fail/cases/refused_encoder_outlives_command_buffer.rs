//! An encoder lives no longer than its command buffer.

use metal_bridge::{CommandQueue, DispatchType, Result};

fn encode(queue: &CommandQueue) -> Result<()> {
    let encoder = {
        let mut commands = queue.command_buffer()?;
        commands.compute_command_encoder(DispatchType::Serial)?
    };
    encoder.end_encoding()
}

fn main() {}

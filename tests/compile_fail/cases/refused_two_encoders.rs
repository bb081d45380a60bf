//! One encoder at a time records into a command buffer.

use metal_bridge::{CommandBuffer, DispatchType, Result};

fn encode(mut commands: CommandBuffer) -> Result<()> {
    let first = commands.compute_command_encoder(DispatchType::Serial)?;
    let second = commands.blit_command_encoder()?;
    first.end_encoding()?;
    second.end_encoding()
}

fn main() {}

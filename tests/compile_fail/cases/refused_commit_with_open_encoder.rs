//! A command buffer is committed after its encoders have ended.

use metal_bridge::{CommandBuffer, DispatchType, Result};

fn encode(mut commands: CommandBuffer) -> Result<()> {
    let encoder = commands.compute_command_encoder(DispatchType::Serial)?;
    commands.commit()?;
    encoder.end_encoding()
}

fn main() {}

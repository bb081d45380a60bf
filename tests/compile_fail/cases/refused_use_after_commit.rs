//! A committed command buffer records nothing more.

use metal_bridge::{CommandBuffer, DispatchType, Result};

fn encode(mut commands: CommandBuffer) -> Result<()> {
    commands.commit()?;
    commands.compute_command_encoder(DispatchType::Serial)?.end_encoding()
}

fn main() {}

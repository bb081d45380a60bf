//! An encoder that is not used again still has to end before the next one, a signal or the commit: nothing that it recorded
//! is lost because somebody forgot that.

use metal_bridge::{Buffer, CommandBuffer, DispatchType, Result, SharedEvent, Submission};

fn compute(mut commands: CommandBuffer, buffer: &Buffer) -> Result<Submission> {
    let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
    encoder.set_buffer(buffer, 0, 0)?;
    commands.commit()
}

fn blit(mut commands: CommandBuffer, buffer: &Buffer) -> Result<Submission> {
    let mut encoder = commands.blit_command_encoder()?;
    encoder.fill(buffer, 0..4, 0)?;
    commands.commit()
}

fn another(mut commands: CommandBuffer, buffer: &Buffer) -> Result<()> {
    let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
    encoder.set_buffer(buffer, 0, 0)?;
    commands.blit_command_encoder()?.end_encoding()
}

fn signal(mut commands: CommandBuffer, buffer: &Buffer, event: &SharedEvent) -> Result<()> {
    let mut encoder = commands.blit_command_encoder()?;
    encoder.fill(buffer, 0..4, 0)?;
    commands.encode_signal_event(event, 1)
}

fn main() {}

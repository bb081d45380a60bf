//! An encoder that has ended encodes nothing more.

use metal_bridge::{Buffer, ComputeEncoder, Result};

fn encode(mut encoder: ComputeEncoder<'_>, buffer: &Buffer) -> Result<()> {
    encoder.end_encoding()?;
    encoder.set_buffer(buffer, 0, 0)
}

fn main() {}

//! A guard that reads does not write.

use metal_bridge::{Buffer, Result};

fn write(buffer: &Buffer) -> Result<()> {
    let mut values = buffer.wait_read::<f32>()?;
    values[0] = 1.0;
    Ok(())
}

fn main() {}

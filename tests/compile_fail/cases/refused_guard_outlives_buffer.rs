//! A guard lives no longer than its handle of the buffer.

use metal_bridge::{Buffer, Result};

fn read(buffer: Buffer) -> Result<f32> {
    let values = buffer.wait_read::<f32>()?;
    drop(buffer);
    Ok(values[0])
}

fn main() {}

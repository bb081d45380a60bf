//! What a guard shows lives no longer than the guard.

use metal_bridge::{Buffer, Result};

fn first(buffer: &Buffer) -> Result<&[f32]> {
    let values: &[f32] = &*buffer.wait_read::<f32>()?;
    Ok(values)
}

fn main() {}

//! A download that nobody waits for writes to memory that it owns.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result};

fn download(transfers: &TransferQueue, buffer: &Buffer) -> Result<[f32; 4]> {
    let mut values = [0.0f32; 4];
    let mut batch = transfers.batch()?;
    batch.copy(buffer.at(0), &mut values)?;
    batch.commit()?.wait()?;
    Ok(values)
}

fn main() {}

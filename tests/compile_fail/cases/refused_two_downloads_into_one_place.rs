//! Two downloads of a batch do not write to the same values.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result};

fn download(transfers: &TransferQueue, buffer: &Buffer, values: &mut [f32]) -> Result<()> {
    let mut batch = transfers.batch()?;
    batch.copy(buffer.at(0), &mut *values)?;
    batch.copy(buffer.at(16), &mut *values)?;
    batch.run()
}

fn main() {}

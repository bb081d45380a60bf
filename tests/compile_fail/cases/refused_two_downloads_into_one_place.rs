//! Two downloads of a batch do not write to the same values.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result};

fn download(transfers: &TransferQueue, buffer: &Buffer, values: &mut [f32]) -> Result<()> {
    let mut batch = transfers.batch()?;
    batch.download(buffer, 0, values)?;
    batch.download(buffer, 16, values)?;
    batch.commit_and_wait()
}

fn main() {}

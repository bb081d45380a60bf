//! A transfer that nobody waits for owns its host memory: a borrow would end while it is under way.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result};

fn upload(transfers: &TransferQueue, buffer: &Buffer, values: &[f32]) -> Result<()> {
    let mut batch = transfers.batch()?;
    batch.copy(values, buffer.at(0))?;
    batch.commit()?.wait()
}

fn main() {}

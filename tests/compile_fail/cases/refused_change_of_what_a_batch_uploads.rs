//! A batch reads what it borrows when it is run.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result};

fn upload(transfers: &TransferQueue, buffer: &Buffer) -> Result<()> {
    let mut values = vec![1.0f32; 4];
    let mut batch = transfers.batch()?;
    batch.copy(&values, buffer.at(0))?;
    values[0] = 2.0;
    batch.run()
}

fn main() {}

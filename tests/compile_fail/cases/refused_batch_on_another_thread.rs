//! A batch stays on the thread that made it, as a command buffer does.

use std::thread;

use metal_bridge::memory::TransferQueue;
use metal_bridge::Result;

fn elsewhere(transfers: &TransferQueue) -> Result<()> {
    let batch = transfers.batch()?;
    thread::spawn(move || batch.run());
    Ok(())
}

fn main() {}

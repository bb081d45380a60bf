//! A transfer that nobody waits for owns its values: the borrow of a local would end while it is under way.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result, Submission};

fn upload(transfers: &TransferQueue, buffer: &Buffer) -> Result<Submission> {
    let values = vec![1.0f32; 4];
    transfers.copy(&values, buffer.at(0)).commit()
}

fn main() {}

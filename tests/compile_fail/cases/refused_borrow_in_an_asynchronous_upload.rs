//! An asynchronous upload owns its values: the borrow of a local would end while it is under way.

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result, Submission};

fn upload(transfers: &TransferQueue, buffer: &Buffer) -> Result<Submission> {
    let values = vec![1.0f32; 4];
    transfers.upload_async(&values[..], buffer, 0)
}

fn main() {}

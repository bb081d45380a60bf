//! An owner of host memory lives as long as the transfer: it cannot be a borrow of a local.

use metal_bridge::memory::{Owned, TransferQueue};
use metal_bridge::{Buffer, Result, Submission};

fn upload(transfers: &TransferQueue, buffer: &Buffer) -> Result<Submission> {
    let values = vec![1.0f32; 4];
    transfers.copy(Owned::new(&values[..]), buffer.at(0)).commit()
}

fn main() {}

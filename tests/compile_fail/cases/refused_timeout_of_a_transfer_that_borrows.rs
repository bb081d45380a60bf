//! A wait that is given up leaves the transfer running: what it writes is not borrowed.

use std::time::Duration;

use metal_bridge::memory::TransferQueue;
use metal_bridge::{Buffer, Result};

fn download(transfers: &TransferQueue, buffer: &Buffer, values: &mut [f32]) -> Result<()> {
    let second = Duration::from_secs(1);
    transfers.copy(buffer.at(0), values).run_timeout(second)
}

fn main() {}

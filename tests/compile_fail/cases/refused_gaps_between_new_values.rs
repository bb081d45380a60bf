//! Nothing would write the gaps between rows, and new values are not initialised.

use metal_bridge::memory::{Rectangle, Rows, TransferQueue, Values};
use metal_bridge::{Buffer, Result};

fn download(transfers: &TransferQueue, buffer: &Buffer, rectangle: Rectangle) -> Result<Vec<u8>> {
    let values = Rows::new(Values::<u8>::new(100), 10);
    transfers.copy(buffer.rows(rectangle), values).run()
}

fn main() {}

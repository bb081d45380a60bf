//! An owner of host memory is dropped on a thread of Metal's, so it has to be one that may be sent.

use std::rc::Rc;

use metal_bridge::memory::{Owned, TransferQueue};
use metal_bridge::{Buffer, Result, Submission};

fn upload(transfers: &TransferQueue, buffer: &Buffer, values: Rc<[f32]>) -> Result<Submission> {
    transfers.copy(Owned::new(values), buffer.at(0)).commit()
}

fn main() {}

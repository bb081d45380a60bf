//! A host function owns all that it touches: it may be called when its maker is gone.

use metal_bridge::{CommandQueue, Result};

fn count(queue: &CommandQueue) -> Result<()> {
    let mut calls = 0;
    queue.call_host_function(|| calls += 1)?.wait()
}

fn main() {}

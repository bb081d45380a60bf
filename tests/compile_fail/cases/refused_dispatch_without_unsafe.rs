//! Launching a kernel is a promise about what the kernel does.

use metal_bridge::{ComputeEncoder, Result};

fn launch(mut encoder: ComputeEncoder<'_>) -> Result<()> {
    encoder.dispatch_threads(1, 1)
}

fn main() {}

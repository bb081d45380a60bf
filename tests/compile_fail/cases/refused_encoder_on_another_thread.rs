//! An encoder stays on its thread.

use metal_bridge::ComputeEncoder;

fn encode(encoder: ComputeEncoder<'static>) {
    std::thread::spawn(move || drop(encoder));
}

fn main() {}

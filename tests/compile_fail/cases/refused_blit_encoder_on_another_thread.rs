//! An encoder of copies stays on its thread.

use metal_bridge::BlitEncoder;

fn encode(encoder: BlitEncoder<'static>) {
    std::thread::spawn(move || drop(encoder));
}

fn main() {}

//! Threads do not share an encoder.

use metal_bridge::ComputeEncoder;

fn shared<T: Sync>() {}

fn main() {
    shared::<ComputeEncoder<'static>>();
}

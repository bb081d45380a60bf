//! Threads do not share an encoder of copies.

use metal_bridge::BlitEncoder;

fn shared<T: Sync>() {}

fn main() {
    shared::<BlitEncoder<'static>>();
}

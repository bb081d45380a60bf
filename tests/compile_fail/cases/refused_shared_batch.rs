//! Threads do not share a batch.

use metal_bridge::memory::Batch;

fn shared<T: Sync>() {}

fn main() {
    shared::<Batch<'static>>();
}

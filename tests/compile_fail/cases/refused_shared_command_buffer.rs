//! Threads do not share a command buffer.

use metal_bridge::CommandBuffer;

fn shared<T: Sync>() {}

fn main() {
    shared::<CommandBuffer>();
}

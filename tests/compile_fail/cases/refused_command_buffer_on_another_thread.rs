//! A command buffer that is recording stays on its thread.

use metal_bridge::CommandBuffer;

fn encode(commands: CommandBuffer) {
    std::thread::spawn(move || drop(commands));
}

fn main() {}

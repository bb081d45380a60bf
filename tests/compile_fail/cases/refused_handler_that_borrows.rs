//! A completion handler owns all that it touches: it may run when its maker is gone.

use metal_bridge::{CommandBuffer, Result};

fn count(mut commands: CommandBuffer) -> Result<()> {
    let mut calls = 0;
    commands.add_completed_handler(|_| calls += 1);
    commands.commit()?.wait()
}

fn main() {}

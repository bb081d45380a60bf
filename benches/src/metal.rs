//! The device, and what operations need of it.

use std::time::{Duration, Instant};

use metal_bridge::ops::Ops;
use metal_bridge::{
    Buffer, CommandQueue, ComputeEncoder, Device, DispatchType, Result, StorageMode,
};

pub struct Metal {
    pub device: Device,
    pub queue: CommandQueue,
    pub ops: Ops,
}

impl Metal {
    pub fn new() -> Result<Metal> {
        let device = Device::system_default()?;
        Ok(Metal {
            queue: device.new_command_queue()?,
            ops: Ops::new(&device)?,
            device,
        })
    }

    pub fn buffer<T: bytemuck::Pod>(&self, values: &[T]) -> Result<Buffer> {
        self.device
            .new_buffer_with_data(values, StorageMode::Shared)
    }

    /// Encodes one command buffer; the time from its commit to its end.
    pub fn run(
        &self,
        encode: impl FnOnce(&mut ComputeEncoder<'_>) -> Result<()>,
    ) -> Result<Duration> {
        let mut commands = self.queue.command_buffer()?;
        let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
        encode(&mut encoder)?;
        encoder.end_encoding()?;
        let start = Instant::now();
        commands.commit()?.wait()?;
        Ok(start.elapsed())
    }
}

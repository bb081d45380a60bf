//! What a rank has: the world, a device, a queue.

use std::time::{Duration, Instant};

use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge::{Buffer, CommandQueue, Device, StorageMode};
use metal_bridge_distributed::{Communicator, Elements, Error};

/// How long operations of tests wait for a rank that does not come.
pub const SHORT: Duration = Duration::from_millis(1500);
/// Nothing takes so long unless it hangs.
pub const LONG: Duration = Duration::from_secs(120);

pub struct Ranks {
    pub world: Communicator,
    pub device: Device,
    pub queue: CommandQueue,
    rank: usize,
}

impl Ranks {
    pub fn join() -> Ranks {
        let world = Communicator::world().expect("a world");
        world.set_timeout(Some(LONG));
        let device = Device::system_default().expect("a device");
        let queue = device.new_command_queue().expect("a queue");
        let rank = world.rank();
        Ranks {
            world,
            device,
            queue,
            rank,
        }
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn size(&self) -> usize {
        self.world.size()
    }

    pub fn buffer(&self, values: &[f32]) -> Buffer {
        self.device
            .new_buffer_with_data(values, StorageMode::Shared)
            .expect("a buffer")
    }

    /// A buffer in which every element is the rank, plus one.
    pub fn own_buffer(&self, count: usize) -> Buffer {
        self.buffer(&vec![self.rank as f32 + 1.0; count])
    }

    /// The sum of all ranks' own elements.
    pub fn sum(&self) -> f32 {
        (1..=self.size()).sum::<usize>() as f32
    }

    /// Sums `buffer`, which has F32.
    pub fn add_up(&self, buffer: &Buffer) -> Result<(), Error> {
        let all = floats(buffer);
        self.world
            .all_reduce(&self.queue, &all, Combine::Sum)?
            .wait()
    }

    /// All ranks can still add up.
    pub fn check_usable(&self) {
        let buffer = self.own_buffer(10_000);
        self.add_up(&buffer).expect("a sum after all that");
        assert!(
            buffer
                .wait_read::<f32>()
                .unwrap()
                .iter()
                .all(|sum| *sum == self.sum())
        );
    }

    /// Buffers and the queue are usable, whatever has happened between the ranks.
    pub fn check_device(&self, buffer: &Buffer) {
        let mut commands = self.queue.command_buffer().unwrap();
        let mut blit = commands.blit_command_encoder().unwrap();
        blit.fill(buffer, 0..buffer.len(), 7).unwrap();
        blit.end_encoding().unwrap();
        commands.commit().unwrap().wait_timeout(LONG).unwrap();
    }

    pub fn passed(&self) {
        println!("rank {} {}", self.rank, crate::launch::PASSED);
    }
}

/// All of a buffer of F32.
pub fn floats(buffer: &Buffer) -> Elements<'_> {
    Elements::new(buffer, 0..buffer.len() / 4, DataType::F32)
}

/// The error of something that must not take long.
pub fn failed<T: std::fmt::Debug>(run: impl FnOnce() -> Result<T, Error>) -> Error {
    let start = Instant::now();
    let error = run().expect_err("an error");
    assert!(
        start.elapsed() < LONG / 2,
        "{error} after {:?}",
        start.elapsed()
    );
    error
}

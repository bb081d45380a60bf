fn main() {
    use metal_bridge::devices::Combine;
    use metal_bridge::ops::DataType;
    use metal_bridge::{Device, StorageMode};
    use metal_bridge_distributed::{Communicator, Elements};
    let world = Communicator::world().unwrap();
    let device = Device::system_default().unwrap();
    let queue = device.new_command_queue().unwrap();
    for count in [1usize, 1000, 4096, 100_000, 1_000_003] {
        let values: Vec<f32> = (0..count)
            .map(|i| (i % 13) as f32 + world.rank() as f32)
            .collect();
        let buffer = device
            .new_buffer_with_data(&values, StorageMode::Shared)
            .unwrap();
        let started = std::time::Instant::now();
        world
            .all_reduce(
                &queue,
                &Elements::new(&buffer, 0..count, DataType::F32),
                Combine::Sum,
            )
            .unwrap()
            .wait()
            .unwrap();
        eprintln!("{} {count} {:?}", world.rank(), started.elapsed());
        let size = world.size();
        let read = buffer.wait_read::<f32>().unwrap();
        for (i, v) in read.iter().enumerate() {
            assert_eq!(*v, (size * (i % 13) + size * (size - 1) / 2) as f32);
        }
    }
    drop(world);
    eprintln!("done");
}

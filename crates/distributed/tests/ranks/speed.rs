//! Times of sums, through a queue and by MPI alone.

use std::time::{Duration, Instant};

use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge_distributed::Elements;
use mpi::collective::SystemOperation;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _};

use crate::ranks::{LONG, Ranks};

const BYTES: [usize; 6] = [4, 4 << 10, 32 << 10, 256 << 10, 1 << 20, 16 << 20];

fn repeats(bytes: usize) -> usize {
    ((64 << 20) / bytes.max(1)).clamp(10, 400)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

pub fn latency(ranks: &Ranks) {
    for bytes in BYTES {
        let buffer = ranks.own_buffer(bytes / 4);
        let all = Elements::new(&buffer, 0..bytes / 4, DataType::F32);
        let mut times = Vec::new();
        for _ in 0..repeats(bytes) {
            let start = Instant::now();
            ranks
                .world
                .all_reduce(&ranks.queue, &all, Combine::Max)
                .unwrap()
                .wait_timeout(LONG)
                .unwrap();
            times.push(start.elapsed());
        }
        let alone = median(times);
        // Within one command buffer.
        let count = repeats(bytes).min(100);
        let mut times = Vec::new();
        for _ in 0..5 {
            let mut commands = ranks.queue.command_buffer().unwrap();
            let mut exchanges = Vec::new();
            for _ in 0..count {
                let exchange = ranks
                    .world
                    .encode_all_reduce(&mut commands, &all, Combine::Max, 1)
                    .unwrap();
                exchange.encode_wait(&mut commands, 0).unwrap();
                exchanges.push(exchange);
            }
            let start = Instant::now();
            let work = commands.commit().unwrap();
            exchanges
                .iter()
                .for_each(|exchange| exchange.wait_timeout(LONG).unwrap());
            work.wait().unwrap();
            times.push(start.elapsed() / count as u32);
        }
        let within = median(times);
        let start = Instant::now();
        (0..100).for_each(|_| {
            _ = ranks
                .queue
                .command_buffer()
                .unwrap()
                .commit()
                .unwrap()
                .wait()
        });
        let empty = start.elapsed() / 100;
        if ranks.rank() == 0 {
            println!(
                "{bytes:>9} bytes: {alone:>10.1?} by a queue, {within:>10.1?} within a command buffer; an empty command buffer {empty:.1?}"
            );
        }
    }
}

/// `MPI_Allreduce` of the same, without this crate.
pub fn plain() {
    let universe = mpi::initialize().expect("MPI");
    let world = universe.world();
    for bytes in BYTES {
        let (values, mut results) = (vec![1f32; bytes / 4], vec![0f32; bytes / 4]);
        let mut times = Vec::new();
        for _ in 0..repeats(bytes) {
            let start = Instant::now();
            world.all_reduce_into(&values[..], &mut results[..], SystemOperation::max());
            times.push(start.elapsed());
        }
        if world.rank() == 0 {
            println!(
                "{bytes:>9} bytes: {:>10.1?} by MPI_Allreduce",
                median(times)
            );
        }
    }
    println!("rank {} {}", world.rank(), crate::launch::PASSED);
}

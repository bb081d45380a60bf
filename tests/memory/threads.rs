//! Many threads on one device, with one memory.

use std::thread;
use std::time::Instant;

use crate::*;

const THREADS: u32 = 64;
/// Longer runs are `metal-bridge stress`.
const TIME: Duration = Duration::from_secs(2);

#[test]
fn sixty_four_threads_share_a_memory() {
    let (memory, shared_queue) = (memory(), queue());
    let start = Instant::now();
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (memory, shared_queue) = (&memory, &shared_queue);
            scope.spawn(move || {
                // Half of the threads have a queue of their own.
                let own = (number % 2 == 0).then(queue);
                let transfers = memory
                    .transfer_queue(own.as_ref().unwrap_or(shared_queue))
                    .unwrap();
                let mut round = 0;
                while round < 2 || start.elapsed() < TIME {
                    one_round(&transfers, number * 1000 + round);
                    round += 1;
                }
            });
        }
    });
}

/// Buffers of its own, through each other and back.
fn one_round(transfers: &TransferQueue, seed: u32) {
    let length = 1 + seed as usize * 7919 % 50_000;
    let values = pattern(length, seed);
    let [a, b] = [0, 1].map(|next| buffer(length + 5, MODES[(seed as usize + next) % 3]));
    transfers.upload_async(values.clone(), &a, 3).unwrap();
    transfers.copy_async(&a, 3, &b, 1, length).unwrap();
    let first = transfers.download_async::<u8>(&b, 1, length).unwrap();
    transfers.fill_async(&a, 0..length, 0u8).unwrap();
    transfers.copy(&b, 1, &a, 5, length).unwrap();
    let mut second = vec![0; length];
    transfers.download(&a, 5, &mut second).unwrap();
    assert!(first.wait().unwrap() == values);
    assert!(second == values);
}

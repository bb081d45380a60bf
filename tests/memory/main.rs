//! Memory: transfers against a model, their order, what is pooled, and everything that is to be refused.
#![cfg(metal_backend)]

mod arenas;
mod callbacks;
mod collective_failures;
mod collective_programs;
mod collectives;
mod downloads;
mod ends;
mod expected;
mod failures;
mod host_functions;
mod leaks;
mod model;
mod order;
mod peer_cost;
mod pools;
mod program;
mod refusals;
mod staged;
mod stuck;
mod threads;
mod timeouts;
mod topology;

use std::time::{Duration, Instant};

use metal_bridge::memory::{Memory, Owned, Rectangle, Rows, Staged, TransferQueue, Values};
use metal_bridge::{Buffer, CommandQueue, Device, Error, SharedEvent, StorageMode};
use metal_bridge_test_support::{
    LONG, MODES, SHORT, assert_error, complete_nothing, device, other_device, queue, wait_for,
};

/// So many random programs, or as many as `PROPTEST_CASES` says.
fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

fn memory() -> Memory {
    Memory::new(device()).unwrap()
}

/// Transfers on a new queue, by way of a new memory.
fn transfers() -> TransferQueue {
    memory().transfer_queue(&queue()).unwrap()
}

fn buffer(length: usize, mode: StorageMode) -> Buffer {
    device().new_buffer(length, mode).unwrap()
}

/// The whole buffer, whatever its mode.
fn contents(transfers: &TransferQueue, buffer: &Buffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.len()];
    transfers.copy(buffer.at(0), &mut bytes).run().unwrap();
    bytes
}

/// Keeps the queue's later work from running until the event has reached 1.
fn hold(queue: &CommandQueue) -> SharedEvent {
    let gate = queue.device().new_shared_event().unwrap();
    let mut commands = queue.command_buffer().unwrap();
    commands.encode_wait_for_event(&gate, 1).unwrap();
    commands.commit().unwrap();
    gate
}

/// Bytes that differ from byte to byte and from seed to seed.
fn pattern(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// What `allocate` gives is not what a fill that is still to come writes to, although the buffer of the fill is dropped.
/// Gives the second of the two, and the transfers, which are done.
#[track_caller]
fn no_reuse_before_the_gpu_is_done(
    memory: &Memory,
    allocate: impl Fn() -> Buffer,
    misses: impl Fn() -> u64,
) -> (TransferQueue, Buffer) {
    let transfers = memory.transfer_queue(&queue()).unwrap();
    let gate = hold(transfers.command_queue());
    let first = allocate();
    transfers.fill(first.range(..), 1u8).commit().unwrap();
    drop(first);
    let second = allocate();
    assert_eq!(misses(), 2);
    second.wait_write::<u8>().unwrap().fill(2);
    gate.set_signaled_value(1).unwrap();
    transfers.batch().unwrap().run().unwrap();
    let bytes = second.wait_read::<u8>().unwrap();
    assert!(bytes.iter().all(|byte| *byte == 2));
    drop(bytes);
    (transfers, second)
}

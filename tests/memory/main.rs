//! Memory: transfers against a model, their order, what is pooled, and everything that is to be refused.
#![cfg(metal_backend)]

mod arenas;
mod callbacks;
mod downloads;
mod expected;
mod faults;
mod host_functions;
mod leaks;
mod model;
mod order;
mod pools;
mod program;
mod refusals;
mod stuck;
mod threads;

use std::time::{Duration, Instant};

use metal_bridge::memory::{Memory, TransferQueue};
use metal_bridge::{Buffer, CommandQueue, Device, Error, SharedEvent, StorageMode};
use metal_bridge_test_support::{device, other_device};

/// Long enough for anything that happens at all, on a machine that is busy.
const LONG: Duration = Duration::from_secs(60);
/// Long enough to see that something does not happen.
const SHORT: Duration = Duration::from_millis(30);

const MODES: [StorageMode; 3] = [
    StorageMode::Shared,
    StorageMode::Managed,
    StorageMode::Private,
];

/// So many random programs, or as many as `PROPTEST_CASES` says.
fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

fn queue() -> CommandQueue {
    device().new_command_queue().unwrap()
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
    transfers.download_and_wait(buffer, 0, &mut bytes).unwrap();
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

/// Bytes that differ from place to place and from seed to seed.
fn pattern(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Asserts the variant of an error and that its text says what was wrong.
#[track_caller]
fn assert_error<T>(result: Result<T, Error>, is: fn(&Error) -> bool, says: &str) {
    match result {
        Ok(_) => panic!("no error where {says:?} was wrong"),
        Err(error) => {
            assert!(is(&error), "another error than expected: {error:?}");
            assert!(
                error.to_string().contains(says),
                "{error} does not say {says:?}"
            );
        }
    }
}

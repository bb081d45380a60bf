//! Transfers from many threads at once, with one memory.

use std::thread;
use std::time::{Duration, Instant};

use super::settle;
use crate::buffer::StorageMode;
use crate::device::Device;
use crate::error::{Error, Failure, Result};
use crate::memory::{Memory, Statistics, TransferQueue};
use crate::statistics::LiveObjects;

/// What a run of transfers came to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TransferReport {
    /// Rounds of all threads together.
    pub rounds: u64,
    /// Of the memory that all threads shared.
    pub statistics: Statistics,
    /// What was not as it should be, in words: bytes or objects. Empty for a good run.
    pub faults: Vec<String>,
}

const MODES: [StorageMode; 3] = [
    StorageMode::Shared,
    StorageMode::Managed,
    StorageMode::Private,
];

/// Lets `threads` threads move bytes through buffers of a pool until `duration` is over (a round each at least): half of
/// them on queues of their own, the others on one that they share.
///
/// # Errors
///
/// Whatever a transfer fails with. Wrong bytes and objects that are left are no errors but [`TransferReport::faults`].
pub fn transfers(device: &Device, threads: usize, duration: Duration) -> Result<TransferReport> {
    let before = Device::live_objects();
    let end = Instant::now() + duration;
    let (mut rounds, mut faults) = (0, Vec::new());
    let statistics = {
        let memory = Memory::new(device)?;
        let shared = memory.new_transfer_queue()?;
        let work = |number: usize| -> Result<(u64, usize)> {
            let own = match number % 2 {
                0 => memory.new_transfer_queue()?,
                _ => shared.clone(),
            };
            let (mut rounds, mut wrong) = (0, 0);
            while rounds == 0 || Instant::now() < end {
                let seed = number * 1_000_003 + rounds as usize;
                wrong += usize::from(!round(&own, seed)?);
                rounds += 1;
            }
            Ok((rounds, wrong))
        };
        let work = &work;
        let ended: Vec<Result<(u64, usize)>> = thread::scope(|scope| {
            let started: Vec<_> = (0..threads)
                .map(|number| scope.spawn(move || work(number)))
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| Err(panicked()))
            };
            started.into_iter().map(join).collect()
        });
        for (number, result) in ended.into_iter().enumerate() {
            let (count, wrong) = result?;
            rounds += count;
            if wrong > 0 {
                faults.push(format!(
                    "thread {number}: {wrong} of {count} rounds read other bytes than were written"
                ));
            }
        }
        memory.statistics()
    };
    faults.extend(left_behind(&before));
    Ok(TransferReport {
        rounds,
        statistics,
        faults,
    })
}

fn panicked() -> Error {
    let why = "a thread of transfers panicked";
    Error::Internal(Failure::new("stress::transfers", why))
}

fn left_behind(before: &LiveObjects) -> Option<String> {
    settle();
    let after = Device::live_objects();
    let grown = !after.same_live(before);
    grown.then(|| format!("live objects went from {before} to {after}"))
}

/// Bytes through two buffers and back, by every form of transfer; whether they came back as they went.
fn round(transfers: &TransferQueue, seed: usize) -> Result<bool> {
    let length = 1 + seed.wrapping_mul(7919) % 50_000;
    let values: Vec<u8> = (0..length)
        .map(|i| (i.wrapping_mul(seed | 1) >> 3) as u8)
        .collect();
    let memory = transfers.memory();
    let first = memory.allocate(length + 5, MODES[seed % 3])?;
    let second = memory.allocate(length + 5, MODES[(seed + 1) % 3])?;
    transfers.upload_async(values.clone(), &first, 3)?;
    transfers.copy_async(&first, 3, &second, 1, length)?;
    let early = transfers.download_async::<u8>(&second, 1, length)?;
    transfers.fill_async(&first, 0..length, 0u8)?;
    transfers.upload_staged(&values[..1], &second, 0)?;
    transfers.copy(&second, 1, &first, 5, length)?;
    let mut late = vec![0; length];
    transfers.download(&first, 5, &mut late)?;
    Ok(early.wait()? == values && late == values)
}

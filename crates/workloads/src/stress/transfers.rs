//! Transfers from many threads at once, through one device memory.

use std::time::{Duration, Instant};

use metal_bridge::memory::{ArenaOptions, Memory, Statistics};
use metal_bridge::{Device, LiveObjects};

use super::error::Result;
use super::threads::on_threads;
use super::waits::settled;
use super::{heap, rounds};

/// The result of a run of transfers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TransferReport {
    /// Rounds of all threads together.
    pub rounds: u64,
    /// Statistics of the memory that all threads shared.
    pub statistics: Statistics,
    /// What was not as it should be, in words: bytes, objects or memory. Empty for a good run.
    pub failures: Vec<String>,
}

/// Lets `threads` threads move bytes through buffers of a pool and of an arena, by every form of transfer, until `duration`
/// is over (a round of each form at least): half of them on queues of their own, the others on one that they share.
///
/// # Errors
///
/// Whatever a transfer fails with. Wrong bytes, objects that are left and growing memory are not errors: they are in
/// [`TransferReport::failures`].
pub fn transfers(device: &Device, threads: usize, duration: Duration) -> Result<TransferReport> {
    let (before, heap_before) = (Device::live_objects(), heap::live_bytes());
    let start = Instant::now();
    let (mut rounds, mut failures) = (0, Vec::new());
    let statistics = {
        let memory = Memory::new(device)?;
        let shared = memory.new_transfer_queue()?;
        let arena = memory.new_arena(&ArenaOptions::new())?;
        let work = |number: usize| -> Result<(u64, usize)> {
            let own = match number % 2 {
                0 => memory.new_transfer_queue()?,
                _ => shared.clone(),
            };
            let (mut rounds, mut wrong) = (0, 0);
            while rounds < rounds::FORMS || start.elapsed() < duration {
                let seed = number * 1_000_003 + rounds as usize;
                wrong += usize::from(!rounds::run(&own, &arena, seed)?);
                rounds += 1;
            }
            Ok((rounds, wrong))
        };
        let ended = on_threads(threads, work);
        for (number, result) in ended.into_iter().enumerate() {
            let (count, wrong) = result?;
            rounds += count;
            if wrong > 0 {
                failures.push(format!(
                    "thread {number}: {wrong} of {count} rounds read other bytes than were written"
                ));
            }
        }
        memory.statistics()
    };
    failures.extend(left_behind(&before));
    failures.extend(heap::growth(heap_before));
    Ok(TransferReport {
        rounds,
        statistics,
        failures,
    })
}

fn left_behind(before: &LiveObjects) -> Option<String> {
    let after = settled(Device::live_objects, |now| now.same_live(before));
    let grown = !after.same_live(before);
    grown.then(|| format!("live objects went from {before} to {after}"))
}

//! Measuring every pair of devices by real transfers.

use std::time::{Duration, Instant};

use super::measurements::{Measurements, PairFigures};
use super::options::MeasureOptions;
use crate::error::Result;
use crate::memory::{Memory, TransferQueue};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::device::Device;

/// Bytes of a copy whose time is all latency.
const FEW: usize = 16;

/// `are_peers` says it of two of the devices.
pub(super) fn measure(
    devices: &[Device],
    are_peers: impl Fn(usize, usize) -> Result<bool>,
    options: &MeasureOptions,
) -> Result<Measurements> {
    options.check()?;
    let transfers = |device| Memory::new(device)?.new_transfer_queue();
    let queues: Vec<TransferQueue> = devices.iter().map(transfers).collect::<Result<_>>()?;
    if !options.peer_access {
        for (to, queue) in queues.iter().enumerate() {
            for (from, device) in devices.iter().enumerate() {
                if are_peers(from, to)? {
                    queue.memory().disable_peer_access(device)?;
                }
            }
        }
    }
    let mut figures = Vec::with_capacity(queues.len());
    for from in &queues {
        let source = new_buffer(from, options)?;
        let row = queues.iter().map(|to| measure_pair(&source, to, options));
        figures.push(row.collect::<Result<_>>()?);
    }
    Measurements::new(figures)
}

/// A private buffer, since remote views show no others. Its pages exist: a first write would otherwise be measured too.
fn new_buffer(queue: &TransferQueue, options: &MeasureOptions) -> Result<Buffer> {
    let length = options.bytes.max(FEW);
    let buffer = queue.memory().allocate(length, StorageMode::Private)?;
    let fill = queue.fill(buffer.range(..), 0u8);
    fill.run_timeout(options.timeout)?;
    Ok(buffer)
}

/// Copies in the order of the destination's queue: the destination's device reads the source.
fn measure_pair(
    source: &Buffer,
    to: &TransferQueue,
    options: &MeasureOptions,
) -> Result<PairFigures> {
    let destination = new_buffer(to, options)?;
    let median = |bytes: usize| -> Result<Duration> {
        let copy = || -> Result<Duration> {
            let start = Instant::now();
            let copy = to.copy(source.range(..bytes), destination.at(0));
            copy.run_timeout(options.timeout)?;
            Ok(start.elapsed())
        };
        for _ in 0..options.warm_ups {
            copy()?;
        }
        let times: Result<Vec<Duration>> = (0..options.repeats).map(|_| copy()).collect();
        Ok(median_of(times?))
    };
    let latency = median(FEW)?;
    // No clock is finer than a nanosecond, so that the bandwidth is finite.
    let time = median(options.bytes)?.max(Duration::from_nanos(1));
    Ok(PairFigures {
        bandwidth: options.bytes as f64 / time.as_secs_f64(),
        latency,
    })
}

/// The middle one; of two in the middle, the shorter.
fn median_of(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let median = |times: &[u64]| {
            let times = times.iter().copied().map(Duration::from_secs).collect();
            median_of(times).as_secs()
        };
        assert_eq!(median(&[7]), 7);
        assert_eq!(median(&[9, 1]), 1);
        assert_eq!(median(&[5, 1, 100]), 5);
        assert_eq!(median(&[4, 3, 2, 1]), 2);
    }
}

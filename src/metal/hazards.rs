//! [`Hazards`]: which ranges of which buffers the dispatches since the last barrier read and write, and so whether the next
//! dispatch of a concurrent encoder needs one.

use std::ops::Range;
use std::sync::Arc;

use super::access::Access;
use super::buffer::Buffer;

/// A range of a buffer that a dispatch reads or writes.
#[derive(Debug, Clone)]
pub(crate) struct Reach<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) bytes: Range<usize>,
    pub(crate) access: Access,
}

/// What the dispatches since the last barrier reach, and how many barriers there were.
#[derive(Debug, Default)]
pub(crate) struct Hazards {
    reads: Ranges,
    writes: Ranges,
    /// Whether a dispatch since the last barrier may have reached anything.
    is_unknown: bool,
    barriers: u64,
}

impl Hazards {
    /// Whether a barrier has to come before a dispatch: if it reads what another one since the last barrier writes, or writes
    /// what that reads or writes.
    pub(crate) fn is_met_by<'a>(&self, mut reaches: impl Iterator<Item = Reach<'a>>) -> bool {
        self.is_unknown
            || reaches.any(|reach| {
                let buffer = identity(reach.buffer);
                self.writes.meets(buffer, &reach.bytes)
                    || (reach.access == Access::Write && self.reads.meets(buffer, &reach.bytes))
            })
    }

    /// Whether a barrier has to come before a dispatch that may reach anything.
    pub(crate) fn is_met_by_unknown(&self) -> bool {
        self.is_unknown || !self.reads.0.is_empty() || !self.writes.0.is_empty()
    }

    /// Notes a dispatch that reaches no more than this.
    pub(crate) fn add<'a>(&mut self, reaches: impl Iterator<Item = Reach<'a>>) {
        for reach in reaches {
            let ranges = match reach.access {
                Access::Read => &mut self.reads,
                Access::Write => &mut self.writes,
            };
            ranges.add(identity(reach.buffer), reach.bytes);
        }
    }

    /// Notes a dispatch that may reach anything.
    pub(crate) fn add_unknown(&mut self) {
        self.is_unknown = true;
    }

    /// Notes a barrier between all dispatches so far and all that follow.
    pub(crate) fn barrier(&mut self) {
        self.barriers += 1;
        self.forget();
    }

    /// Notes that what follows comes after all dispatches so far even without a barrier.
    pub(crate) fn forget(&mut self) {
        self.reads.0.clear();
        self.writes.0.clear();
        self.is_unknown = false;
    }

    /// Barriers so far.
    pub(crate) fn barriers(&self) -> u64 {
        self.barriers
    }
}

/// The command buffer keeps its buffers alive, so that no other one gets the same number meanwhile.
fn identity(buffer: &Buffer) -> usize {
    Arc::as_ptr(buffer.inner()) as usize
}

/// Ranges of bytes in buffers: in order, and no two of a buffer touch each other.
#[derive(Debug, Default)]
struct Ranges(Vec<(usize, Range<usize>)>);

impl Ranges {
    /// The index of the first range that is neither in a buffer before this one nor ends before `start`.
    fn first_from(&self, buffer: usize, start: usize) -> usize {
        self.0
            .partition_point(|(other, range)| (*other, range.end) < (buffer, start))
    }

    fn meets(&self, buffer: usize, bytes: &Range<usize>) -> bool {
        // One that ends where `bytes` begins has nothing in common with it.
        let first = self.first_from(buffer, bytes.start.saturating_add(1));
        !bytes.is_empty()
            && (self.0.get(first))
                .is_some_and(|(other, range)| *other == buffer && range.start < bytes.end)
    }

    fn add(&mut self, buffer: usize, mut bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let first = self.first_from(buffer, bytes.start);
        let touching = self.0[first..]
            .iter()
            .take_while(|(other, range)| *other == buffer && range.start <= bytes.end)
            .count();
        if touching > 0 {
            bytes.start = bytes.start.min(self.0[first].1.start);
            bytes.end = bytes.end.max(self.0[first + touching - 1].1.end);
        }
        self.0.splice(first..first + touching, [(buffer, bytes)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte of two small buffers, one by one.
    #[test]
    fn ranges_are_the_union_of_what_was_added() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        for _ in 0..300 {
            let (mut ranges, mut model) = (Ranges::default(), [[false; 24]; 2]);
            for _ in 0..random(12) {
                let (buffer, start) = (random(2), random(24));
                let bytes = start..start + random(24 - start as u64);
                model[buffer][bytes.clone()].fill(true);
                ranges.add(buffer, bytes);
                for (index, (buffer, range)) in ranges.0.iter().enumerate() {
                    assert!(!range.is_empty());
                    if let Some((other, before)) =
                        index.checked_sub(1).map(|index| &ranges.0[index])
                    {
                        assert!(other < buffer || (other == buffer && before.end < range.start));
                    }
                }
            }
            for (buffer, model) in model.iter().enumerate() {
                for start in 0..24 {
                    for end in start..24 {
                        let expected = model[start..end].contains(&true);
                        assert_eq!(
                            ranges.meets(buffer, &(start..end)),
                            expected,
                            "{ranges:?} {buffer} {start}..{end}"
                        );
                    }
                }
            }
        }
    }
}

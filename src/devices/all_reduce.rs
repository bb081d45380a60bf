//! [`Communicator::all_reduce`]: all devices get the sum of all.

use std::ops::Range;

use super::collective::Collective;
use super::communicator::{Communicator, Member, check_distinct, check_lengths};
use super::exchanges::ring;
use super::steps::{Combination, Pull, Step};
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::{Buffer, StorageMode};
use crate::ops::{Binary, DataType};

/// How [`Communicator::all_reduce`] makes one element of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Combine {
    /// Their sum; integers wrap.
    Sum,
    /// The smaller one; NaN if one of them is.
    Min,
    /// The larger one; NaN if one of them is.
    Max,
}

impl Combine {
    fn function(self) -> Binary {
        match self {
            Combine::Sum => Binary::Add,
            Combine::Min => Binary::Min,
            Combine::Max => Binary::Max,
        }
    }
}

impl Communicator {
    /// Combines the buffers of all devices, element by element, and gives every device the result in place: `buffers[rank]` is the
    /// buffer of the device `rank`, and all are equally long. There may be any number of elements.
    ///
    /// The elements are divided into as many parts as there are devices. In a ring, each part is first combined on its way from
    /// device to device, and then handed on complete: `2 (size - 1)` steps, in each of which a device copies one part from the
    /// device before it to a buffer of the queue's memory.
    ///
    /// Part `p` is combined in the order of the devices that begins with `p`: with three devices, the elements of part 1 are
    /// `(x1 + x2) + x0`, and floats of 16 bits are rounded at each `+`. So all devices hold the same bits, and get the same ones
    /// each time. A part has `count / size` elements, rounded up, and to an even number if elements have 16 bits; the last parts
    /// may have fewer or none.
    ///
    /// # Errors
    ///
    /// Those of all [collectives](Communicator#errors); [`Error::Misaligned`] if the length is not a multiple of the elements' size;
    /// [`Error::OverBudget`] and [`Error::OutOfMemory`] if there is no memory for a part; [`Error::Unsupported`] as for
    /// [`Ops::new`](crate::ops::Ops::new).
    pub fn all_reduce(
        &self,
        buffers: &[&Buffer],
        data_type: DataType,
        combine: Combine,
    ) -> Result<Collective> {
        const FUNCTION: &str = "Communicator::all_reduce";
        self.check_buffers(FUNCTION, "buffers", buffers)?;
        check_lengths(FUNCTION, buffers)?;
        check_distinct(FUNCTION, buffers)?;
        let (length, element) = (buffers[0].len(), data_type.size());
        if length % element != 0 {
            let name = data_type.name();
            let message = format!("{length} bytes are not a whole number of elements of {name}");
            return Err(Error::Misaligned(Failure::new(FUNCTION, message)));
        }
        let size = self.size();
        if size == 1 {
            return self.commit(FUNCTION, &[]);
        }
        let parts = Parts::new(length, size, element);
        let copies = self.allocate_copies(parts.range(0).len())?;
        let mut steps = Vec::new();
        for step in ring(size) {
            let pull = |(from, to, part)| {
                let range = parts.range(part);
                Pull {
                    from,
                    to,
                    source: buffers[from],
                    source_offset: range.start,
                    destination: &copies[to],
                    destination_offset: 0,
                    bytes: range.len(),
                    combination: Some(Combination {
                        function: combine.function(),
                        data_type,
                        buffer: buffers[to],
                        offset: range.start,
                    }),
                }
            };
            steps.push(step.map(pull).collect::<Step<'_>>());
        }
        for step in ring(size) {
            // Each device has completed the part that is one further than its own number.
            let pull = |(from, to, part)| {
                let range = parts.range((part + 1) % size);
                Pull {
                    from,
                    to,
                    source: buffers[from],
                    source_offset: range.start,
                    destination: buffers[to],
                    destination_offset: range.start,
                    bytes: range.len(),
                    combination: None,
                }
            };
            steps.push(step.map(pull).collect::<Step<'_>>());
        }
        self.commit(FUNCTION, &steps)
    }

    /// For each device, a buffer for a copy of a part, which the next step uses again.
    fn allocate_copies(&self, bytes: usize) -> Result<Vec<Buffer>> {
        let allocate = |(rank, member): (usize, &Member)| {
            let memory = member.transfers.memory();
            let copy = memory.allocate(bytes.max(1), StorageMode::Private);
            copy.map_err(|error| self.at(rank, error))
        };
        self.members.iter().enumerate().map(allocate).collect()
    }
}

/// Bytes in parts of whole elements and whole words, since blits between peers move words.
struct Parts {
    length: usize,
    part: usize,
}

impl Parts {
    fn new(length: usize, count: usize, element: usize) -> Parts {
        Parts {
            length,
            part: length.div_ceil(count).next_multiple_of(element.max(4)),
        }
    }

    fn range(&self, index: usize) -> Range<usize> {
        let start = index.saturating_mul(self.part).min(self.length);
        start..start.saturating_add(self.part).min(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_once() {
        for element in [1, 2, 4, 8] {
            for count in 1..9 {
                for length in (0..200).map(|elements| elements * element) {
                    let parts = Parts::new(length, count, element);
                    let mut end = 0;
                    for range in (0..count).map(|index| parts.range(index)) {
                        assert_eq!(range.start, end);
                        assert!(range.start % 4 == 0 || range.is_empty());
                        end = range.end;
                    }
                    assert_eq!(end, length, "{count} parts");
                    assert!(parts.range(0).len() >= length.div_ceil(count));
                }
            }
        }
    }
}

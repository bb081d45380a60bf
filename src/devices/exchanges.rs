//! What moves bytes: send, broadcast, scatter, gather and all-gather.

use std::ops::Range;

use super::collective::Collective;
use super::communicator::{Communicator, check_distinct, check_lengths, check_range, check_sum};
use super::steps::{Pull, Step};
use crate::error::Result;
use crate::metal::buffer::Buffer;

impl Communicator {
    /// Gives the device `to` the bytes of `range` of `source`, a buffer of the device `from`: they come to `offset` in
    /// `destination`, a buffer of the device `to`. Other devices take no part.
    ///
    /// # Errors
    ///
    /// Those of all [collectives](Communicator#errors), and [`Error::OutOfRange`](crate::Error::OutOfRange) if the bytes are not
    /// inside of both buffers.
    pub fn send(
        &self,
        from: usize,
        source: &Buffer,
        range: Range<usize>,
        to: usize,
        destination: &Buffer,
        offset: usize,
    ) -> Result<Collective> {
        const FUNCTION: &str = "Communicator::send";
        self.check_rank(FUNCTION, from)?;
        self.check_rank(FUNCTION, to)?;
        self.check_buffer(FUNCTION, "source", from, source)?;
        self.check_buffer(FUNCTION, "destination", to, destination)?;
        check_range(FUNCTION, "source", source, &range)?;
        let written = offset..offset.saturating_add(range.len());
        check_range(FUNCTION, "destination", destination, &written)?;
        let pull = Pull {
            source_offset: range.start,
            bytes: range.len(),
            ..whole(from, to, source, destination, offset)
        };
        self.commit(FUNCTION, &[vec![pull]])
    }

    /// Gives every device the bytes of the device `root`: `buffers[rank]` is the buffer of the device `rank`, and all are equally
    /// long. Devices that have the bytes hand them on, so that there are `log2(size)` steps.
    ///
    /// # Errors
    ///
    /// Those of all [collectives](Communicator#errors).
    pub fn broadcast(&self, root: usize, buffers: &[&Buffer]) -> Result<Collective> {
        const FUNCTION: &str = "Communicator::broadcast";
        self.check_rank(FUNCTION, root)?;
        self.check_buffers(FUNCTION, "buffers", buffers)?;
        check_lengths(FUNCTION, buffers)?;
        check_distinct(FUNCTION, buffers)?;
        let size = self.size();
        let mut steps: Vec<Step<'_>> = Vec::new();
        let mut have = 1;
        while have < size {
            // The distance from the root.
            let pull = |to: usize| {
                let (from, to) = ((root + to - have) % size, (root + to) % size);
                whole(from, to, buffers[from], buffers[to], 0)
            };
            steps.push((have..size.min(2 * have)).map(pull).collect());
            have *= 2;
        }
        self.commit(FUNCTION, &steps)
    }

    /// Gives each device its part of `source`, a buffer of the device `root`: the first bytes to `buffers[0]`, the next to
    /// `buffers[1]`, and so on. The parts may differ in length, and are together as long as the source.
    ///
    /// # Errors
    ///
    /// Those of all [collectives](Communicator#errors).
    pub fn scatter(&self, root: usize, source: &Buffer, buffers: &[&Buffer]) -> Result<Collective> {
        const FUNCTION: &str = "Communicator::scatter";
        self.check_rank(FUNCTION, root)?;
        self.check_buffer(FUNCTION, "source", root, source)?;
        self.check_buffers(FUNCTION, "buffers", buffers)?;
        check_sum(FUNCTION, buffers, source)?;
        check_distinct(FUNCTION, &[buffers, &[source]].concat())?;
        let pull = |(rank, offset): (usize, usize)| Pull {
            source_offset: offset,
            bytes: buffers[rank].len(),
            ..whole(root, rank, source, buffers[rank], 0)
        };
        self.commit(FUNCTION, &[offsets(buffers).map(pull).collect()])
    }

    /// The opposite of [`scatter`](Communicator::scatter): puts the buffers of all devices one behind the other into
    /// `destination`, a buffer of the device `root`, which is as long as all together.
    ///
    /// # Errors
    ///
    /// Those of all [collectives](Communicator#errors).
    pub fn gather(
        &self,
        root: usize,
        buffers: &[&Buffer],
        destination: &Buffer,
    ) -> Result<Collective> {
        const FUNCTION: &str = "Communicator::gather";
        self.check_rank(FUNCTION, root)?;
        self.check_buffers(FUNCTION, "buffers", buffers)?;
        self.check_buffer(FUNCTION, "destination", root, destination)?;
        check_sum(FUNCTION, buffers, destination)?;
        check_distinct(FUNCTION, &[buffers, &[destination]].concat())?;
        let pull =
            |(rank, offset): (usize, usize)| whole(rank, root, buffers[rank], destination, offset);
        self.commit(FUNCTION, &[offsets(buffers).map(pull).collect()])
    }

    /// Puts the buffers of all devices one behind the other into a buffer of each device: `destinations[rank]`, which is as long as
    /// all together. The parts go around a ring: in each step a device copies one from the device before it.
    ///
    /// # Errors
    ///
    /// Those of all [collectives](Communicator#errors).
    pub fn all_gather(&self, buffers: &[&Buffer], destinations: &[&Buffer]) -> Result<Collective> {
        const FUNCTION: &str = "Communicator::all_gather";
        self.check_buffers(FUNCTION, "buffers", buffers)?;
        self.check_buffers(FUNCTION, "destinations", destinations)?;
        for destination in destinations {
            check_sum(FUNCTION, buffers, destination)?;
        }
        check_distinct(FUNCTION, &[buffers, destinations].concat())?;
        let size = self.size();
        let offsets: Vec<usize> = offsets(buffers).map(|(_, offset)| offset).collect();
        let own = |rank| whole(rank, rank, buffers[rank], destinations[rank], offsets[rank]);
        let mut steps = vec![(0..size).map(own).collect()];
        steps.extend(ring(size).map(|step| -> Step<'_> {
            let pull = |(from, to, part): (usize, usize, usize)| Pull {
                source_offset: offsets[part],
                bytes: buffers[part].len(),
                ..whole(
                    from,
                    to,
                    destinations[from],
                    destinations[to],
                    offsets[part],
                )
            };
            step.map(pull).collect()
        }));
        self.commit(FUNCTION, &steps)
    }
}

/// The steps in which parts go around a ring until all devices have all: who copies, from whom, and which part. At first each device
/// has the part of its own number.
pub(super) fn ring(
    size: usize,
) -> impl Iterator<Item = impl Iterator<Item = (usize, usize, usize)>> {
    (1..size).map(move |step| {
        (0..size).map(move |to| ((to + size - 1) % size, to, (to + size - step) % size))
    })
}

/// A copy of the whole source.
fn whole<'b>(
    from: usize,
    to: usize,
    source: &'b Buffer,
    destination: &'b Buffer,
    destination_offset: usize,
) -> Pull<'b> {
    Pull {
        from,
        to,
        source,
        source_offset: 0,
        destination,
        destination_offset,
        bytes: source.len(),
        combination: None,
    }
}

/// The ranks, and where the buffer of each begins if all are put one behind the other.
fn offsets(buffers: &[&Buffer]) -> impl Iterator<Item = (usize, usize)> {
    buffers.iter().enumerate().scan(0, |end, (rank, buffer)| {
        let offset = *end;
        *end += buffer.len();
        Some((rank, offset))
    })
}

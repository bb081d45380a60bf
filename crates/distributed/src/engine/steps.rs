//! The steps in which the data of an operation moves, once all ranks are known to be in it.

use std::ptr;

use metal_bridge::devices::Combine;

use super::messages::{Messages, Pool};
use crate::elements::part_of;
use crate::error::Result;
use crate::header::{HEADER, Header, Kind};
use crate::library::{LARGEST_TAG, Library};
use crate::operation::{Operation, Region};
use crate::sums::combine;

/// Bytes of data that go along with a header. More is sent from the buffer itself, when all ranks have come.
pub(super) const INLINE: usize = 16 << 10;

/// Contexts, and operations of two ranks under way, that a tag tells apart. An operation begins when all that began this many before it
/// in its context have ended.
pub(super) const CONTEXTS: usize = 64;
pub(super) const NUMBERS: u64 = 64;

/// The tag of what every rank may get at any time.
pub(super) const NEWS: i32 = LARGEST_TAG;

/// What a message is of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    /// Headers of queues' operations have an order of their own, and those of the CPU's calls, too: neither waits for the other.
    Header { of_host: bool },
    /// Of the first step, or of the second.
    Data(u64),
}

/// The tag of the `number`th operation of two ranks.
pub(super) fn tag(context: usize, number: u64, phase: Phase) -> i32 {
    let (number, phase) = match phase {
        // MPI keeps messages of one tag in their order.
        Phase::Header { of_host } => (0, if of_host { 3 } else { 0 }),
        Phase::Data(step) => (number % NUMBERS, 1 + step),
    };
    ((context as u64 * NUMBERS + number) * 4 + phase) as i32
}

/// Another rank of an operation.
pub(super) struct Other {
    /// In the group, and in the world.
    pub(super) index: usize,
    pub(super) rank: usize,
    /// How many operations the two ranks had before.
    pub(super) number: u64,
    pub(super) header: Header,
    /// A header and the data that goes along.
    pub(super) memory: Vec<u8>,
}

impl Other {
    fn inline(&self) -> *const u8 {
        self.memory[HEADER..].as_ptr()
    }
}

/// How the data of an operation moves.
pub(super) struct Steps<'o> {
    pub(super) operation: &'o Operation,
    /// In the order of their indices.
    pub(super) others: &'o [Other],
    pub(super) library: &'o Library,
}

/// What goes along with the header of this operation, if anything does.
pub(super) fn inline(operation: &Operation) -> Option<&Region> {
    let region = match operation.header.kind {
        Kind::AllReduce | Kind::ReduceScatter | Kind::Send => operation.whole.as_ref(),
        Kind::Broadcast if is_root(operation) => operation.whole.as_ref(),
        Kind::AllGather => operation.own.as_ref(),
        _ => None,
    };
    region.filter(|region| region.length > 0 && is_inline(region.length))
}

fn is_inline(length: usize) -> bool {
    length <= INLINE
}

fn is_root(operation: &Operation) -> bool {
    operation.header.root == operation.group.members[operation.group.index]
}

impl Steps<'_> {
    fn size(&self) -> usize {
        self.operation
            .header
            .data_type
            .map_or(1, |data_type| data_type.size())
    }

    fn tag(&self, other: &Other, step: u64) -> i32 {
        let context = self.operation.group.context;
        tag(context, other.number, Phase::Data(step))
    }

    /// Begins the `step`th step, from 0 on: its messages, and memory that it fills. `None` if there is no such step.
    pub(super) fn begin(
        &self,
        step: u64,
        scratch: &mut Vec<u8>,
        pool: &mut Pool,
        messages: &mut Messages,
    ) -> Result<bool> {
        let kind = self.operation.header.kind;
        let Some(whole) = &self.operation.whole else {
            return Ok(false);
        };
        match (kind, step) {
            (Kind::AllReduce | Kind::ReduceScatter, 0) => {
                if !is_inline(whole.length) {
                    self.exchange_shares(whole, scratch, pool, messages)?;
                }
            }
            (Kind::AllReduce, 1) if !is_inline(whole.length) => {
                let own = self.share(whole, self.operation.group.index);
                for other in self.others {
                    let tag = self.tag(other, 1);
                    let share = self.share(whole, other.index);
                    messages.receive(self.library, &share, other.rank, tag)?;
                    messages.send(self.library, &own, other.rank, tag)?;
                }
            }
            (Kind::AllGather, 0) => self.gather(whole, messages)?,
            (Kind::Broadcast | Kind::Send, 0) if kind == Kind::Send || is_root(self.operation) => {
                if !is_inline(whole.length) {
                    for other in self.others {
                        messages.send(self.library, whole, other.rank, self.tag(other, 0))?;
                    }
                }
            }
            (Kind::Broadcast | Kind::Receive, 0) => {
                let root = self.operation.header.root;
                for other in self.others.iter().filter(|other| other.rank == root) {
                    self.receive(whole, other, messages)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Does what is left to do when the messages of the step have ended.
    pub(super) fn end(&self, step: u64, scratch: &[u8]) {
        let Some(whole) = &self.operation.whole else {
            return;
        };
        match (self.operation.header.kind, step) {
            (Kind::AllReduce, 0) if is_inline(whole.length) => {
                let others = |other: &Other| other.inline();
                self.combine(whole, whole, others);
            }
            (Kind::AllReduce, 0) => {
                let own = self.share(whole, self.operation.group.index);
                self.combine_scratch(&own, &own, scratch);
            }
            (Kind::ReduceScatter, 0) => {
                let Some(result) = &self.operation.own else {
                    return;
                };
                let own = self.share(whole, self.operation.group.index);
                if is_inline(whole.length) {
                    let start = own.offset - whole.offset;
                    self.combine(&own, result, |other| other.inline().wrapping_add(start));
                } else {
                    self.combine_scratch(&own, result, scratch);
                }
            }
            _ => {}
        }
    }

    /// The elements of `whole` that the rank with this index in the group combines, or contributes.
    fn share(&self, whole: &Region, index: usize) -> Region {
        let (count, size) = (self.operation.header.count, self.size());
        let range = match self.operation.header.kind {
            Kind::AllReduce => part_of(count, index, self.operation.group.size()),
            // Each rank says how much it takes or gives.
            _ => {
                let start = (0..index).map(|before| self.own_of(before)).sum();
                start..start + self.own_of(index)
            }
        };
        whole.part(range.start * size, range.len() * size)
    }

    /// What the rank with this index in the group says of its own part.
    fn own_of(&self, index: usize) -> usize {
        if index == self.operation.group.index {
            return self.operation.header.own;
        }
        let other = self.others.iter().find(|other| other.index == index);
        other.map_or(0, |other| other.header.own)
    }

    /// Sends each rank its share of this rank's elements, and gets from each rank this rank's share, one after the other.
    fn exchange_shares(
        &self,
        whole: &Region,
        scratch: &mut Vec<u8>,
        pool: &mut Pool,
        messages: &mut Messages,
    ) -> Result<()> {
        let length = self.share(whole, self.operation.group.index).length;
        *scratch = pool.take(length * self.others.len());
        let memory = scratch.as_mut_ptr();
        for (position, other) in self.others.iter().enumerate() {
            let tag = self.tag(other, 0);
            // SAFETY: each rank has a piece of its own, and the memory is kept until the messages have ended.
            unsafe {
                let piece = memory.add(position * length);
                messages.receive_to(self.library, piece, length, other.rank, tag)?;
            }
            let share = self.share(whole, other.index);
            messages.send(self.library, &share, other.rank, tag)?;
        }
        Ok(())
    }

    fn combine_scratch(&self, own: &Region, result: &Region, scratch: &[u8]) {
        let length = own.length;
        let piece = |other: &Other| {
            let position = self.others.iter().position(|o| o.index == other.index);
            scratch[position.unwrap_or(0) * length..].as_ptr()
        };
        self.combine(own, result, piece);
    }

    /// Combines this rank's elements with those of the others, in the order of the ranks.
    fn combine<'s>(
        &'s self,
        own: &Region,
        result: &Region,
        others: impl Fn(&'s Other) -> *const u8,
    ) {
        let (Some(data_type), how) = (
            self.operation.header.data_type,
            self.operation.header.combine,
        ) else {
            return;
        };
        let index = self.operation.group.index;
        let (before, after) = self.others.split_at(
            self.others
                .iter()
                .take_while(|other| other.index < index)
                .count(),
        );
        let mut ranks: Vec<*const u8> = before.iter().map(&others).collect();
        ranks.push(own.address());
        ranks.extend(after.iter().map(&others));
        let count = own.length / data_type.size();
        let how = how.unwrap_or(Combine::Sum);
        // SAFETY: the others' bytes are memory of this crate, as many as this rank's own: the headers say so. The own ones and the
        // result are in buffers on loan, with which MPI is done.
        unsafe { combine(how, data_type, &ranks, result.address(), count) };
    }

    /// Every rank's part, one after the other, to every rank.
    fn gather(&self, whole: &Region, messages: &mut Messages) -> Result<()> {
        let Some(own) = &self.operation.own else {
            return Ok(());
        };
        let share = self.share(whole, self.operation.group.index);
        copy(own.address(), &share);
        for other in self.others {
            let theirs = self.share(whole, other.index);
            self.receive(&theirs, other, messages)?;
            if !is_inline(own.length) {
                messages.send(self.library, own, other.rank, self.tag(other, 0))?;
            }
        }
        Ok(())
    }

    /// Bytes that came along with the header, or that are to come.
    fn receive(&self, region: &Region, other: &Other, messages: &mut Messages) -> Result<()> {
        if is_inline(region.length) {
            copy(other.inline(), region);
            return Ok(());
        }
        messages.receive(self.library, region, other.rank, self.tag(other, 0))
    }
}

/// Copies bytes to a region, unless they are there.
fn copy(from: *const u8, to: &Region) {
    // SAFETY: the source has as many bytes, and MPI is done with both. A GPU's writes, which nothing keeps out, change what is copied.
    unsafe { ptr::copy(from, to.address(), to.length) };
}

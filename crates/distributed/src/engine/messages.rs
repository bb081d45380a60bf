//! Messages on their way, and the memory that MPI uses for them.

use std::sync::Arc;

use metal_bridge::Loan;

use crate::error::Result;
use crate::library::{LARGEST_MESSAGE, Library, Request};
use crate::operation::Region;

/// Memory of this crate, used again and again: fresh pages are slow.
#[derive(Default)]
pub(super) struct Pool(Vec<Vec<u8>>);

/// Free blocks that a pool keeps.
const KEPT: usize = 32;

impl Pool {
    /// At least `length` bytes, of whatever was there before.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        let fitting = self.0.iter().enumerate();
        let fitting = fitting.filter(|(_, block)| block.len() >= length);
        match fitting.min_by_key(|(_, block)| block.len()) {
            Some((index, _)) => self.0.swap_remove(index),
            None => vec![0; length],
        }
    }

    pub(super) fn give_back(&mut self, block: Vec<u8>) {
        if !block.is_empty() && self.0.len() < KEPT {
            self.0.push(block);
        }
    }
}

/// One message of an operation's data.
pub(super) struct Message {
    request: Option<Request>,
    /// The other rank, in the world.
    pub(super) rank: usize,
    /// The buffer that MPI reads or writes; `None` for memory of this crate.
    loan: Option<Arc<Loan>>,
    is_receive: bool,
}

impl Message {
    /// Whether it has ended; asks MPI if it has not.
    pub(super) fn test(&mut self, library: &Library) -> Result<bool> {
        if let Some(request) = &mut self.request {
            if library.test(request)?.is_none() {
                return Ok(false);
            }
            self.request = None;
        }
        Ok(true)
    }
}

/// The messages of a step of an operation.
#[derive(Default)]
pub(super) struct Messages(Vec<Message>);

impl Messages {
    /// Sends the region's bytes, in as many messages as they need.
    pub(super) fn send(
        &mut self,
        library: &Library,
        region: &Region,
        rank: usize,
        tag: i32,
    ) -> Result<()> {
        for (start, length) in pieces(region.length) {
            let piece = region.part(start, length);
            // SAFETY: the loan, which the message holds until the request has ended, keeps the bytes alive and other code of the
            // CPU from writing them.
            let request = unsafe { library.send(piece.address(), length, rank, tag) }?;
            self.push(request, rank, Some(piece.loan), false);
        }
        Ok(())
    }

    /// Receives the region's bytes.
    pub(super) fn receive(
        &mut self,
        library: &Library,
        region: &Region,
        rank: usize,
        tag: i32,
    ) -> Result<()> {
        for (start, length) in pieces(region.length) {
            let piece = region.part(start, length);
            // SAFETY: as in `send`; the loan is one to write, so that no other code of the CPU reads the bytes.
            let request = unsafe { library.receive(piece.address(), length, Some(rank), tag) }?;
            self.push(request, rank, Some(piece.loan), true);
        }
        Ok(())
    }

    /// Receives bytes to memory of this crate.
    ///
    /// # Safety
    ///
    /// The memory is valid, and nobody touches it, until the messages have ended.
    pub(super) unsafe fn receive_to(
        &mut self,
        library: &Library,
        memory: *mut u8,
        length: usize,
        rank: usize,
        tag: i32,
    ) -> Result<()> {
        for (start, length) in pieces(length) {
            // SAFETY: the piece is inside the memory; the rest is the caller's promise.
            let request = unsafe { library.receive(memory.add(start), length, Some(rank), tag) }?;
            self.push(request, rank, None, true);
        }
        Ok(())
    }

    fn push(&mut self, request: Request, rank: usize, loan: Option<Arc<Loan>>, is_receive: bool) {
        self.0.push(Message {
            request: Some(request),
            rank,
            loan,
            is_receive,
        });
    }

    /// Whether all have ended; forgets those that have.
    pub(super) fn test(&mut self, library: &Library) -> Result<bool> {
        let mut index = 0;
        while index < self.0.len() {
            if self.0[index].test(library)? {
                self.0.swap_remove(index);
            } else {
                index += 1;
            }
        }
        Ok(self.0.is_empty())
    }

    /// How many have not ended, as far as is known.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The ranks of those that have not ended.
    pub(super) fn ranks(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|message| message.rank)
    }
}

/// Ranges of at most the largest message's length: first byte and length of each.
fn pieces(length: usize) -> impl Iterator<Item = (usize, usize)> {
    let starts = (0..length).step_by(LARGEST_MESSAGE);
    starts.map(move |start| (start, LARGEST_MESSAGE.min(length - start)))
}

/// What MPI still uses of an operation that has ended.
#[derive(Default)]
pub(super) struct Leftovers {
    pub(super) requests: Vec<Request>,
    pub(super) messages: Messages,
    /// Dropped, or used again, only when all have ended.
    pub(super) memory: Vec<Vec<u8>>,
}

impl Leftovers {
    /// Asks MPI to end the messages of data, and says of their buffers that nobody knows when this will be.
    pub(super) fn abandon(&mut self, library: &Library) {
        for message in &mut self.messages.0 {
            if let (Some(request), true) = (&mut message.request, message.is_receive) {
                library.cancel(request);
            }
        }
        // What MPI has not begun ends at once.
        let _ = self.test(library);
        for message in &self.messages.0 {
            if let Some(loan) = &message.loan {
                loan.set_overdue();
            }
        }
    }

    /// Whether MPI uses nothing of it any more.
    pub(super) fn test(&mut self, library: &Library) -> bool {
        // A request whose test fails is never seen to end: its memory stays.
        self.requests
            .retain_mut(|request| !matches!(library.test(request), Ok(Some(_))));
        self.messages.test(library).unwrap_or(false) && self.requests.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_whole_and_fit_in_a_message() {
        assert_eq!(pieces(0).count(), 0);
        let length = 2 * LARGEST_MESSAGE + 5;
        let all: Vec<_> = pieces(length).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(all[2], (2 * LARGEST_MESSAGE, 5));
        assert_eq!(all.iter().map(|(_, length)| length).sum::<usize>(), length);
    }

    #[test]
    fn a_pool_gives_the_smallest_block_that_fits() {
        let mut pool = Pool::default();
        for length in [100, 10, 50] {
            pool.give_back(vec![0; length]);
        }
        assert_eq!(pool.take(20).len(), 50);
        assert_eq!(pool.take(20).len(), 100);
        assert_eq!(pool.take(20).len(), 20);
    }
}

//! [`Operation`]: what the MPI thread is given to do, and for which [`Group`] of ranks.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering as Memory};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metal_bridge::Loan;

use crate::error::{Error, Result};
use crate::header::Header;
use crate::progress::Progress;

/// Ranks that have a communicator together.
pub(crate) struct Group {
    /// Tells the group's messages apart from those of others with the same ranks.
    pub(crate) context: usize,
    /// The ranks in the world, in the order of the ranks in the group.
    pub(crate) members: Vec<usize>,
    /// The process's own rank in the group.
    pub(crate) index: usize,
    /// Operations of queues so far, and of the CPU.
    ordinals: AtomicU64,
    calls: AtomicU64,
}

impl Group {
    pub(crate) fn new(context: usize, members: Vec<usize>, index: usize) -> Group {
        Group {
            context,
            members,
            index,
            ordinals: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// The number of the next operation of all ranks on a queue, and of `count - 1` after it.
    pub(crate) fn next_ordinals(&self, count: usize) -> u64 {
        self.ordinals.fetch_add(count as u64, Memory::Relaxed)
    }

    /// The number of the next call of all ranks' CPUs.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Memory::Relaxed)
    }
}

/// Bytes of a buffer on loan.
#[derive(Clone)]
pub(crate) struct Region {
    pub(crate) loan: Arc<Loan>,
    /// From the start of the buffer; the end is inside.
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

impl Region {
    /// Where the region begins.
    pub(crate) fn address(&self) -> *mut u8 {
        // SAFETY: the offset is inside the buffer, which the loan keeps alive.
        unsafe { self.loan.contents().as_ptr().add(self.offset) }
    }

    /// `length` bytes from `start` on. Both are inside.
    pub(crate) fn part(&self, start: usize, length: usize) -> Region {
        debug_assert!(start + length <= self.length);
        Region {
            offset: self.offset + start,
            length,
            ..self.clone()
        }
    }
}

/// Where a split leaves the new group; `None` for a rank without a color.
pub(crate) type SplitResult = Arc<Mutex<Option<Arc<Group>>>>;

pub(crate) struct Operation {
    /// Numbers rise in the order of the calls.
    pub(crate) id: u64,
    pub(crate) group: Arc<Group>,
    pub(crate) header: Header,
    /// What all ranks see, or the one buffer of the operation.
    pub(crate) whole: Option<Region>,
    /// This rank's part, if it is in a buffer of its own.
    pub(crate) own: Option<Region>,
    pub(crate) split: Option<SplitResult>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) part: usize,
    /// Whether the command buffer has come so far.
    pub(crate) is_ready: bool,
}

impl Operation {
    /// Ends it: first the loans, then those who wait.
    pub(crate) fn finish(mut self, result: Result<()>) {
        self.end(result);
    }

    fn end(&mut self, result: Result<()>) {
        self.whole = None;
        self.own = None;
        self.progress.finish(self.part, result);
    }

    pub(crate) fn loans(&self) -> impl Iterator<Item = &Arc<Loan>> {
        let regions = self.whole.iter().chain(&self.own);
        regions.map(|region| &region.loan)
    }

    /// Whether the command buffer is committed; an operation of the host has none.
    pub(crate) fn is_committed(&self) -> bool {
        self.loans().all(|loan| loan.is_committed())
    }

    /// Whether the GPU reaches this one earlier, on the same queue. Calls of the CPU come before later ones, and have no order with
    /// queues: all else that such a call is to come after may itself wait for the call.
    pub(crate) fn is_before(&self, other: &Operation) -> bool {
        let (own, others) = match (self.loans().next(), other.loans().next()) {
            (Some(own), Some(others)) => (own, others),
            (None, None) => return self.id < other.id,
            _ => return false,
        };
        match own.order(others) {
            None => false,
            Some(Ordering::Equal) => self.id < other.id,
            Some(order) => order == Ordering::Less,
        }
    }
}

impl Drop for Operation {
    /// Nobody waits for ever for what the MPI thread does not do any more.
    fn drop(&mut self) {
        if self.progress.part(self.part).is_some() {
            return;
        }
        let operation = self.header.to_string();
        let error = Error::Failed {
            rank: self.group.members[self.group.index],
            operation,
            reason: "its MPI thread has ended".to_owned(),
        };
        self.end(Err(error));
    }
}

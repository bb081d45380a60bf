//! How the MPI thread ends.

use std::mem;
use std::time::{Duration, Instant};

use super::Engine;
use super::command::Failure;

/// How long a rank that has failed waits for the others to say that they know.
const FAREWELL: Duration = Duration::from_secs(2);
/// In place of a time that no clock has.
const FAR: Duration = Duration::from_secs(1 << 30);

impl Engine {
    pub(super) fn prepare_to_leave(&mut self, longest: Duration) {
        let now = Instant::now();
        self.leaves = Some(now.checked_add(longest).unwrap_or(now + FAR));
        // Operations whose command buffers may never be committed.
        let open = self
            .waiting
            .iter()
            .filter(|(_, operation)| !operation.is_committed());
        let open: Vec<u64> = open.map(|(id, _)| *id).collect();
        open.into_iter().for_each(|id| self.cancel(id..id + 1));
    }

    /// Whether the last communicator is gone, and nothing is left to do.
    pub(super) fn has_ended(&mut self) -> bool {
        let Some(latest) = self.leaves else {
            return false;
        };
        if !(self.waiting.is_empty() && self.active.is_empty()) && Instant::now() < latest {
            return false;
        }
        if self.failure.is_none() && self.news.tell_leave(&self.library) {
            // As MPI_Finalize does, but not for ever.
            self.quiet = Instant::now();
        }
        let patience = match self.failure {
            None => latest,
            Some(_) => latest.min(self.quiet + FAREWELL),
        };
        self.news.all_know() || Instant::now() >= patience
    }

    /// `MPI_Finalize`, if all ranks will call it.
    pub(super) fn leave(mut self) {
        if !self.active.is_empty() || !self.waiting.is_empty() {
            let (rank, reason) = (self.library.rank(), "it has left".to_owned());
            self.fail(Failure { rank, reason });
        }
        let all_know = self.news.all_know();
        let library = &self.library;
        self.leftovers.retain_mut(|left| !left.test(library));
        if all_know && self.leftovers.is_empty() && self.news.close(&self.library) {
            self.library.finalize();
            return;
        }
        // MPI may still use this memory.
        mem::forget(mem::take(&mut self.leftovers));
        mem::forget(self.news);
    }

    pub(super) fn give_up(mut self) {
        for active in mem::take(&mut self.active) {
            drop(active.abandon());
        }
        drop(mem::take(&mut self.waiting));
        mem::forget(self);
    }
}

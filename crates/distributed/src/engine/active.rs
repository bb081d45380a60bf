//! [`Active`]: an operation under way.

use std::mem;
use std::time::{Duration, Instant};

use super::meetings::{Meetings, Numbers};
use super::messages::{Leftovers, Messages, Pool};
use super::steps::{Other, Steps};
use crate::error::{Error, Result};
use crate::library::Library;
use crate::operation::Operation;

pub(super) struct Active {
    pub(super) operation: Operation,
    /// How many operations of its context had begun with it.
    pub(super) order: u64,
    meetings: Meetings,
    /// In the order of the group, once all have come.
    others: Vec<Other>,
    /// `None` until all have come.
    step: Option<u64>,
    messages: Messages,
    scratch: Vec<u8>,
    started: Instant,
}

impl Active {
    /// Tells all ranks of the operation that this rank has come.
    pub(super) fn begin(
        operation: Operation,
        order: u64,
        library: &Library,
        numbers: &mut Numbers,
        pool: &mut Pool,
    ) -> (Active, Result<()>) {
        let mut active = Active {
            operation,
            order,
            meetings: Meetings::default(),
            others: Vec::new(),
            step: None,
            messages: Messages::default(),
            scratch: Vec::new(),
            started: Instant::now(),
        };
        let operation = &active.operation;
        let met = active.meetings.begin(operation, library, numbers, pool);
        (active, met)
    }

    pub(super) fn is_of(&self, context: usize) -> bool {
        self.operation.group.context == context
    }

    /// Goes on as far as possible; says whether anything has happened, and how the operation has ended, if it has.
    pub(super) fn poll(
        &mut self,
        library: &Library,
        pool: &mut Pool,
        has_left: &[bool],
    ) -> (bool, Option<Result<()>>) {
        let before = (
            self.messages.len(),
            self.step,
            self.meetings.missing().count(),
        );
        let ended = match self.go_on(library, pool) {
            Ok(true) => Some(Ok(())),
            Ok(false) => self.missing_for_ever(has_left).map(Err),
            Err(error) => Some(Err(error)),
        };
        let ended = ended.or_else(|| self.timeout().map(Err));
        let after = (
            self.messages.len(),
            self.step,
            self.meetings.missing().count(),
        );
        (before != after, ended)
    }

    fn go_on(&mut self, library: &Library, pool: &mut Pool) -> Result<bool> {
        let Some(mut step) = self.step else {
            if !self.meetings.test(library)? {
                return Ok(false);
            }
            self.meetings.check(&self.operation)?;
            self.others = self.meetings.take_others();
            if let Some(split) = &self.operation.split {
                split
                    .clone()
                    .lock()
                    .map(|mut found| *found = self.meetings.split(&self.operation))
                    .ok();
            }
            return self.begin_step(0, library, pool);
        };
        while self.messages.test(library)? {
            let scratch = mem::take(&mut self.scratch);
            self.steps(library).end(step, &scratch);
            pool.give_back(scratch);
            step += 1;
            if self.begin_step(step, library, pool)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is no such step, so that all is done.
    fn begin_step(&mut self, step: u64, library: &Library, pool: &mut Pool) -> Result<bool> {
        self.step = Some(step);
        let (mut messages, mut scratch) = (Messages::default(), Vec::new());
        let steps = self.steps(library);
        let begun = steps.begin(step, &mut scratch, pool, &mut messages);
        // Also after an error: some may be on their way.
        self.messages = messages;
        self.scratch = scratch;
        if !begun? {
            return Ok(true);
        }
        match self.messages.len() {
            // What came with the headers is all.
            0 => self.go_on(library, pool),
            _ => Ok(false),
        }
    }

    fn steps<'o>(&'o self, library: &'o Library) -> Steps<'o> {
        Steps {
            operation: &self.operation,
            others: &self.others,
            library,
        }
    }

    /// The error if a rank that has not come never will.
    fn missing_for_ever(&self, has_left: &[bool]) -> Option<Error> {
        let rank = self.meetings.missing().find(|rank| has_left[*rank])?;
        let operation = self.operation.header.to_string();
        Some(Error::Left { rank, operation })
    }

    fn timeout(&self) -> Option<Error> {
        let after: Duration = self.operation.timeout?;
        if self.started.elapsed() < after {
            return None;
        }
        let mut missing: Vec<usize> = self
            .meetings
            .missing()
            .chain(self.messages.ranks())
            .collect();
        missing.sort_unstable();
        missing.dedup();
        Some(Error::Timeout {
            operation: self.operation.header.to_string(),
            missing,
            after,
        })
    }

    /// The first number that none of the ranks has given to a communicator.
    pub(super) fn agreed_context(&self) -> usize {
        self.meetings.agreed_context(&self.operation)
    }

    /// Ends the operation. What MPI still uses is left over.
    pub(super) fn end(
        self,
        library: &Library,
        pool: &mut Pool,
        result: Result<()>,
    ) -> Option<Leftovers> {
        let mut left = Leftovers {
            messages: self.messages,
            ..Leftovers::default()
        };
        left.memory.push(self.scratch);
        left.memory
            .extend(self.others.into_iter().map(|other| other.memory));
        self.meetings.end(library, result.is_err(), &mut left);
        let is_over = left.test(library);
        if !is_over {
            left.abandon(library);
        }
        // The leftovers keep the loans of their messages.
        self.operation.finish(result);
        if is_over || left.test(library) {
            left.memory
                .into_iter()
                .for_each(|block| pool.give_back(block));
            return None;
        }
        Some(left)
    }

    /// The operation alone. The memory that MPI may use is never freed.
    pub(super) fn abandon(self) -> Operation {
        let memory = (self.meetings, self.others, self.messages, self.scratch);
        mem::forget(memory);
        self.operation
    }
}

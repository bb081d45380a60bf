//! The steps that every collective consists of: in a step, each device copies from others to buffers of its own.

use super::collective::{Collective, Part};
use super::communicator::{Communicator, Member};
use crate::error::{Error, Result};
use crate::metal::buffer::Buffer;
use crate::metal::command::CommandBuffer;
use crate::metal::compute::DispatchType;
use crate::ops::{Binary, DataType, Tensor, View};

/// A copy of `bytes` bytes to a buffer of the device `to`. It is the reader's device that copies, in the order of its own queue,
/// so that no device ever writes to a buffer of another.
pub(super) struct Pull<'b> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) source: &'b Buffer,
    pub(super) source_offset: usize,
    pub(super) destination: &'b Buffer,
    pub(super) destination_offset: usize,
    pub(super) bytes: usize,
    /// What the device does with the copy before the next step.
    pub(super) combination: Option<Combination<'b>>,
}

/// `buffer[offset..] = function(buffer[offset..], copy)`, element by element, with the bytes that were copied.
pub(super) struct Combination<'b> {
    pub(super) function: Binary,
    pub(super) data_type: DataType,
    pub(super) buffer: &'b Buffer,
    pub(super) offset: usize,
}

/// What happens at once. No pull writes what another pull of the step reads.
pub(super) type Step<'b> = Vec<Pull<'b>>;

impl Communicator {
    /// Commits the steps, one after the other.
    pub(super) fn commit(&self, function: &'static str, steps: &[Step<'_>]) -> Result<Collective> {
        self.check_thread(function)?;
        let mut parts = Vec::new();
        let mut last_value = self.lock();
        let first = *last_value + 1;
        let last = first + steps.len() as u64;
        *last_value = last;
        let mut before: &[Pull<'_>] = &[];
        for (value, step) in (first..).zip(steps) {
            let is_read = |rank| step.iter().any(|pull| pull.from == rank && pull.to != rank);
            self.end_step(before, value, is_read, &mut parts)?;
            for rank in 0..self.size() {
                self.begin_step(step, rank, value, &mut parts)
                    .map_err(|error| self.at(rank, error))?;
            }
            before = step;
        }
        let is_reader = |rank| steps.iter().flatten().any(|pull| is_between(pull, rank));
        self.end_step(before, last, is_reader, &mut parts)?;
        for (rank, member) in self.members.iter().enumerate() {
            let readers = steps.iter().flatten().filter(|pull| pull.from == rank);
            let readers = readers.map(|pull| pull.to);
            self.wait_for(member, rank, readers.collect(), last, &mut parts)
                .map_err(|error| self.at(rank, error))?;
        }
        Ok(Collective::new(parts))
    }

    /// Has the devices combine what they copied in the step before, and those of `signals` say that they have come so far.
    ///
    /// All devices do so before one of them waits for another's signal. What is committed then never waits for something that could
    /// still fail to be committed, or that itself waits for a slot in a queue.
    fn end_step(
        &self,
        step: &[Pull<'_>],
        value: u64,
        signals: impl Fn(usize) -> bool,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        for (rank, member) in self.members.iter().enumerate() {
            let combined = step.iter().filter(|pull| pull.to == rank && pull.bytes > 0);
            let mut combined = combined
                .filter(|pull| pull.combination.is_some())
                .peekable();
            if combined.peek().is_none() && !signals(rank) {
                continue;
            }
            let end = || -> Result<Part> {
                let mut commands = member.transfers.command_queue().command_buffer()?;
                for pull in combined {
                    combine(member, &mut commands, pull)?;
                }
                if signals(rank) {
                    commands.encode_signal_event(&member.event, value)?;
                }
                Ok(Part::new(commands.commit()?, rank, member.device(), None))
            };
            parts.push(end().map_err(|error| self.at(rank, error))?);
        }
        Ok(())
    }

    /// Has the device wait for those that it copies from, and copy.
    fn begin_step(
        &self,
        step: &[Pull<'_>],
        rank: usize,
        value: u64,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        let member = &self.members[rank];
        let pulls: Vec<&Pull<'_>> = step.iter().filter(|pull| pull.to == rank).collect();
        let sources = pulls.iter().map(|pull| pull.from).collect();
        self.wait_for(member, rank, sources, value, parts)?;
        let copied = pulls.into_iter().filter(|pull| pull.bytes > 0);
        for pull in copied {
            let source = pull.source_offset..pull.source_offset + pull.bytes;
            let source = pull.source.range(source);
            let destination = pull.destination.at(pull.destination_offset);
            let copy = member.transfers.copy(source, destination).commit()?;
            let from = self.members[pull.from].device();
            let from = (pull.from != rank).then_some((pull.from, from));
            parts.push(Part::new(copy, rank, member.device(), from));
        }
        Ok(())
    }

    /// Has the device wait until the others of these ranks have come so far.
    fn wait_for(
        &self,
        member: &Member,
        rank: usize,
        mut others: Vec<usize>,
        value: u64,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        others.retain(|other| *other != rank);
        others.sort_unstable();
        others.dedup();
        if others.is_empty() {
            return Ok(());
        }
        let mut commands = member.transfers.command_queue().command_buffer()?;
        for other in others {
            commands.encode_wait_for_event(&self.members[other].event, value)?;
        }
        parts.push(Part::new(commands.commit()?, rank, member.device(), None));
        Ok(())
    }

    /// The error, with the device that it happened on.
    pub(super) fn at(&self, rank: usize, error: Error) -> Error {
        error.at(&format!(
            "on device {rank} ({})",
            self.members[rank].device().name()
        ))
    }
}

/// Whether the device copies from another one.
fn is_between(pull: &Pull<'_>, to: usize) -> bool {
    pull.to == to && pull.from != to
}

fn combine(member: &Member, commands: &mut CommandBuffer, pull: &Pull<'_>) -> Result<()> {
    let Some(combination) = &pull.combination else {
        return Ok(());
    };
    let count = [pull.bytes / combination.data_type.size()];
    let tensor = |buffer, offset| {
        let view = View::new(buffer, offset);
        Tensor::new(view, combination.data_type, &count)
    };
    let own = tensor(combination.buffer, combination.offset)?;
    let copied = tensor(pull.destination, pull.destination_offset)?;
    let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
    let function = combination.function;
    member
        .ops
        .binary(&mut encoder, function, own, copied, own)?;
    encoder.end_encoding()
}

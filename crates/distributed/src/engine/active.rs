//! [`Active`]: an operation under way.

use std::collections::HashMap;
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::messages::{Leftovers, Messages, Pool};
use super::steps::{CONTEXTS, INLINE, Other, Phase, Steps, inline, tag};
use crate::error::{Error, Result};
use crate::header::{HEADER, Header, IN_BUFFER, Kind};
use crate::library::{Library, Request};
use crate::operation::{Group, Operation};

/// How many operations this rank has had with each rank, in each context.
pub(super) type Numbers = HashMap<(usize, usize), u64>;

pub(super) struct Active {
    pub(super) operation: Operation,
    meetings: Vec<Meeting>,
    /// In the order of the group, once all have come.
    others: Vec<Other>,
    /// `None` until all have come.
    step: Option<u64>,
    messages: Messages,
    scratch: Vec<u8>,
    started: Instant,
}

/// The exchange of headers with another rank.
struct Meeting {
    index: usize,
    rank: usize,
    number: u64,
    sent: Vec<u8>,
    send: Option<Request>,
    received: Vec<u8>,
    receive: Option<Request>,
    /// What came, and how much data with it.
    theirs: Option<(Result<Header, String>, usize)>,
}

impl Active {
    /// Tells all ranks of the operation that this rank has come.
    pub(super) fn begin(
        operation: Operation,
        library: &Library,
        numbers: &mut Numbers,
        pool: &mut Pool,
    ) -> (Active, Result<()>) {
        let mut active = Active {
            operation,
            meetings: Vec::new(),
            others: Vec::new(),
            step: None,
            messages: Messages::default(),
            scratch: Vec::new(),
            started: Instant::now(),
        };
        let met = active.meet(library, numbers, pool);
        (active, met)
    }

    fn meet(&mut self, library: &Library, numbers: &mut Numbers, pool: &mut Pool) -> Result<()> {
        let group = &self.operation.group;
        let (header, context) = (&self.operation.header, group.context);
        let data = inline(&self.operation).filter(|_| !header.has_failed);
        let length = HEADER + data.map_or(0, |data| data.length);
        let members = group.members.iter().enumerate();
        let others = members.filter(|(index, rank)| {
            *index != group.index && (!header.kind.is_pairwise() || **rank == header.root)
        });
        for (index, &rank) in others {
            let number = numbers.entry((context, rank)).or_default();
            let mut meeting = Meeting {
                index,
                rank,
                number: *number,
                sent: pool.take(HEADER + INLINE),
                send: None,
                received: pool.take(HEADER + INLINE),
                receive: None,
                theirs: None,
            };
            *number += 1;
            meeting.sent[..HEADER].copy_from_slice(&header.encode());
            if let Some(data) = data {
                let to = meeting.sent[HEADER..].as_mut_ptr();
                // SAFETY: the data fits, and the loan keeps it alive. A GPU's writes, which nothing keeps out, change what is copied.
                unsafe { ptr::copy_nonoverlapping(data.address(), to, data.length) };
            }
            let tag = tag(context, 0, Phase::Header);
            let (sent, received) = (meeting.sent.as_ptr(), meeting.received.as_mut_ptr());
            // SAFETY: the memory is not touched, moved or freed until the requests have ended: `end` leaves it to the leftovers.
            unsafe {
                let receive = library.receive(received, HEADER + INLINE, Some(rank), tag);
                meeting.receive = receive.map(Some)?;
                let send = library.send(sent, length, rank, tag);
                let sent = send.map(|send| meeting.send = Some(send));
                self.meetings.push(meeting);
                sent?;
            }
        }
        Ok(())
    }

    /// Goes on as far as possible; says whether anything has happened, and how the operation has ended, if it has.
    pub(super) fn poll(
        &mut self,
        library: &Library,
        pool: &mut Pool,
        has_left: &[bool],
    ) -> (bool, Option<Result<()>>) {
        let before = (self.messages.len(), self.step, self.missing().count());
        let ended = match self.go_on(library, pool) {
            Ok(true) => Some(Ok(())),
            Ok(false) => self.missing_for_ever(has_left).map(Err),
            Err(error) => Some(Err(error)),
        };
        let ended = ended.or_else(|| self.timeout().map(Err));
        let after = (self.messages.len(), self.step, self.missing().count());
        (before != after, ended)
    }

    fn go_on(&mut self, library: &Library, pool: &mut Pool) -> Result<bool> {
        let Some(mut step) = self.step else {
            if !self.test_meetings(library)? {
                return Ok(false);
            }
            self.check()?;
            self.take_others();
            if let Some(split) = &self.operation.split {
                split
                    .clone()
                    .lock()
                    .map(|mut found| *found = self.split())
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

    /// Whether all headers have come, and have gone.
    fn test_meetings(&mut self, library: &Library) -> Result<bool> {
        let mut all = true;
        for meeting in &mut self.meetings {
            if let Some(send) = &mut meeting.send {
                match library.test(send)? {
                    Some(_) => meeting.send = None,
                    None => all = false,
                }
            }
            if let Some(receive) = &mut meeting.receive {
                let Some((_, length)) = library.test(receive)? else {
                    all = false;
                    continue;
                };
                meeting.receive = None;
                let length = length.min(meeting.received.len());
                let theirs = Header::decode(&meeting.received[..length]);
                meeting.theirs = Some((theirs, length.saturating_sub(HEADER)));
            }
        }
        Ok(all)
    }

    /// The ranks whose headers have not come.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let missing = self.meetings.iter().filter(|m| m.theirs.is_none());
        missing.map(|meeting| meeting.rank)
    }

    /// Whether all ranks are in this operation.
    fn check(&self) -> Result<()> {
        let ours = &self.operation.header;
        let group = &self.operation.group;
        let own_rank = group.members[group.index];
        let operation = || ours.to_string();
        let mut own = ours.own;
        for meeting in &self.meetings {
            let rank = meeting.rank;
            let theirs = match &meeting.theirs {
                Some((Ok(theirs), _)) if ours.agrees(own_rank, rank, theirs) => theirs,
                Some((Ok(theirs), _)) => {
                    let (operation, theirs) = (operation(), theirs.to_string());
                    return Err(Error::Mismatch {
                        rank,
                        operation,
                        theirs,
                    });
                }
                Some((Err(theirs), _)) => {
                    let (operation, theirs) = (operation(), theirs.clone());
                    return Err(Error::Mismatch {
                        rank,
                        operation,
                        theirs,
                    });
                }
                None => continue,
            };
            own = own.saturating_add(theirs.own);
        }
        if ours.kind == Kind::Split && self.agreed_context() >= CONTEXTS {
            let why = format!("a process takes part in {CONTEXTS} communicators at most");
            return Err(Error::Unsupported(why));
        }
        self.check_parts(own_rank, own)?;
        self.check_gpus(own_rank)?;
        self.check_lengths()
    }

    /// Whether the ranks' parts make the whole, of which the ranks have `own` elements together.
    fn check_parts(&self, own_rank: usize, own: usize) -> Result<()> {
        let ours = &self.operation.header;
        let has_parts = matches!(ours.kind, Kind::AllGather | Kind::ReduceScatter);
        if !has_parts {
            return Ok(());
        }
        // Where the part of a rank is that gathers in the buffer itself is known only if all are equal.
        let all = || self.headers().chain([ours]);
        let is_uneven = all().any(|header| header.key == IN_BUFFER)
            && all().any(|header| header.own != ours.own);
        if own == ours.count && !is_uneven {
            return Ok(());
        }
        let parts: Vec<usize> = all().map(|header| header.own).collect();
        Err(Error::Mismatch {
            rank: own_rank,
            operation: ours.to_string(),
            theirs: format!("parts of {parts:?} elements, this rank's last"),
        })
    }

    /// The headers of the other ranks.
    fn headers(&self) -> impl Iterator<Item = &Header> {
        let theirs = self.meetings.iter().filter_map(|m| m.theirs.as_ref());
        theirs.filter_map(|(header, _)| header.as_ref().ok())
    }

    /// The first number that none of the ranks has given to a communicator.
    pub(super) fn agreed_context(&self) -> usize {
        let all = self.headers().chain([&self.operation.header]);
        all.map(|header| header.next_context).max().unwrap_or(0)
    }

    /// Whether no GPU has failed before the operation.
    fn check_gpus(&self, own_rank: usize) -> Result<()> {
        let theirs = self.meetings.iter().filter(|meeting| {
            let header = meeting
                .theirs
                .as_ref()
                .and_then(|(header, _)| header.as_ref().ok());
            header.is_some_and(|header| header.has_failed)
        });
        let mut failed = theirs.map(|meeting| meeting.rank).collect::<Vec<_>>();
        failed.extend(self.operation.header.has_failed.then_some(own_rank));
        let Some(rank) = failed.into_iter().min() else {
            return Ok(());
        };
        Err(Error::Failed {
            rank,
            operation: self.operation.header.to_string(),
            reason: "its GPU failed before".to_owned(),
        })
    }

    /// Whether as much data came with the headers as they say.
    fn check_lengths(&self) -> Result<()> {
        let ours = &self.operation.header;
        let size = ours.data_type.map_or(0, |data_type| data_type.size());
        for meeting in &self.meetings {
            let Some((Ok(theirs), length)) = &meeting.theirs else {
                continue;
            };
            let count = match ours.kind {
                Kind::AllReduce | Kind::ReduceScatter | Kind::Receive => ours.count,
                Kind::Broadcast if meeting.rank == ours.root => ours.count,
                Kind::AllGather => theirs.own,
                _ => 0,
            };
            let bytes = count.saturating_mul(size);
            let expected = if bytes <= INLINE { bytes } else { 0 };
            if *length != expected {
                return Err(Error::Mismatch {
                    rank: meeting.rank,
                    operation: ours.to_string(),
                    theirs: format!("{theirs} with {length} bytes of data"),
                });
            }
        }
        Ok(())
    }

    fn take_others(&mut self) {
        for meeting in &mut self.meetings {
            if let Some((Ok(header), _)) = &meeting.theirs {
                self.others.push(Other {
                    index: meeting.index,
                    rank: meeting.rank,
                    number: meeting.number,
                    header: header.clone(),
                    memory: mem::take(&mut meeting.received),
                });
            }
        }
    }

    /// The group that the ranks of this rank's color make; none without a color.
    fn split(&self) -> Option<Arc<Group>> {
        let (ours, group) = (&self.operation.header, &self.operation.group);
        if ours.color < 0 {
            return None;
        }
        let all = self.others.iter().map(|other| (other.index, &other.header));
        let all = all.chain([(group.index, ours)]);
        let context = self.agreed_context();
        let mut same: Vec<(i64, usize)> = all
            .filter(|(_, header)| header.color == ours.color)
            .map(|(index, header)| (header.key, index))
            .collect();
        same.sort_unstable();
        let own = same.iter().position(|(_, index)| *index == group.index)?;
        let members = same.iter().map(|(_, index)| group.members[*index]);
        let split = Group::new(context, members.collect(), own);
        Some(Arc::new(split))
    }

    /// The error if a rank that has not come never will.
    fn missing_for_ever(&self, has_left: &[bool]) -> Option<Error> {
        let rank = self.missing().find(|rank| has_left[*rank])?;
        let operation = self.operation.header.to_string();
        Some(Error::Left { rank, operation })
    }

    fn timeout(&self) -> Option<Error> {
        let after: Duration = self.operation.timeout?;
        if self.started.elapsed() < after {
            return None;
        }
        let mut missing: Vec<usize> = self.missing().chain(self.messages.ranks()).collect();
        missing.sort_unstable();
        missing.dedup();
        Some(Error::Timeout {
            operation: self.operation.header.to_string(),
            missing,
            after,
        })
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
        for meeting in self.meetings {
            if let (Some(mut receive), true) = (meeting.receive, result.is_err()) {
                library.cancel(&mut receive);
                left.requests.push(receive);
            }
            left.requests.extend(meeting.send);
            left.memory.extend([meeting.sent, meeting.received]);
        }
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

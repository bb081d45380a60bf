//! [`Meetings`]: how the ranks of an operation come together, and find out whether they are in the same one.

use std::collections::HashMap;
use std::mem;
use std::ptr;
use std::sync::Arc;

use super::messages::{Leftovers, Pool};
use super::steps::{CONTEXTS, INLINE, Other, Phase, inline, tag};
use crate::error::{Error, Result};
use crate::header::{HEADER, Header, IN_BUFFER, Kind};
use crate::library::{Library, Request};
use crate::operation::{Group, Operation};

/// How many operations this rank has had with each rank, in each context.
pub(super) type Numbers = HashMap<(usize, usize), u64>;

/// The exchange of headers with all other ranks, in the order of the group.
#[derive(Default)]
pub(super) struct Meetings(Vec<Meeting>);

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

impl Meeting {
    /// The other rank's header, if it has come and is one.
    fn header(&self) -> Option<&Header> {
        self.theirs.as_ref()?.0.as_ref().ok()
    }
}

impl Meetings {
    /// Tells all ranks of the operation that this one has come.
    pub(super) fn begin(
        &mut self,
        operation: &Operation,
        library: &Library,
        numbers: &mut Numbers,
        pool: &mut Pool,
    ) -> Result<()> {
        let group = &operation.group;
        let (header, context) = (&operation.header, group.context);
        let data = inline(operation).filter(|_| !header.has_failed);
        let length = HEADER + data.map_or(0, |data| data.length);
        let members = group.members.iter().enumerate();
        let others = members.filter(|(index, rank)| {
            *index != group.index && (!header.kind.is_pairwise() || **rank == header.root)
        });
        for (index, &rank) in others {
            let of_host = header.kind.is_of_host();
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
            *number += u64::from(!of_host);
            meeting.sent[..HEADER].copy_from_slice(&header.encode());
            if let Some(data) = data {
                let to = meeting.sent[HEADER..].as_mut_ptr();
                // SAFETY: the data fits, and the loan keeps it alive. A GPU's writes, which nothing keeps out, change what is copied.
                unsafe { ptr::copy_nonoverlapping(data.address(), to, data.length) };
            }
            let tag = tag(context, 0, Phase::Header { of_host });
            let (sent, received) = (meeting.sent.as_ptr(), meeting.received.as_mut_ptr());
            // SAFETY: the memory is not touched, moved or freed until the requests have ended: `end` leaves it to the leftovers.
            unsafe {
                let receive = library.receive(received, HEADER + INLINE, Some(rank), tag);
                meeting.receive = receive.map(Some)?;
                let send = library.send(sent, length, rank, tag);
                let sent = send.map(|send| meeting.send = Some(send));
                self.0.push(meeting);
                sent?;
            }
        }
        Ok(())
    }

    /// Whether all headers have come, and have gone.
    pub(super) fn test(&mut self, library: &Library) -> Result<bool> {
        let mut all = true;
        for meeting in &mut self.0 {
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
    pub(super) fn missing(&self) -> impl Iterator<Item = usize> {
        let missing = self.0.iter().filter(|m| m.theirs.is_none());
        missing.map(|meeting| meeting.rank)
    }

    /// Whether all ranks are in this operation.
    pub(super) fn check(&self, operation: &Operation) -> Result<()> {
        let ours = &operation.header;
        let group = &operation.group;
        let own_rank = group.members[group.index];
        let name = || ours.to_string();
        let mut own = ours.own;
        for meeting in &self.0 {
            let rank = meeting.rank;
            let theirs = match &meeting.theirs {
                Some((Ok(theirs), _)) if ours.agrees(own_rank, rank, theirs) => theirs,
                Some((Ok(theirs), _)) => {
                    let (operation, theirs) = (name(), theirs.to_string());
                    return Err(Error::Mismatch {
                        rank,
                        operation,
                        theirs,
                    });
                }
                Some((Err(theirs), _)) => {
                    let (operation, theirs) = (name(), theirs.clone());
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
        if ours.kind == Kind::Split && self.agreed_context(operation) >= CONTEXTS {
            let why = format!("a process takes part in {CONTEXTS} communicators at most");
            return Err(Error::Unsupported(why));
        }
        self.check_parts(operation, own_rank, own)?;
        self.check_gpus(operation, own_rank)?;
        self.check_lengths(operation)
    }

    /// Whether the ranks' parts make the whole, of which the ranks have `own` elements together.
    fn check_parts(&self, operation: &Operation, own_rank: usize, own: usize) -> Result<()> {
        let ours = &operation.header;
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
        self.0.iter().filter_map(Meeting::header)
    }

    /// The first number that none of the ranks has given to a communicator.
    pub(super) fn agreed_context(&self, operation: &Operation) -> usize {
        let all = self.headers().chain([&operation.header]);
        all.map(|header| header.next_context).max().unwrap_or(0)
    }

    /// Whether no GPU has failed before the operation.
    fn check_gpus(&self, operation: &Operation, own_rank: usize) -> Result<()> {
        let theirs = self.0.iter();
        let theirs = theirs.filter(|meeting| meeting.header().is_some_and(|h| h.has_failed));
        let mut failed = theirs.map(|meeting| meeting.rank).collect::<Vec<_>>();
        failed.extend(operation.header.has_failed.then_some(own_rank));
        let Some(rank) = failed.into_iter().min() else {
            return Ok(());
        };
        Err(Error::Failed {
            rank,
            operation: operation.header.to_string(),
            reason: "its GPU failed before".to_owned(),
        })
    }

    /// Whether as much data came with the headers as they say.
    fn check_lengths(&self, operation: &Operation) -> Result<()> {
        let ours = &operation.header;
        let size = ours.data_type.map_or(0, |data_type| data_type.size());
        for meeting in &self.0 {
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

    /// The ranks as the steps know them, in the order of the group, once all are in the operation.
    pub(super) fn take_others(&mut self) -> Vec<Other> {
        let others = self.0.iter_mut().filter_map(|meeting| {
            Some(Other {
                index: meeting.index,
                rank: meeting.rank,
                number: meeting.number,
                header: meeting.header()?.clone(),
                memory: mem::take(&mut meeting.received),
            })
        });
        others.collect()
    }

    /// The group that the ranks of this rank's color make; none without a color.
    pub(super) fn split(&self, operation: &Operation) -> Option<Arc<Group>> {
        let (ours, group) = (&operation.header, &operation.group);
        if ours.color < 0 {
            return None;
        }
        let all = self
            .0
            .iter()
            .filter_map(|meeting| Some((meeting.index, meeting.header()?)));
        let all = all.chain([(group.index, ours)]);
        let context = self.agreed_context(operation);
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

    /// Ends the exchange. What MPI still uses is left over.
    pub(super) fn end(self, library: &Library, has_failed: bool, left: &mut Leftovers) {
        for meeting in self.0 {
            if let (Some(mut receive), true) = (meeting.receive, has_failed) {
                library.cancel(&mut receive);
                left.requests.push(receive);
            }
            left.requests.extend(meeting.send);
            left.memory.extend([meeting.sent, meeting.received]);
        }
    }
}

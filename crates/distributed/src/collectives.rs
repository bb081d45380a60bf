//! The operations of a [`Communicator`] on buffers, each in two forms: by a command buffer of its own, and within one.

use metal_bridge::devices::Combine;
use metal_bridge::{CommandBuffer, CommandQueue};

use crate::communicator::Communicator;
use crate::elements::Elements;
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::header::{Header, IN_BUFFER, Kind};
use crate::plan::{Plan, Use};
use crate::sums::combines;

/// The most parts of an operation.
const PARTS: usize = 64;

/// Each operation has two forms.
///
/// The first takes a queue, and commits a command buffer of its own to it: the operation begins when the GPU has done what was
/// committed before, and what is committed later waits for it.
///
/// The second, whose name begins with `encode`, takes a command buffer that is being recorded, which may have many operations: the
/// operation begins when the GPU has done what was recorded before. **What is recorded later does not wait for it** until
/// [`Exchange::encode_wait`] says so, in the same command buffer or in a later one of the queue. What is between the two runs
/// meanwhile, and must not touch the elements. If the command buffer is dropped, the operation does not happen.
///
/// Until the operation has ended, the buffers live and are in use: CPU access waits, or is refused before the commit. Buffers
/// must be [shared](metal_bridge::StorageMode::Shared). Their bytes go to MPI from where they are, except that up to 16 KiB go along
/// with the header that every rank first sends to every other one (`MPI_Isend`, `MPI_Irecv`). The ranks compare these headers:
/// another operation, number of elements, type or order is [`Error::Mismatch`] at every rank that sees it, before data moves.
///
/// # Errors
///
/// All calls: [`Error::InvalidArgument`] for elements that are not in the buffer, and for what each call names.
/// [`Error::Metal`] as for [`CommandBuffer::lend_to_write`], and, for the first form, as for [`CommandQueue::command_buffer`] and
/// [`CommandBuffer::commit`]. The other ranks do not hear of these: they wait, unless this one calls
/// [`abort`](Communicator::abort) or drops its communicators. What happens between ranks comes from the [`Exchange`].
impl Communicator {
    /// Combines the elements of all ranks, one by one, and gives every rank the result in their stead. All ranks have equally many,
    /// of F32, F16 or BF16.
    ///
    /// An element of the result is `((x0 + x1) + x2) + ...` in the order of the ranks, in F32, rounded to the type once at the end.
    /// So all ranks hold the same bits, and get the same ones each time and for any parts.
    ///
    /// Up to 16 KiB go from each rank to each with the headers. More are combined in shares: each rank gets its share of
    /// the elements from all (`count / size` elements each), combines it, and sends the result to all. So each rank sends and receives
    /// `2 (size - 1) / size` times the bytes (`MPI_Isend`, `MPI_Irecv`), as a ring would, in two steps. The shares of others take
    /// `(size - 1) / size` times the bytes of memory, which is used again.
    pub fn all_reduce(
        &self,
        queue: &CommandQueue,
        elements: &Elements<'_>,
        combine: Combine,
    ) -> Result<Exchange> {
        self.commit(queue, |commands| {
            self.encode_all_reduce(commands, elements, combine, 1)
        })
    }

    /// [`all_reduce`](Communicator::all_reduce) within a command buffer, in `parts` parts of nearly equal length, from 1 to 64, each
    /// of which [can be waited for](Exchange::encode_wait) by itself: what needs the first part runs while the others are on
    /// their way. All ranks take equally many parts.
    pub fn encode_all_reduce(
        &self,
        commands: &mut CommandBuffer,
        elements: &Elements<'_>,
        combine: Combine,
        parts: usize,
    ) -> Result<Exchange> {
        const FUNCTION: &str = "Communicator::all_reduce";
        check_combines(FUNCTION, elements)?;
        if !(1..=PARTS).contains(&parts) {
            let message = format!("{parts} parts: there can be 1 to {PARTS}");
            return Err(invalid(FUNCTION, message));
        }
        let header = Header {
            combine: Some(combine),
            ..Header::new(Kind::AllReduce)
        };
        self.encode(
            commands,
            Plan {
                function: FUNCTION,
                header,
                whole: (elements, Use::Writes),
                own: None,
                parts,
            },
        )
    }

    /// Gives every rank the elements of all, one rank after the other: `all` has as many as all `own` together. The ranks
    /// may have different numbers of `own` elements.
    ///
    /// `own` may be part of `all` if it is where its elements go, `rank * count` elements from the start, and all ranks have equally
    /// many; in no other way may the two overlap. Each rank sends its elements to each (`MPI_Isend`, `MPI_Irecv`).
    pub fn all_gather(
        &self,
        queue: &CommandQueue,
        own: &Elements<'_>,
        all: &Elements<'_>,
    ) -> Result<Exchange> {
        self.commit(queue, |commands| self.encode_all_gather(commands, own, all))
    }

    /// [`all_gather`](Communicator::all_gather) within a command buffer.
    pub fn encode_all_gather(
        &self,
        commands: &mut CommandBuffer,
        own: &Elements<'_>,
        all: &Elements<'_>,
    ) -> Result<Exchange> {
        const FUNCTION: &str = "Communicator::all_gather";
        let overlap = check_pair(FUNCTION, own, all)?;
        let is_equal = own.len().checked_mul(self.size()) == Some(all.len());
        let is_there = own.range.start == all.range.start + self.rank() * own.len();
        if overlap && !(is_equal && is_there) {
            let message = "the two overlap, and `own` is not where its elements go".to_owned();
            return Err(invalid(FUNCTION, message));
        }
        let header = Header {
            own: own.len(),
            key: if overlap { IN_BUFFER } else { 0 },
            ..Header::new(Kind::AllGather)
        };
        self.encode(
            commands,
            Plan {
                function: FUNCTION,
                header,
                whole: (all, Use::Writes),
                own: Some((own, Use::Reads)),
                parts: 1,
            },
        )
    }

    /// Combines the elements of `all` of all ranks as [`all_reduce`](Communicator::all_reduce) does, and gives every rank its share,
    /// one rank after the other: all ranks have equally many in `all`, as many as all `own` together. The ranks may have
    /// different numbers of `own` elements. The two may not overlap.
    ///
    /// Each rank sends each its share (`MPI_Isend`, `MPI_Irecv`), or, up to 16 KiB, all.
    pub fn reduce_scatter(
        &self,
        queue: &CommandQueue,
        all: &Elements<'_>,
        own: &Elements<'_>,
        combine: Combine,
    ) -> Result<Exchange> {
        self.commit(queue, |commands| {
            self.encode_reduce_scatter(commands, all, own, combine)
        })
    }

    /// [`reduce_scatter`](Communicator::reduce_scatter) within a command buffer.
    pub fn encode_reduce_scatter(
        &self,
        commands: &mut CommandBuffer,
        all: &Elements<'_>,
        own: &Elements<'_>,
        combine: Combine,
    ) -> Result<Exchange> {
        const FUNCTION: &str = "Communicator::reduce_scatter";
        check_combines(FUNCTION, all)?;
        if check_pair(FUNCTION, own, all)? {
            return Err(invalid(FUNCTION, "the two overlap".to_owned()));
        }
        let header = Header {
            own: own.len(),
            combine: Some(combine),
            ..Header::new(Kind::ReduceScatter)
        };
        self.encode(
            commands,
            Plan {
                function: FUNCTION,
                header,
                whole: (all, Use::Reads),
                own: Some((own, Use::Writes)),
                parts: 1,
            },
        )
    }

    /// Gives every rank the elements that the rank `root` has, of any type: the root reads them, the others' are overwritten. All ranks
    /// have equally many. The root sends them to each (`MPI_Isend`, `MPI_Irecv`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such rank.
    pub fn broadcast(
        &self,
        queue: &CommandQueue,
        root: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        self.commit(queue, |commands| {
            self.encode_broadcast(commands, root, elements)
        })
    }

    /// [`broadcast`](Communicator::broadcast) within a command buffer.
    pub fn encode_broadcast(
        &self,
        commands: &mut CommandBuffer,
        root: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        const FUNCTION: &str = "Communicator::broadcast";
        let header = Header {
            root: self.world_rank(FUNCTION, root)?,
            ..Header::new(Kind::Broadcast)
        };
        let is_root = root == self.rank();
        let used = if is_root { Use::Reads } else { Use::Writes };
        self.encode(
            commands,
            Plan {
                function: FUNCTION,
                header,
                whole: (elements, used),
                own: None,
                parts: 1,
            },
        )
    }

    /// Sends elements of any type to the rank `to`, which [receives](Communicator::receive) equally many. It ends when that rank
    /// has come to it (`MPI_Isend`), so two ranks that both send first wait for each other.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there is no such rank, and for this rank.
    pub fn send(
        &self,
        queue: &CommandQueue,
        to: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        self.commit(queue, |commands| self.encode_send(commands, to, elements))
    }

    /// [`send`](Communicator::send) within a command buffer.
    pub fn encode_send(
        &self,
        commands: &mut CommandBuffer,
        to: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        self.encode_pair(commands, "Communicator::send", Kind::Send, to, elements)
    }

    /// Receives elements that the rank `from` [sends](Communicator::send) (`MPI_Irecv`).
    ///
    /// # Errors
    ///
    /// As [`send`](Communicator::send).
    pub fn receive(
        &self,
        queue: &CommandQueue,
        from: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        self.commit(queue, |commands| {
            self.encode_receive(commands, from, elements)
        })
    }

    /// [`receive`](Communicator::receive) within a command buffer.
    pub fn encode_receive(
        &self,
        commands: &mut CommandBuffer,
        from: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        self.encode_pair(
            commands,
            "Communicator::receive",
            Kind::Receive,
            from,
            elements,
        )
    }

    fn encode_pair(
        &self,
        commands: &mut CommandBuffer,
        function: &'static str,
        kind: Kind,
        other: usize,
        elements: &Elements<'_>,
    ) -> Result<Exchange> {
        let root = self.world_rank(function, other)?;
        if other == self.rank() {
            let message = format!("rank {other} is this rank itself");
            return Err(invalid(function, message));
        }
        let used = if kind == Kind::Send {
            Use::Reads
        } else {
            Use::Writes
        };
        self.encode(
            commands,
            Plan {
                function,
                header: Header {
                    root,
                    ..Header::new(kind)
                },
                whole: (elements, used),
                own: None,
                parts: 1,
            },
        )
    }

    /// An operation in a command buffer of its own.
    fn commit(
        &self,
        queue: &CommandQueue,
        encode: impl FnOnce(&mut CommandBuffer) -> Result<Exchange>,
    ) -> Result<Exchange> {
        let mut commands = queue.command_buffer()?;
        let exchange = encode(&mut commands)?;
        exchange.encode_wait(&mut commands, exchange.parts() - 1)?;
        Ok(exchange.with_submission(commands.commit()?))
    }
}

fn invalid(operation: &'static str, message: String) -> Error {
    Error::InvalidArgument { operation, message }
}

fn check_combines(function: &'static str, elements: &Elements<'_>) -> Result<()> {
    if combines(elements.data_type) {
        return Ok(());
    }
    let name = elements.data_type.name();
    let message = format!("elements of {name} are not combined: only those of F32, F16 and BF16");
    Err(invalid(function, message))
}

/// Refuses elements of two types; says whether the two overlap.
fn check_pair(function: &'static str, own: &Elements<'_>, all: &Elements<'_>) -> Result<bool> {
    if own.data_type != all.data_type {
        let (one, other) = (own.data_type.name(), all.data_type.name());
        return Err(invalid(
            function,
            format!("elements of {one} and of {other}"),
        ));
    }
    let (a, b) = (own.bytes(function)?, all.bytes(function)?);
    let is_same = own.buffer.is_same(all.buffer);
    Ok(is_same && a.start < b.end && b.start < a.end)
}

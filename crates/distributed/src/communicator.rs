//! [`Communicator`]: the ranks of an `mpirun`, or some of them.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::engine::{self, Command};
use crate::error::{Error, Result};
use crate::header::{Header, Kind};
use crate::operation::{Group, Operation, SplitResult};
use crate::progress::Progress;

/// The ranks of an `mpirun`, or [some of them](Communicator::split): processes that exchange the contents of shared Metal buffers.
/// Clones are the same communicator.
///
/// ```no_run
/// use metal_bridge::devices::Combine;
/// use metal_bridge::ops::DataType;
/// use metal_bridge::{Device, StorageMode};
/// use metal_bridge_distributed::{Communicator, Elements};
///
/// let world = Communicator::world()?;
/// let device = Device::system_default()?;
/// let queue = device.new_command_queue()?;
/// let buffer = device.new_buffer_with_data(&[world.rank() as f32, 1.0], StorageMode::Shared)?;
/// world.all_reduce(&queue, &Elements::new(&buffer, 0..2, DataType::F32), Combine::Sum)?.wait()?;
/// let size = world.size() as f32;
/// assert_eq!(*buffer.wait_read::<f32>()?, [size * (size - 1.0) / 2.0, size]);
/// # Ok::<(), metal_bridge_distributed::Error>(())
/// ```
///
/// # Order
///
/// All ranks of a communicator call the same operations in the same order, and so do two ranks that
/// [`send`](Communicator::send) and [`receive`](Communicator::receive) between these. An operation begins when the GPU has come to it.
/// So the operations of one communicator should be those of one queue, or of queues that wait for each other; queues that do not
/// need communicators of their own, which [`split`](Communicator::split) makes. A process that breaks this rule gets
/// [`Error::Mismatch`] or [`Error::Timeout`].
///
/// # Failures
///
/// [`Error`] says what each rank gets if one of them fails. Every operation ends within the [timeout](Communicator::set_timeout) after
/// the GPU has come to it, and the GPU goes on in any case.
///
/// Dropping the last communicator of a process waits until all ranks do the same, or for the timeout, and ends MPI
/// (`MPI_Finalize`). The others' operations that wait for a rank that has dropped its communicators end with [`Error::Left`].
#[derive(Clone)]
pub struct Communicator {
    pub(crate) group: Arc<Group>,
    world: Arc<World>,
    /// `None` for no end.
    timeout: Arc<Mutex<Option<Duration>>>,
}

/// MPI in this process.
struct World {
    commands: Sender<Command>,
    thread: ThreadId,
    /// Gets an error when the thread has ended.
    ended: Mutex<Receiver<()>>,
    next_id: AtomicU64,
    /// Held during a split.
    splits: Mutex<()>,
    timeout: Arc<Mutex<Option<Duration>>>,
}

/// How long an operation may take if nobody says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the start of all ranks may take.
const START: Duration = Duration::from_secs(300);

impl Communicator {
    /// All ranks of the `mpirun` that this process belongs to; one alone without `mpirun`.
    ///
    /// A new thread initialises MPI (`MPI_Init_thread` with `MPI_THREAD_FUNNELED`, `MPI_ERRORS_RETURN`) and makes all calls of MPI. All
    /// ranks call this; they find out here whether they have the same version of this crate.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] without MPI, [`Error::AlreadyInitialized`] the second time and if somebody else has initialised MPI,
    /// [`Error::Mismatch`] for another version, [`Error::Timeout`] if the ranks do not come within five minutes.
    pub fn world() -> Result<Communicator> {
        let (commands, inbox) = mpsc::channel();
        let (started, start) = mpsc::sync_channel(1);
        let (running, ended) = mpsc::channel::<()>();
        let thread = thread::Builder::new().name("metal-bridge-mpi".to_owned());
        let spawned = thread.spawn(move || {
            // Dropped when the thread ends.
            let _running = running;
            engine::run(inbox, &started);
        });
        let thread = spawned.map_err(|error| Error::Unsupported(format!("no thread: {error}")))?;
        let (rank, size) = start.recv_timeout(START).map_err(|_| Error::Timeout {
            operation: "world (MPI_Init_thread)".to_owned(),
            missing: Vec::new(),
            after: START,
        })??;
        let timeout = Arc::new(Mutex::new(Some(TIMEOUT)));
        let world = Communicator {
            group: Arc::new(Group::new(0, (0..size).collect(), rank)),
            world: Arc::new(World {
                commands,
                thread: thread.thread().id(),
                ended: Mutex::new(ended),
                next_id: AtomicU64::new(0),
                splits: Mutex::new(()),
                timeout: timeout.clone(),
            }),
            timeout,
        };
        world.wait_for_ranks(
            "Communicator::world",
            Header::new(Kind::World),
            Some(START),
            None,
        )?;
        Ok(world)
    }

    /// The rank of this process in the communicator: from 0 on.
    pub fn rank(&self) -> usize {
        self.group.index
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.group.size()
    }

    /// How long an operation that begins from now on may take, from the moment when the GPU has come to it: a minute if nothing else is
    /// said, and as long as it takes with `None`. For this communicator and its clones. That of [`world`](Communicator::world) is
    /// also how long the end waits for the other ranks.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        *self.timeout.lock().unwrap_or_else(PoisonError::into_inner) = timeout;
    }

    fn timeout(&self) -> Option<Duration> {
        *self.timeout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, on the CPU, until all ranks have called this. It does not wait for queues, whatever was committed to them before.
    ///
    /// A header from each rank to each (`MPI_Isend`, `MPI_Irecv`).
    ///
    /// # Errors
    ///
    /// Those between [ranks](Error).
    pub fn barrier(&self) -> Result<()> {
        let header = self.header(Kind::Barrier);
        self.wait_for_ranks("Communicator::barrier", header, self.timeout(), None)
    }

    /// Divides the ranks: those with the same color have the communicator that each gets, in the order of `key`, and for the same key of
    /// their ranks here. A rank without a color gets none. Its timeout begins as that of this one. All ranks call this, and wait for
    /// each other.
    ///
    /// As `MPI_Comm_split`, which could wait for ever: the ranks tell each other color and key as in a
    /// [`barrier`](Communicator::barrier), and messages of the new communicator have tags of their own.
    ///
    /// # Errors
    ///
    /// Those between [ranks](Error); [`Error::Unsupported`] for the 64th communicator that is made so.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Communicator>> {
        if thread::current().id() == self.world.thread {
            let operation = "split".to_owned();
            return Err(Error::Deadlock { operation });
        }
        // Two splits at once would agree on one number for both new communicators.
        let splits = &self.world.splits;
        let _one = splits.lock().unwrap_or_else(PoisonError::into_inner);
        let header = Header {
            color: color.map_or(-1, i64::from),
            key: key.into(),
            ..self.header(Kind::Split)
        };
        let found = SplitResult::default();
        let function = "Communicator::split";
        self.wait_for_ranks(function, header, self.timeout(), Some(found.clone()))?;
        let group = found.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(group.map(|group| Communicator {
            group,
            world: self.world.clone(),
            timeout: Arc::new(Mutex::new(self.timeout())),
        }))
    }

    /// Tells all ranks of the world that this one cannot go on, and why (492 bytes of it at most). All operations under way in any
    /// process, and all later ones, end with [`Error::Failed`], which names this rank and the reason. Buffers and queues can go on.
    ///
    /// Unlike `MPI_Abort`, this ends no process.
    pub fn abort(&self, reason: &str) {
        // If the thread has ended, nothing is under way.
        let _ = self.world.commands.send(Command::Abort(reason.to_owned()));
    }

    /// The header of the next call of all ranks' CPUs.
    fn header(&self, kind: Kind) -> Header {
        Header {
            ordinal: self.group.next_call(),
            ..Header::new(kind)
        }
    }

    /// The rank in the world of a rank here.
    pub(crate) fn world_rank(&self, operation: &'static str, rank: usize) -> Result<usize> {
        self.group.members.get(rank).copied().ok_or_else(|| {
            let size = self.size();
            let message = format!("there is no rank {rank}: the communicator has {size}");
            Error::InvalidArgument { operation, message }
        })
    }

    /// Numbers for this many operations, one after the other.
    pub(crate) fn ids(&self, count: usize) -> Range<u64> {
        let first = self
            .world
            .next_id
            .fetch_add(count as u64, Ordering::Relaxed);
        first..first + count as u64
    }

    pub(crate) fn commands(&self) -> Sender<Command> {
        self.world.commands.clone()
    }

    /// Hands an operation of this group to the MPI thread.
    pub(crate) fn start(&self, operation: Operation) {
        // If the thread has ended, the operation ends here, with an error.
        let _ = self
            .world
            .commands
            .send(Command::Start(Box::new(operation)));
    }

    /// The timeout of an operation that begins now.
    pub(crate) fn current_timeout(&self) -> Option<Duration> {
        self.timeout()
    }

    /// An operation of the CPU.
    fn wait_for_ranks(
        &self,
        function: &'static str,
        header: Header,
        timeout: Option<Duration>,
        split: Option<SplitResult>,
    ) -> Result<()> {
        let progress = Arc::new(Progress::new(header.to_string(), 1, None, &[]));
        self.start(Operation {
            id: self.ids(1).start,
            group: self.group.clone(),
            header,
            whole: None,
            own: None,
            split,
            timeout,
            progress: progress.clone(),
            part: 0,
            is_ready: true,
        });
        progress.wait(function, None)?.unwrap_or(Ok(()))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let timeout = *self.timeout.lock().unwrap_or_else(PoisonError::into_inner);
        let timeout = timeout.unwrap_or(TIMEOUT);
        // If the thread has ended, it is not waited for.
        let _ = self.commands.send(Command::Leave(timeout));
        if thread::current().id() != self.thread {
            let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            // MPI_Finalize may wait for ranks that do not call it.
            let _ = ended.recv_timeout(timeout.saturating_add(Duration::from_secs(5)));
        }
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank())
            .field("ranks_of_the_world", &self.group.members)
            .finish()
    }
}

//! The MPI thread: the one thread that calls MPI, and does the operations of all communicators.
//!
//! MPI allows calls of several threads only at the level `MPI_THREAD_MULTIPLE`, which not every build of it has, and which costs
//! locks. One thread needs `MPI_THREAD_FUNNELED`. It waits for nobody: it asks MPI and its channel again and again, ever more
//! seldom while nothing happens.

mod active;
mod command;
mod leaving;
mod meetings;
mod messages;
mod news;
mod steps;

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use active::Active;
pub(crate) use command::Command;
use command::Failure;
use meetings::Numbers;
use messages::{Leftovers, Pool};
use news::{News, Newsroom};

use crate::error::{Error, Result};
use crate::header::Kind;
use crate::library::Library;
use crate::operation::Operation;
use crate::progress;

/// How long the thread asks without a break after something has happened.
const BUSY: Duration = Duration::from_micros(100);
/// The longest break while an operation is under way, and while there is none.
const LONGEST_BREAK: Duration = Duration::from_millis(1);
const LONGEST_IDLE_BREAK: Duration = Duration::from_millis(10);

struct Engine {
    library: Library,
    /// Taken from the inbox while the thread had a break.
    commands: VecDeque<Command>,
    /// By their numbers.
    waiting: BTreeMap<u64, Operation>,
    active: Vec<Active>,
    /// Operations of each context that have begun.
    begun: BTreeMap<usize, u64>,
    leftovers: Vec<Leftovers>,
    pool: Pool,
    numbers: Numbers,
    next_context: usize,
    news: Newsroom,
    failure: Option<Failure>,
    /// When the thread ends at the latest, once the last communicator is gone.
    leaves: Option<Instant>,
    /// Since when nothing has happened.
    quiet: Instant,
    /// Whether an operation may begin that could not when this was looked at last.
    look: bool,
}

/// Initialises MPI, tells `started` of rank and size, and does what comes through `inbox` until the last communicator is gone.
pub(crate) fn run(inbox: Receiver<Command>, started: &SyncSender<Result<(usize, usize)>>) {
    let library = match Library::initialize() {
        Ok(library) => library,
        Err(error) => {
            // Nobody listens if that took too long.
            let _ = started.send(Err(error));
            return;
        }
    };
    let (rank, size) = (library.rank(), library.size());
    let news = match Newsroom::open(&library) {
        Ok(news) => news,
        Err(error) => {
            let _ = started.send(Err(error));
            return;
        }
    };
    if started.send(Ok((rank, size))).is_err() {
        // MPI receives into its memory.
        mem::forget(news);
        return;
    }
    progress::become_mpi_thread();
    let mut engine = Engine {
        library,
        commands: VecDeque::new(),
        waiting: BTreeMap::new(),
        active: Vec::new(),
        begun: BTreeMap::new(),
        leftovers: Vec::new(),
        pool: Pool::default(),
        numbers: Numbers::new(),
        next_context: 1,
        news,
        failure: None,
        leaves: None,
        quiet: Instant::now(),
        look: false,
    };
    let worked = panic::catch_unwind(AssertUnwindSafe(|| engine.work(&inbox)));
    match worked {
        Ok(()) => engine.leave(),
        // The operations end with errors. MPI may use the memory of their messages for ever.
        Err(_) => engine.give_up(),
    }
}

impl Engine {
    fn work(&mut self, inbox: &Receiver<Command>) {
        while !self.has_ended() {
            let mut changed = self.take_commands(inbox);
            changed |= self.hear();
            self.start();
            changed |= self.poll();
            self.rest(inbox, changed);
        }
    }

    fn take_commands(&mut self, inbox: &Receiver<Command>) -> bool {
        let mut changed = false;
        while let Some(command) = self.commands.pop_front().or_else(|| inbox.try_recv().ok()) {
            changed = true;
            self.look = true;
            match command {
                Command::Start(operation) => self.add(*operation),
                Command::Ready(ids) => self
                    .waiting
                    .range_mut(ids)
                    .for_each(|(_, operation)| operation.is_ready = true),
                Command::Dropped(ids) => self.cancel(ids),
                Command::Abort(reason) => {
                    let rank = self.library.rank();
                    let reason = format!("it aborted: {reason}");
                    self.fail(Failure { rank, reason });
                }
                Command::Leave(longest) => self.prepare_to_leave(longest),
            }
        }
        changed
    }

    fn add(&mut self, operation: Operation) {
        match &self.failure {
            None => _ = self.waiting.insert(operation.id, operation),
            Some(failure) => {
                let error = failure.of(&operation);
                operation.finish(Err(error));
            }
        }
    }

    fn cancel(&mut self, ids: Range<u64>) {
        for id in ids {
            if let Some(operation) = self.waiting.remove(&id) {
                let name = operation.header.to_string();
                operation.finish(Err(Error::Cancelled { operation: name }));
            }
        }
    }

    /// What other ranks say outside of operations.
    fn hear(&mut self) -> bool {
        match self.news.hear(&self.library) {
            Ok(None) => false,
            Ok(Some(News::Left)) => true,
            Ok(Some(News::Failed { rank, reason })) => {
                if self.failure.is_none() {
                    self.fail(Failure { rank, reason });
                }
                true
            }
            Err(error) => {
                let (rank, reason) = (self.library.rank(), error.to_string());
                if self.failure.is_none() {
                    self.fail(Failure { rank, reason });
                }
                false
            }
        }
    }

    /// Begins the operations whose data is there, in the order of their queue.
    fn start(&mut self) {
        if !mem::take(&mut self.look) {
            return;
        }
        let ready = self
            .waiting
            .iter()
            .filter(|(_, operation)| operation.is_ready);
        let mut ready: Vec<u64> = ready.map(|(id, _)| *id).collect();
        while !ready.is_empty() && self.failure.is_none() {
            let Some(position) = ready.iter().position(|id| self.may_begin(*id)) else {
                break;
            };
            let id = ready.remove(position);
            if let Some(operation) = self.waiting.remove(&id) {
                self.begin(operation);
            }
        }
        // One whose commit has not returned yet, or that waits for such a one.
        self.look = !ready.is_empty();
    }

    fn may_begin(&self, id: u64) -> bool {
        let Some(operation) = self.waiting.get(&id) else {
            return false;
        };
        let context = operation.group.context;
        let begun = self.begun.get(&context).copied().unwrap_or_default();
        let mut active = self.active.iter();
        if active.any(|active| active.is_of(context) && begun + 1 - active.order >= steps::NUMBERS)
        {
            return false;
        }
        let mut others = self
            .waiting
            .values()
            .filter(|other| other.group.context == context && other.id != id);
        // One that the GPU has not come to is not before this one, whatever the order of the commits was meant to be.
        operation.is_committed()
            && !others.any(|other| other.progress.has_come() && other.is_before(operation))
    }

    fn begin(&mut self, mut operation: Operation) {
        let has_failed = operation.loans().any(|loan| loan.has_failed());
        operation.header.has_failed = has_failed;
        operation.header.next_context = self.next_context;
        let order = self.begun.entry(operation.group.context).or_default();
        *order += 1;
        let (active, begun) = Active::begin(
            operation,
            *order,
            &self.library,
            &mut self.numbers,
            &mut self.pool,
        );
        match begun {
            Ok(()) => self.active.push(active),
            Err(error) => self.end(active, Err(error)),
        }
    }

    /// Goes on with all operations; says whether anything has happened.
    fn poll(&mut self) -> bool {
        let mut changed = false;
        let mut index = 0;
        while index < self.active.len() {
            let active = &mut self.active[index];
            let (moved, ended) = active.poll(&self.library, &mut self.pool, self.news.has_left());
            changed |= moved || ended.is_some();
            match ended {
                None => index += 1,
                Some(result) => {
                    let active = self.active.remove(index);
                    self.end(active, result);
                }
            }
        }
        let library = &self.library;
        self.leftovers.retain_mut(|left| !left.test(library));
        changed
    }

    fn end(&mut self, active: Active, result: Result<()>) {
        self.look = true;
        if active.operation.header.kind == Kind::Split && result.is_ok() {
            self.next_context = active.agreed_context() + 1;
        }
        let failure = result.as_ref().err().and_then(|error| self.fatal(error));
        let left = active.end(&self.library, &mut self.pool, result);
        self.leftovers.extend(left);
        if let Some(failure) = failure {
            self.fail(failure);
        }
    }

    /// What an error means for the other operations; `None` if they can go on.
    fn fatal(&self, error: &Error) -> Option<Failure> {
        let rank = match error {
            Error::Timeout { missing, .. } => missing.first().copied(),
            Error::Left { rank, .. } => Some(*rank),
            Error::Mpi { .. } => None,
            _ => return None,
        };
        let own = self.library.rank();
        Some(Failure {
            rank: rank.unwrap_or(own),
            reason: format!("rank {own} says: {error}"),
        })
    }

    /// Ends all operations, and tells the other ranks.
    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure.clone());
        self.news
            .tell_failure(&self.library, failure.rank, &failure.reason);
        for operation in mem::take(&mut self.waiting).into_values() {
            let error = failure.of(&operation);
            operation.finish(Err(error));
        }
        for active in mem::take(&mut self.active) {
            let error = failure.of(&active.operation);
            let left = active.end(&self.library, &mut self.pool, Err(error));
            self.leftovers.extend(left);
        }
    }

    /// Waits for a command, the longer the less has happened.
    fn rest(&mut self, inbox: &Receiver<Command>, changed: bool) {
        if changed {
            self.quiet = Instant::now();
            return;
        }
        let quiet = self.quiet.elapsed();
        if quiet < BUSY {
            thread::yield_now();
            return;
        }
        let is_idle = self.active.is_empty() && !self.look && self.leaves.is_none();
        let longest = if is_idle {
            LONGEST_IDLE_BREAK
        } else {
            LONGEST_BREAK
        };
        match inbox.recv_timeout((quiet / 8).min(longest)) {
            Ok(command) => self.commands.push_back(command),
            Err(RecvTimeoutError::Timeout) => {}
            // The communicators are gone, without a word.
            Err(RecvTimeoutError::Disconnected) => {
                self.leaves.get_or_insert_with(Instant::now);
            }
        }
    }
}

//! [`State`]: what each command has, and so which buffers a range of commands uses.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use crate::metal::access::Access;
use crate::metal::buffer::Buffer;
use crate::metal::handle::Handle;
use crate::metal::pipeline::{Argument, ArgumentAccess, ArgumentKind, ComputePipeline};
use crate::sys;

/// Buffers, each once.
type Uses = Vec<(Buffer, Access)>;

/// One thread at a time uses the handle, and so what the bridge keeps of the commands.
pub(super) struct State {
    pub(super) handle: Handle<sys::mtb_indirect_command_buffer>,
    pub(super) commands: Vec<Command>,
    /// Kernels have encoded commands, or will: nobody knows what the commands do.
    pub(super) are_of_kernels: bool,
    /// Of ranges that were executed: replays have a few.
    uses: VecDeque<(Range<usize>, Uses)>,
}

/// What a command has.
#[derive(Default)]
pub(super) struct Command {
    pub(super) pipeline: Option<ComputePipeline>,
    /// The index of the binding, and the buffer.
    pub(super) buffers: Vec<(usize, Buffer)>,
    pub(super) has_dispatch: bool,
    /// A blit encoder has reset it, or will: the bridge forgets what it has when it is encoded again.
    pub(super) is_reset_by_gpu: bool,
}

impl Command {
    /// The buffers, and what the kernel does with each: anything, if the kernel is not known.
    pub(super) fn uses(&self) -> impl Iterator<Item = (&Buffer, Access)> {
        self.buffers.iter().map(|(index, buffer)| {
            let reads_only = self
                .pipeline
                .as_ref()
                .is_some_and(|kernel| !writes(kernel, *index));
            match reads_only {
                true => (buffer, Access::Read),
                false => (buffer, Access::Write),
            }
        })
    }
}

/// Whether the kernel may write to the buffer at `index`. Metal names an array of buffers by its first index alone, and so
/// what lies behind an argument may belong to it.
fn writes(kernel: &ComputePipeline, index: usize) -> bool {
    let writes = |argument: &Argument| argument.access != ArgumentAccess::ReadOnly;
    let buffers = kernel
        .arguments()
        .iter()
        .filter(|argument| argument.kind == ArgumentKind::Buffer && argument.index <= index);
    buffers
        .max_by_key(|argument| (argument.index, writes(argument)))
        .is_some_and(writes)
}

impl State {
    pub(super) fn new(handle: Handle<sys::mtb_indirect_command_buffer>, count: usize) -> State {
        State {
            handle,
            commands: (0..count).map(|_| Command::default()).collect(),
            are_of_kernels: false,
            uses: VecDeque::new(),
        }
    }

    /// The command, which changes now, and what it had if the GPU has reset it. The drop of a buffer may call the program,
    /// so that it waits until the lock is given back.
    pub(super) fn change(&mut self, index: usize) -> (&mut Command, Option<Command>) {
        self.uses.clear();
        let command = &mut self.commands[index];
        let forgotten = command.is_reset_by_gpu.then(|| mem::take(command));
        (command, forgotten)
    }

    /// The commands of the range do nothing any more. Returns what they had.
    pub(super) fn forget(&mut self, range: Range<usize>) -> Vec<Command> {
        self.uses.clear();
        self.are_of_kernels &= range != (0..self.commands.len());
        self.commands[range].iter_mut().map(mem::take).collect()
    }

    /// The buffers that the commands of the range use, each once.
    pub(super) fn uses(&mut self, range: &Range<usize>) -> &[(Buffer, Access)] {
        let known = self.uses.iter().position(|(of, _)| of == range);
        let index = known.unwrap_or_else(|| {
            self.uses.truncate(KNOWN_RANGES - 1);
            let used = united(&self.commands[range.clone()]);
            self.uses.push_front((range.clone(), used));
            0
        });
        &self.uses[index].1
    }
}

/// Of so many ranges it is remembered what they use.
const KNOWN_RANGES: usize = 8;

fn united(commands: &[Command]) -> Uses {
    let mut places = HashMap::new();
    let mut all = Uses::new();
    let launched = commands.iter().filter(|command| command.has_dispatch);
    for (buffer, access) in launched.flat_map(Command::uses) {
        let place = *places
            .entry(Arc::as_ptr(buffer.inner()))
            .or_insert(all.len());
        match all.get_mut(place) {
            Some((_, united)) if access == Access::Write => *united = access,
            Some(_) => {}
            None => all.push((buffer.clone(), access)),
        }
    }
    all
}

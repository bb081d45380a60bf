//! Random sequences of operations and of work between them, on several buffers, against a model of all ranks' memory.

use std::env;
use std::ops::Range;

use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge::{Buffer, CommandBuffer, StorageMode};
use metal_bridge_distributed::{Communicator, Elements, Exchange};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::model::{Memory, combined, encode};
use crate::ranks::{LONG, Ranks};

/// Buffers, each of one type: the last is only moved.
const TYPES: [DataType; 4] = [DataType::F32, DataType::F16, DataType::BF16, DataType::U8];
const COUNT: usize = 30_000;

/// Seeds, and steps of each. Between checks of the memory there are only so many that no sum overflows to what is not a number.
const SEEDS: u64 = 4;
const STEPS: usize = 60;
const CHECK_EVERY: usize = 7;

pub fn sequences(ranks: &Ranks) {
    let first = env::var("METAL_BRIDGE_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    // The same at all ranks: `split` is collective.
    let (rank, size) = (ranks.rank(), ranks.size());
    let colors: Vec<u32> = (0..size).map(|rank| (rank % 2) as u32).collect();
    let half = ranks
        .world
        .split(Some(colors[rank]), -(rank as i32))
        .unwrap()
        .expect("a color");
    for seed in first..first + SEEDS {
        Sequence::new(ranks, &half, seed).run();
    }
}

struct Sequence<'r> {
    ranks: &'r Ranks,
    half: &'r Communicator,
    seed: u64,
    /// Gives all ranks the same numbers.
    random: SmallRng,
    buffers: Vec<Buffer>,
    memory: Vec<Memory>,
    commands: Option<CommandBuffer>,
    exchanges: Vec<Exchange>,
}

impl<'r> Sequence<'r> {
    fn new(ranks: &'r Ranks, half: &'r Communicator, seed: u64) -> Sequence<'r> {
        let buffer = |data_type: &DataType| {
            let length = COUNT * data_type.size();
            ranks
                .device
                .new_buffer(length, StorageMode::Shared)
                .unwrap()
        };
        Sequence {
            ranks,
            half,
            seed,
            random: SmallRng::seed_from_u64(seed),
            buffers: TYPES.iter().map(buffer).collect(),
            memory: Vec::new(),
            commands: None,
            exchanges: Vec::new(),
        }
    }

    fn run(mut self) {
        for step in 0..STEPS {
            if step % CHECK_EVERY == 0 {
                self.check(step);
                self.write();
            }
            self.step();
        }
        self.check(STEPS);
    }

    /// New values for all ranks.
    fn write(&mut self) {
        self.memory.clear();
        for (data_type, buffer) in TYPES.iter().zip(&self.buffers) {
            let mut memory = Memory::new();
            for _ in 0..self.ranks.size() {
                let numbers = (0..COUNT).flat_map(|_| match data_type {
                    DataType::U8 => vec![self.random.random()],
                    _ => encode(*data_type, self.random.random_range(0.0..2.0)),
                });
                memory.push(numbers.collect());
            }
            buffer
                .wait_copy_from_slice(0, &memory[self.ranks.rank()])
                .unwrap();
            self.memory.push(memory);
        }
    }

    fn check(&mut self, step: usize) {
        if let Some(commands) = self.commands.take() {
            commands.commit().unwrap();
        }
        for exchange in self.exchanges.drain(..) {
            exchange
                .wait_timeout(LONG)
                .unwrap_or_else(|error| panic!("{exchange:?}: {error}"));
        }
        let rank = self.ranks.rank();
        for (index, memory) in self.memory.iter().enumerate() {
            let bytes = self.buffers[index].wait_read::<u8>().unwrap();
            let differs = (0..bytes.len()).find(|at| bytes[*at] != memory[rank][*at]);
            assert_eq!(
                differs, None,
                "rank {rank}, seed {}, before step {step}, buffer {index}",
                self.seed
            );
        }
    }

    fn step(&mut self) {
        match self.random.random_range(0..12) {
            0 => self.fill(),
            1 => self.ranks.world.barrier().unwrap(),
            2..=5 => self.all_reduce(),
            6 => self.gather(),
            7 => self.scatter(),
            8 | 9 => self.broadcast(),
            _ => self.pair(),
        }
    }

    /// A range of elements: few, many, or none.
    fn range(&mut self) -> Range<usize> {
        let most = [1, 40, 5_000, COUNT + 1][self.random.random_range(0..4)];
        let count = self.random.random_range(0..most);
        let start = self.random.random_range(0..=COUNT - count);
        start..start + count
    }

    fn bytes(buffer: usize, range: &Range<usize>) -> Range<usize> {
        let size = TYPES[buffer].size();
        range.start * size..range.end * size
    }

    /// The communicator of the next operation, and the ranks that this rank is in it with, in their order.
    fn members(&mut self) -> (&'r Communicator, Vec<Vec<usize>>) {
        let size = self.ranks.size();
        if self.random.random_bool(0.7) {
            return (&self.ranks.world, vec![(0..size).collect()]);
        }
        // Keys fall with the ranks.
        let of = |color| (0..size).rev().filter(|rank| rank % 2 == color).collect();
        (self.half, vec![of(0), of(1)])
    }

    /// Calls `encode` within the open command buffer, or in one of its own; at times another buffer is filled before the wait.
    fn exchange(
        &mut self,
        own: impl FnOnce(&Ranks, &[Buffer]) -> Exchange,
        encode: impl FnOnce(&mut CommandBuffer, &[Buffer]) -> Exchange,
    ) {
        if self.random.random_bool(0.4) {
            if let Some(commands) = self.commands.take() {
                commands.commit().unwrap();
            }
            self.exchanges.push(own(self.ranks, &self.buffers));
            return;
        }
        let commands = self
            .commands
            .get_or_insert_with(|| self.ranks.queue.command_buffer().unwrap());
        let exchange = encode(commands, &self.buffers);
        let parts = exchange.parts();
        if self.random.random_bool(0.5) {
            (0..parts).for_each(|part| exchange.encode_wait(commands, part).unwrap());
        } else {
            exchange.encode_wait(commands, parts - 1).unwrap();
        }
        self.exchanges.push(exchange);
        if self.random.random_bool(0.5) {
            self.commands.take().unwrap().commit().unwrap();
        }
    }

    fn fill(&mut self) {
        let (buffer, range) = (self.random.random_range(0..TYPES.len()), self.range());
        let value = self.random.random_range(0..60);
        // Fills are of whole words.
        let bytes = Self::bytes(buffer, &range);
        let bytes = bytes.start / 4 * 4..bytes.end / 4 * 4;
        self.memory[buffer]
            .iter_mut()
            .for_each(|memory| memory[bytes.clone()].fill(value));
        if bytes.is_empty() {
            return;
        }
        let commands = self
            .commands
            .get_or_insert_with(|| self.ranks.queue.command_buffer().unwrap());
        let mut blit = commands.blit_command_encoder().unwrap();
        blit.fill(&self.buffers[buffer], bytes, value).unwrap();
        blit.end_encoding().unwrap();
    }

    fn combine(&mut self) -> Combine {
        [Combine::Sum, Combine::Min, Combine::Max][self.random.random_range(0..3)]
    }

    fn all_reduce(&mut self) {
        let (buffer, range, combine) =
            (self.random.random_range(0..3), self.range(), self.combine());
        let (communicator, groups) = self.members();
        let parts = self.random.random_range(1..6);
        let bytes = Self::bytes(buffer, &range);
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let ranks: Vec<Vec<u8>> = group
                .iter()
                .map(|rank| self.memory[buffer][*rank][bytes.clone()].to_vec())
                .collect();
            let result = combined(TYPES[buffer], combine, &ranks);
            for rank in group {
                self.memory[buffer][rank][bytes.clone()].copy_from_slice(&result);
            }
        }
        self.exchange(
            |ranks, buffers| {
                let elements = Elements::new(&buffers[buffer], range.clone(), TYPES[buffer]);
                communicator
                    .all_reduce(&ranks.queue, &elements, combine)
                    .unwrap()
            },
            |commands, buffers| {
                let elements = Elements::new(&buffers[buffer], range.clone(), TYPES[buffer]);
                communicator
                    .encode_all_reduce(commands, &elements, combine, parts)
                    .unwrap()
            },
        );
    }

    /// Ranges of a buffer for each rank's part and for the whole, which do not overlap; parts are uneven.
    fn parts(&mut self) -> (Vec<Range<usize>>, Range<usize>) {
        let size = self.ranks.size();
        let most = [2, 50, COUNT / 2 / size][self.random.random_range(0..3)];
        let counts: Vec<usize> = (0..size)
            .map(|_| self.random.random_range(0..most))
            .collect();
        let whole = self.random.random_range(0..100);
        let whole = whole..whole + counts.iter().sum::<usize>();
        let parts = counts.iter().map(|count| {
            let start = self.random.random_range(whole.end..=COUNT - count);
            start..start + count
        });
        (parts.collect(), whole)
    }

    fn gather(&mut self) {
        let buffer = self.random.random_range(0..TYPES.len());
        let (parts, whole) = self.parts();
        let all = self.memory[buffer].iter().zip(&parts);
        let all: Vec<u8> = all
            .flat_map(|(memory, part)| memory[Self::bytes(buffer, part)].to_vec())
            .collect();
        let bytes = Self::bytes(buffer, &whole);
        self.memory[buffer]
            .iter_mut()
            .for_each(|memory| memory[bytes.clone()].copy_from_slice(&all));
        let (world, own) = (&self.ranks.world, parts[self.ranks.rank()].clone());
        self.exchange(
            |ranks, buffers| {
                let memory = &buffers[buffer];
                let own = Elements::new(memory, own.clone(), TYPES[buffer]);
                let all = Elements::new(memory, whole.clone(), TYPES[buffer]);
                world.all_gather(&ranks.queue, &own, &all).unwrap()
            },
            |commands, buffers| {
                let memory = &buffers[buffer];
                let own = Elements::new(memory, own.clone(), TYPES[buffer]);
                let all = Elements::new(memory, whole.clone(), TYPES[buffer]);
                world.encode_all_gather(commands, &own, &all).unwrap()
            },
        );
    }

    fn scatter(&mut self) {
        let (buffer, combine) = (self.random.random_range(0..3), self.combine());
        let (parts, whole) = self.parts();
        let bytes = Self::bytes(buffer, &whole);
        let ranks: Vec<Vec<u8>> = self.memory[buffer]
            .iter()
            .map(|memory| memory[bytes.clone()].to_vec())
            .collect();
        let result = combined(TYPES[buffer], combine, &ranks);
        let mut start = 0;
        for (memory, part) in self.memory[buffer].iter_mut().zip(&parts) {
            let bytes = Self::bytes(buffer, part);
            let end = start + bytes.len();
            memory[bytes].copy_from_slice(&result[start..end]);
            start = end;
        }
        let (world, own) = (&self.ranks.world, parts[self.ranks.rank()].clone());
        self.exchange(
            |ranks, buffers| {
                let memory = &buffers[buffer];
                let own = Elements::new(memory, own.clone(), TYPES[buffer]);
                let all = Elements::new(memory, whole.clone(), TYPES[buffer]);
                world
                    .reduce_scatter(&ranks.queue, &all, &own, combine)
                    .unwrap()
            },
            |commands, buffers| {
                let memory = &buffers[buffer];
                let own = Elements::new(memory, own.clone(), TYPES[buffer]);
                let all = Elements::new(memory, whole.clone(), TYPES[buffer]);
                world
                    .encode_reduce_scatter(commands, &all, &own, combine)
                    .unwrap()
            },
        );
    }

    fn broadcast(&mut self) {
        let (buffer, range) = (self.random.random_range(0..TYPES.len()), self.range());
        let (communicator, groups) = self.members();
        let smallest = groups
            .iter()
            .map(Vec::len)
            .filter(|size| *size > 0)
            .min()
            .expect("a group");
        let root = self.random.random_range(0..smallest);
        let bytes = Self::bytes(buffer, &range);
        for group in groups.into_iter().filter(|group| !group.is_empty()) {
            let values = self.memory[buffer][group[root]][bytes.clone()].to_vec();
            for rank in group {
                self.memory[buffer][rank][bytes.clone()].copy_from_slice(&values);
            }
        }
        self.exchange(
            |ranks, buffers| {
                let elements = Elements::new(&buffers[buffer], range.clone(), TYPES[buffer]);
                communicator
                    .broadcast(&ranks.queue, root, &elements)
                    .unwrap()
            },
            |commands, buffers| {
                let elements = Elements::new(&buffers[buffer], range.clone(), TYPES[buffer]);
                communicator
                    .encode_broadcast(commands, root, &elements)
                    .unwrap()
            },
        );
    }

    fn pair(&mut self) {
        let size = self.ranks.size();
        let (from, to) = (
            self.random.random_range(0..size),
            self.random.random_range(0..size),
        );
        let (buffer, range) = (self.random.random_range(0..TYPES.len()), self.range());
        if from == to {
            return;
        }
        let bytes = Self::bytes(buffer, &range);
        let values = self.memory[buffer][from][bytes.clone()].to_vec();
        self.memory[buffer][to][bytes].copy_from_slice(&values);
        // Numbers for the form are drawn by all ranks.
        let (world, rank) = (&self.ranks.world, self.ranks.rank());
        if rank != from && rank != to {
            let state = self.random.random_bool(0.4);
            if !state {
                self.random.random_bool(0.5);
                self.random.random_bool(0.5);
            }
            return;
        }
        self.exchange(
            |ranks, buffers| {
                let elements = Elements::new(&buffers[buffer], range.clone(), TYPES[buffer]);
                match rank == from {
                    true => world.send(&ranks.queue, to, &elements).unwrap(),
                    false => world.receive(&ranks.queue, from, &elements).unwrap(),
                }
            },
            |commands, buffers| {
                let elements = Elements::new(&buffers[buffer], range.clone(), TYPES[buffer]);
                match rank == from {
                    true => world.encode_send(commands, to, &elements).unwrap(),
                    false => world.encode_receive(commands, from, &elements).unwrap(),
                }
            },
        );
    }
}

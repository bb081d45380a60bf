//! Random programs over several devices against a model, while command buffers fail, devices are lost and memory is refused.
#![cfg(software_metal)]

use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge_test_support::{failures, in_child_with};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::collectives::Ranks;
use crate::*;

/// Buffers of each device, and numbers in each of them.
const BUFFERS: usize = 3;
const COUNT: usize = 257;

/// A buffer and its numbers, which nobody knows after a step that should have written to it has failed.
struct Cell {
    buffer: Buffer,
    numbers: Option<Vec<u32>>,
}

struct Program {
    ranks: Ranks,
    random: SmallRng,
    /// Those of each device.
    cells: Vec<Vec<Cell>>,
    failures: usize,
}

impl Program {
    fn new(seed: u64) -> Program {
        let mut program = Program {
            ranks: Ranks::all(),
            random: SmallRng::seed_from_u64(seed),
            cells: Vec::new(),
            failures: 0,
        };
        program.cells = (0..program.ranks.devices.len())
            .map(|rank| (0..BUFFERS).map(|_| program.fresh(rank)).collect())
            .collect();
        program
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random.random_range(0..limit)
    }

    fn fresh(&mut self, rank: usize) -> Cell {
        let numbers: Vec<u32> = (0..COUNT).map(|_| self.random.random()).collect();
        let mode = MODES[self.below(MODES.len())];
        let bytes: &[u8] = bytemuck::cast_slice(&numbers);
        let buffer = self.ranks.devices[rank].new_buffer(bytes.len(), mode);
        let buffer = buffer.unwrap();
        // It ends before anything can fail.
        let copy = self.ranks.queue(rank).copy(bytes, buffer.at(0));
        copy.run().unwrap();
        Cell {
            buffer,
            numbers: Some(numbers),
        }
    }

    /// Perhaps something fails in the next step, and perhaps the step ends before.
    fn inject(&mut self) {
        let nth = 1 + self.below(10) as u64;
        match self.below(5) {
            0 => failures::fail_command_buffer(nth, OUT_OF_MEMORY),
            1 => failures::lose_device(nth),
            2 => failures::fail_allocation(nth),
            _ => {}
        }
    }

    /// One step, which reads known numbers only.
    fn step(&mut self) {
        for rank in 0..self.cells.len() {
            for index in 0..BUFFERS {
                if self.cells[rank][index].numbers.is_none() {
                    self.cells[rank][index] = self.fresh(rank);
                }
            }
        }
        let (from, to) = (self.below(self.cells.len()), self.below(self.cells.len()));
        let (index, other) = (self.below(BUFFERS), self.below(BUFFERS));
        let known = |cell: &Cell| cell.numbers.clone().unwrap();
        let row: Vec<Vec<u32>> = self
            .cells
            .iter()
            .map(|cells| known(&cells[index]))
            .collect();
        let kind = self.below(4);
        self.inject();
        let buffers: Vec<&Buffer> = self
            .cells
            .iter()
            .map(|cells| &cells[index].buffer)
            .collect();
        let exchange = &self.ranks.communicator;
        // What comes of it: the places that are written, and their numbers.
        let (outcome, written) = match kind {
            0 => {
                let sum = |place: usize| {
                    let numbers = row.iter().map(|numbers| numbers[place]);
                    numbers.fold(0, u32::wrapping_add)
                };
                let sums: Vec<u32> = (0..COUNT).map(sum).collect();
                let ended = exchange.all_reduce(&buffers, DataType::U32, Combine::Sum);
                let everywhere = (0..buffers.len()).map(|rank| (rank, index, sums.clone()));
                let written: Vec<_> = everywhere.collect();
                (ended.and_then(|ended| ended.wait_timeout(LONG)), written)
            }
            1 => {
                let ended = exchange.broadcast(from, &buffers);
                let others = (0..buffers.len()).filter(|rank| *rank != from);
                let written = others.map(|rank| (rank, index, row[from].clone()));
                let written: Vec<_> = written.collect();
                (ended.and_then(|ended| ended.wait_timeout(LONG)), written)
            }
            2 => {
                let destination = &self.cells[to][other].buffer;
                if (from, index) == (to, other) {
                    failures::reset();
                    return;
                }
                let copy = self.ranks.queue(to);
                let copy = copy.copy(buffers[from].range(..), destination.at(0));
                (copy.run(), vec![(to, other, row[from].clone())])
            }
            _ => {
                let fill = self.ranks.queue(to).fill(buffers[to].range(..), 7u32);
                (fill.run(), vec![(to, index, vec![7; COUNT])])
            }
        };
        failures::reset();
        if let Err(error) = &outcome {
            let is_expected = matches!(error, Error::CommandBuffer(_) | Error::OutOfMemory(_));
            assert!(is_expected, "{error:?}");
            self.failures += 1;
        }
        for (rank, index, numbers) in written {
            self.cells[rank][index].numbers = outcome.is_ok().then_some(numbers);
        }
    }

    fn check(&self, when: &str) {
        for (rank, cells) in self.cells.iter().enumerate() {
            for (index, cell) in cells.iter().enumerate() {
                let Some(numbers) = &cell.numbers else {
                    continue;
                };
                let bytes = contents(self.ranks.queue(rank), &cell.buffer);
                let there = bytemuck::cast_slice::<u8, u32>(&bytes);
                assert!(there == numbers, "{when}: buffer {index} of device {rank}");
            }
        }
    }
}

fn run(seeds: u64) {
    for seed in 0..seeds {
        let mut program = Program::new(seed);
        for step in 0..100 {
            program.step();
            program.check(&format!("seed {seed}, step {step}"));
        }
        assert!(program.failures >= 10, "{} failures", program.failures);
    }
}

macro_rules! programs {
    ($($name:ident, [$($variable:ident = $value:expr),*];)*) => {
        $(#[test]
        fn $name() {
            let variables = [$((concat!("SOFTWARE_METAL_", stringify!($variable)), $value)),*];
            let test = concat!("collective_programs::", stringify!($name));
            in_child_with(test, &variables, || run(3));
        })*
    };
}

programs! {
    what_fails_changes_nothing_else_on_peers, [DEVICES = "3", PEERS = "1", UNIFIED = "0", SHUFFLE = "3", POISON = "1"];
    what_fails_changes_nothing_else_over_links, [DEVICES = "3", UNIFIED = "0", LINK = "8,50", DELAY = "50"];
    what_fails_changes_nothing_else_on_five_devices, [DEVICES = "5", SHUFFLE = "11"];
}

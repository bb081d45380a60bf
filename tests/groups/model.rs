//! Threads in memory, and what the calls of groups give each of them. Numbers are small enough that every type has every
//! sum of a threadgroup exactly.

use metal_bridge::Size;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// x -> a * x + b.
type Step = [u32; 2];

pub struct Threads {
    pub size: Size,
    pub values: Vec<i32>,
    pub choices: Vec<u32>,
}

/// What SIMD-groups have, in threads.
const SIMD_WIDTH: usize = 32;

fn step(value: i32) -> Step {
    [value as u32 + 1, 3]
}

fn then(f: Step, g: Step) -> Step {
    let a = f[0].wrapping_mul(g[0]);
    [a, f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
}

fn packed(step: Step) -> i64 {
    ((u64::from(step[0]) << 32) | u64::from(step[1])) as i64
}

fn composed(values: &[i32]) -> i64 {
    packed(values.iter().map(|&value| step(value)).fold([1, 0], then))
}

fn sum(values: &[i32]) -> i64 {
    values.iter().map(|&value| i64::from(value)).sum()
}

fn smallest(values: &[i32]) -> i64 {
    values.iter().copied().min().map_or(100, i64::from)
}

fn largest(values: &[i32]) -> i64 {
    i64::from(values.iter().copied().max().expect("a value"))
}

/// As `shuffles_and_votes` of the kernels.
fn shuffles_and_votes(values: &[i32], choices: &[bool], rank: usize) -> Vec<i64> {
    let at = |rank: usize| i64::from(values[rank]);
    let size = values.len();
    let below = |delta: usize| at(if delta <= rank { rank - delta } else { rank });
    let above = |delta: usize| {
        at(if rank + delta < size {
            rank + delta
        } else {
            rank
        })
    };
    let ballot = (0..size).filter(|&i| choices[i]).map(|i| 1i64 << i).sum();
    vec![
        rank as i64,
        size as i64,
        at(0),
        at(size - 1),
        below(1),
        below(3),
        above(1),
        above(5),
        i64::from(choices[size / 2]),
        i64::from(choices.contains(&true)),
        i64::from(!choices.contains(&false)),
        ballot,
    ]
}

/// As `scans` of the kernels.
fn scans(values: &[i32], rank: usize) -> Vec<i64> {
    let (through, before) = (&values[..=rank], &values[..rank]);
    vec![
        sum(through),
        sum(before),
        sum(values),
        smallest(values),
        largest(values),
        smallest(before),
        before
            .iter()
            .map(|&value| i64::from(value) + 1)
            .max()
            .unwrap_or(0),
        largest(through),
    ]
    .into_iter()
    .chain(bits(values, rank))
    .chain([composed(through), composed(before), composed(values)])
    .collect()
}

/// As `bits` of the kernels.
fn bits(values: &[i32], rank: usize) -> Vec<i64> {
    let at = |rank: usize| i64::from(values[rank]);
    let fold = |first: i64, of: &[i32], operation: fn(i64, i64) -> i64| {
        of.iter()
            .map(|&value| i64::from(value))
            .fold(first, operation)
    };
    let before = &values[..rank];
    // No bits of none are all of 32.
    let none = i64::from(u32::MAX);
    let and = |a: i64, b: i64| a & (b | 256);
    vec![
        fold(none, values, and),
        fold(0, values, |a, b| a | b),
        fold(0, values, |a, b| a ^ b),
        fold(none, before, and),
        fold(0, before, |a, b| a | b),
        fold(0, before, |a, b| a ^ b),
        -sum(values),
        at(rank.saturating_sub(1)) << 40,
        -largest(values),
        at((rank + 1).min(values.len() - 1)),
    ]
}

impl Threads {
    pub fn random(size: [usize; 2], groups: usize, seed: u64) -> Threads {
        let mut random = SmallRng::seed_from_u64(seed);
        let in_group = size[0] * size[1];
        let count = in_group * groups;
        // Sums stay below 256, which is as far as bf16 counts.
        let share = (32.0 / in_group as f64).min(1.0);
        let value = |random: &mut SmallRng| match random.random_bool(share) {
            true => random.random_range(0..8),
            false => 0,
        };
        Threads {
            size: Size::new(size[0], size[1], 1),
            values: (0..count).map(|_| value(&mut random)).collect(),
            choices: (0..count).map(|_| random.random_range(0..2)).collect(),
        }
    }

    fn in_group(&self) -> usize {
        self.size.width * self.size.height
    }

    /// The numbers of the threads that share a tile of `size` with `thread`.
    fn of_tile(&self, thread: usize, size: usize) -> std::ops::Range<usize> {
        let group = thread / self.in_group() * self.in_group();
        let first = thread - (thread - group) % size;
        first..(first + size).min(group + self.in_group())
    }

    /// As `tile` of the kernels.
    pub fn tile(&self, thread: usize, size: usize) -> Vec<i64> {
        let range = self.of_tile(thread, size);
        let index = thread % self.in_group();
        let rank = thread - range.start;
        let values = &self.values[range.clone()];
        let choices: Vec<bool> = range.map(|i| self.choices[i] != 0).collect();
        let exchanged = |mask: usize| {
            i64::from(
                values[if (rank ^ mask) < values.len() {
                    rank ^ mask
                } else {
                    rank
                }],
            )
        };
        let mut calls = vec![
            (index / size) as i64,
            self.in_group().div_ceil(size) as i64,
            exchanged(size / 2),
            exchanged(3),
        ];
        calls.extend(shuffles_and_votes(values, &choices, rank));
        calls.extend(scans(values, rank));
        calls
    }

    /// As `active_threads`: nothing for a thread that is in neither branch.
    pub fn active(&self, thread: usize) -> Option<Vec<i64>> {
        let branch = |i: usize| match (self.choices[i] != 0, self.values[i] > 3) {
            (true, _) => Some(4),
            (false, true) => Some(5),
            (false, false) => None,
        };
        let limit = branch(thread)?;
        let simdgroup = self.of_tile(thread, SIMD_WIDTH);
        let members: Vec<usize> = simdgroup.filter(|&i| branch(i) == Some(limit)).collect();
        let values: Vec<i32> = members.iter().map(|&i| self.values[i]).collect();
        let choices: Vec<bool> = values.iter().map(|&value| value > limit).collect();
        let rank = members.iter().position(|&i| i == thread).expect("itself");
        let mut calls = shuffles_and_votes(&values, &choices, rank);
        calls.extend(scans(&values, rank));
        Some(calls)
    }

    /// As `block` of the kernels.
    pub fn block(&self, thread: usize) -> Vec<i64> {
        let range = self.of_tile(thread, self.in_group());
        let rank = thread - range.start;
        let values = &self.values[range];
        let (through, before) = (&values[..=rank], &values[..rank]);
        let simdgroup = self.of_tile(thread, SIMD_WIDTH);
        let mirrored = simdgroup.end - 1 - (thread - simdgroup.start);
        vec![
            rank as i64,
            values.len() as i64,
            (rank % SIMD_WIDTH) as i64,
            self.size.height as i64,
            1,
            1,
            1,
            sum(through),
            sum(before),
            sum(values),
            largest(values),
            smallest(values),
            smallest(before),
            composed(through),
            composed(before),
            composed(values),
            i64::from(values[values.len() - 1 - rank]),
            i64::from(self.values[mirrored]),
        ]
    }
}

//! `cooperative_groups.h`: every call, in every type and size of groups, against a model of threads in memory.
#![cfg(metal_backend)]

mod grid;
mod model;
mod run;
mod scan;
#[cfg(software_metal)]
mod sources;
mod ways;

use model::Threads;
use run::{GROUPS, Kernels, TYPES};

/// Threadgroups of whole SIMD-groups and of parts of them, in one and two dimensions.
const SIZES: [[usize; 2]; 9] = [
    [1, 1],
    [5, 1],
    [32, 1],
    [33, 1],
    [8, 5],
    [64, 1],
    [25, 4],
    [250, 1],
    [32, 32],
];

/// Compares the results of all threads, call by call, of the calls that `expected` lists for each thread.
fn compare(kernel: &str, expected: impl Fn(&Threads, usize) -> Option<Vec<i64>>) {
    for kind in TYPES {
        let kernels = Kernels::new(kind, kernel);
        for size in SIZES {
            let threads = Threads::random(size, GROUPS, (size[0] * 7 + size[1]) as u64);
            let results = kernels.run(&threads);
            let count = threads.values.len();
            for thread in 0..count {
                let Some(calls) = expected(&threads, thread) else {
                    continue;
                };
                for (call, wanted) in calls.iter().enumerate() {
                    let found = results[call * count + thread];
                    assert_eq!(
                        found, *wanted,
                        "{kernel} of {kind}, {size:?} threads: thread {thread}, call {call}"
                    );
                }
            }
        }
    }
}

#[test]
fn tiles_do_what_the_model_does() {
    compare("tiles", |threads, thread| {
        let tiles = [1, 2, 4, 8, 16, 32].map(|size| threads.tile(thread, size));
        Some(tiles.concat())
    });
}

#[test]
fn active_threads_are_a_group() {
    compare("active_threads", Threads::active);
}

#[test]
fn threadgroups_do_what_the_model_does() {
    compare("block", |threads, thread| Some(threads.block(thread)));
}

//! [`calculate_occupancy`]: how many threads a core holds at a time.

use super::{KernelProfile, SIMD_WIDTH};
use crate::error::{Error, Failure, Result};

/// What one core of a GPU holds at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreLimits {
    /// Threads, if each uses few registers.
    pub threads: usize,
    /// Bytes of threadgroup memory.
    pub threadgroup_memory: usize,
    /// Cores of the GPU.
    pub cores: usize,
}

impl CoreLimits {
    /// A core of the families Apple7 and Apple8 (M1, M2), which Apple does not document: others have measured 3,072 threads of
    /// few registers, down to 768 of many, and 64 KiB (the repository `philipturner/metal-benchmarks`).
    pub fn apple7(cores: usize) -> CoreLimits {
        CoreLimits {
            threads: 3072,
            threadgroup_memory: 64 << 10,
            cores,
        }
    }
}

/// What keeps more threadgroups out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// The threads of a core.
    Threads,
    /// The threadgroup memory of a core.
    ThreadgroupMemory,
    /// The dispatch: it has no more threadgroups for a core.
    Threadgroups,
}

impl Limit {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Threads => "threads",
            Limit::ThreadgroupMemory => "threadgroup memory",
            Limit::Threadgroups => "the number of threadgroups",
        }
    }
}

/// How a dispatch fills a core.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Threadgroups on a core at a time.
    pub groups: usize,
    /// Threads on a core at a time, in whole SIMD-groups: lanes without a thread take their room too.
    pub threads: usize,
    /// The share of the core's threads that have work: 1 is the best.
    pub share: f64,
    /// What keeps more threadgroups out.
    pub limit: Limit,
}

/// How many threads of a dispatch each core holds at a time, if threadgroups spread evenly over the cores and registers do not
/// limit them. `threadgroup_memory` is the bytes that a threadgroup uses. It is an estimate: Apple publishes neither the
/// limits of a core nor how threadgroups are placed.
///
/// ```
/// use metal_bridge::analysis::{CoreLimits, Limit, calculate_occupancy};
///
/// // 20 KiB for each threadgroup: three of them fill a core's memory, and a quarter of its threads.
/// let occupancy = calculate_occupancy(256, 1000, 20 << 10, &CoreLimits::apple7(8))?;
/// assert_eq!((occupancy.groups, occupancy.share), (3, 0.25));
/// assert_eq!(occupancy.limit, Limit::ThreadgroupMemory);
/// # Ok::<(), metal_bridge::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] if threads, threadgroups, cores or a core's threads are 0; [`Error::OutOfRange`] for a
/// threadgroup that does not fit into a core.
pub fn calculate_occupancy(
    threads_per_group: usize,
    groups: usize,
    threadgroup_memory: usize,
    core: &CoreLimits,
) -> Result<Occupancy> {
    let failure = |message: String| Failure::new("calculate_occupancy", message);
    let sizes = [threads_per_group, groups, core.threads, core.cores];
    if sizes.contains(&0) {
        let message = "threads, threadgroups, cores and their threads are at least 1".to_owned();
        return Err(Error::InvalidArgument(failure(message)));
    }
    let room = threads_per_group
        .div_ceil(SIMD_WIDTH)
        .saturating_mul(SIMD_WIDTH);
    if room > core.threads {
        let message = format!(
            "a threadgroup takes the room of {room} threads, and a core has {}",
            core.threads
        );
        return Err(Error::OutOfRange(failure(message)));
    }
    if threadgroup_memory > core.threadgroup_memory {
        let message = format!(
            "a threadgroup takes {threadgroup_memory} bytes, and a core has {}",
            core.threadgroup_memory
        );
        return Err(Error::OutOfRange(failure(message)));
    }
    let by_threads = core.threads / room;
    let by_memory = match threadgroup_memory {
        0 => usize::MAX,
        bytes => core.threadgroup_memory / bytes,
    };
    let by_dispatch = groups.div_ceil(core.cores);
    let held = by_threads.min(by_memory).min(by_dispatch);
    Ok(Occupancy {
        groups: held,
        threads: held * room,
        share: (held * threads_per_group) as f64 / core.threads as f64,
        limit: match held {
            _ if held == by_threads => Limit::Threads,
            _ if held == by_memory => Limit::ThreadgroupMemory,
            _ => Limit::Threadgroups,
        },
    })
}

impl KernelProfile {
    /// How its launches fill a core, by [`calculate_occupancy`] of the largest; `None` if no threadgroup fits into it.
    pub fn occupancy(&self, core: &CoreLimits) -> Option<Occupancy> {
        let threads = self.threads_per_threadgroup.iter();
        let threads = threads.map(|&size| size as usize).product();
        let groups = self.threadgroups.div_ceil(self.launches.max(1)) as usize;
        calculate_occupancy(threads, groups, self.threadgroup_memory as usize, core).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: CoreLimits = CoreLimits {
        threads: 1024,
        threadgroup_memory: 1000,
        cores: 4,
    };

    fn of(threads: usize, groups: usize, memory: usize) -> Result<Occupancy> {
        calculate_occupancy(threads, groups, memory, &CORE)
    }

    #[test]
    fn the_tightest_limit_decides() {
        let cases = [
            ((256, 100, 0), (4, 1024, 1.0, Limit::Threads)),
            ((256, 100, 300), (3, 768, 0.75, Limit::ThreadgroupMemory)),
            ((256, 100, 250), (4, 1024, 1.0, Limit::Threads)),
            ((256, 5, 0), (2, 512, 0.5, Limit::Threadgroups)),
            ((256, 1, 1000), (1, 256, 0.25, Limit::ThreadgroupMemory)),
            ((1, 1000, 0), (32, 1024, 0.03125, Limit::Threads)),
            ((33, 1000, 0), (16, 1024, 0.515625, Limit::Threads)),
            ((1024, 1000, 1000), (1, 1024, 1.0, Limit::Threads)),
        ];
        for ((threads, groups, memory), expected) in cases {
            let found = of(threads, groups, memory).unwrap();
            let found = (found.groups, found.threads, found.share, found.limit);
            assert_eq!(found, expected, "{threads} {groups} {memory}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let none = |core: CoreLimits| calculate_occupancy(1, 1, 0, &core);
        for result in [
            of(0, 1, 0),
            of(1, 0, 0),
            none(CoreLimits { threads: 0, ..CORE }),
            none(CoreLimits { cores: 0, ..CORE }),
        ] {
            assert!(
                matches!(result, Err(Error::InvalidArgument(_))),
                "{result:?}"
            );
        }
        for result in [of(1025, 1, 0), of(1, 1, 1001), of(usize::MAX, 1, 0)] {
            assert!(matches!(result, Err(Error::OutOfRange(_))), "{result:?}");
        }
    }
}

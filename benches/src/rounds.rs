//! Contenders timed in turns, so that other work on the machine strikes them alike.

use std::time::{Duration, Instant};

/// The fewest rounds, however long they take.
const FEWEST_ROUNDS: usize = 3;

/// A contender: runs once and says how long that took, without what it had to prepare.
pub type Contender<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// Lets the contenders run in turns until `budget` is spent, and gives the best time of each: interference only ever adds to
/// a time.
pub fn best_of(budget: Duration, contenders: &mut [Contender<'_>]) -> Vec<Duration> {
    for contender in contenders.iter_mut() {
        contender();
    }
    let mut best = vec![Duration::MAX; contenders.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < FEWEST_ROUNDS || start.elapsed() < budget {
        for (contender, best) in contenders.iter_mut().zip(&mut best) {
            *best = contender().min(*best);
        }
        rounds += 1;
    }
    best
}

/// A contender that repeats `work` and gives the time of one repetition.
pub fn repeated<'a>(times: u32, mut work: impl FnMut() + 'a) -> Contender<'a> {
    Box::new(move || {
        let start = Instant::now();
        for _ in 0..times {
            work();
        }
        start.elapsed() / times
    })
}

/// The time that threads of OpenMP, which look for more work before they sleep, may take from the next contender.
const SETTLING: Duration = Duration::from_millis(25);

/// The runs of a settled contender that are timed before the next one's turn.
const RUNS: usize = 4;

/// A contender that begins when the threads of the one before sleep, and has woken its own up when it is timed.
pub fn settled<'a>(mut work: impl FnMut() + 'a) -> Contender<'a> {
    Box::new(move || {
        std::thread::sleep(SETTLING);
        work();
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            let start = Instant::now();
            work();
            best = best.min(start.elapsed());
        }
        best
    })
}

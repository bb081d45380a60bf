//! Single calls timed one by one: what the calling thread sees, and how often it sees worse.

use std::time::{Duration, Instant};

/// Calls before each `settle`: so few that the work they leave behind never makes the next call wait.
const AT_ONCE: usize = 32;

/// A call to time, and `settle`, which restores the state before the calls and is not timed.
pub struct Calls<C, S> {
    pub budget: Duration,
    pub call: C,
    pub settle: S,
}

pub struct Percentiles {
    pub median: Duration,
    pub ninety_ninth: Duration,
}

/// The rounds that share the budget: other programs that get in between spoil some rounds and not the others.
const ROUNDS: u32 = 24;

/// The round with the least median: interference only ever adds to a time. The first calls are left out.
pub fn time_calls(mut calls: Calls<impl FnMut(), impl FnMut()>) -> Percentiles {
    for _ in 0..AT_ONCE {
        (calls.call)();
    }
    (calls.settle)();
    let rounds = (0..ROUNDS).map(|_| round(&mut calls));
    rounds
        .min_by_key(|round| round.median)
        .expect("there are rounds")
}

fn round(calls: &mut Calls<impl FnMut(), impl FnMut()>) -> Percentiles {
    let mut times = Vec::new();
    let start = Instant::now();
    while times.is_empty() || start.elapsed() < calls.budget / ROUNDS {
        for _ in 0..AT_ONCE {
            let start = Instant::now();
            (calls.call)();
            times.push(start.elapsed());
        }
        (calls.settle)();
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    Percentiles {
        median: at(50),
        ninety_ninth: at(99),
    }
}

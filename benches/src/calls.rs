//! Single calls timed one by one: what the calling thread sees, and how often it sees worse.

use std::time::{Duration, Instant};

/// Calls between two settlements: few enough that what they leave to others never makes the next one wait.
const AT_ONCE: usize = 32;

/// A call, and what brings back the state before it, outside of the time.
pub struct Calls<C, S> {
    pub budget: Duration,
    pub call: C,
    pub settle: S,
}

pub struct Percentiles {
    pub median: Duration,
    pub ninety_ninth: Duration,
}

/// Calls until the budget is spent. The first calls are left out.
pub fn time_calls(mut calls: Calls<impl FnMut(), impl FnMut()>) -> Percentiles {
    for _ in 0..AT_ONCE {
        (calls.call)();
    }
    (calls.settle)();
    let mut times = Vec::new();
    let start = Instant::now();
    while times.is_empty() || start.elapsed() < calls.budget {
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

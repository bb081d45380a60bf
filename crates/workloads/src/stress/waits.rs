//! Waits for what other threads are about to do.

use std::thread;
use std::time::{Duration, Instant};

/// Far longer than Metal's threads take to release what has completed, on the busiest of machines.
const LONG: Duration = Duration::from_secs(120);

/// What `look` sees once `is_settled` holds, or after a long time.
pub(super) fn settled<T>(look: impl Fn() -> T, is_settled: impl Fn(&T) -> bool) -> T {
    let start = Instant::now();
    loop {
        let now = look();
        if is_settled(&now) || start.elapsed() > LONG {
            return now;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

//! Counts of Objective-C objects, and Metal called without a pool: the Objective-C under `native/`.

use std::thread;
use std::time::{Duration, Instant};

use metal_bridge::{Device, LiveObjects};

/// Far longer than Metal's threads take to release what has completed, on the busiest of machines.
const LONG: Duration = Duration::from_secs(120);

unsafe extern "C" {
    fn mbts_metal_without_pool(count: usize) -> usize;
    fn mbts_count_objects();
    fn mbts_live_objects() -> i64;
    fn mbts_print_live_objects();
}

/// Runs `count` empty command buffers on Metal itself, from this thread and without an autorelease pool. Returns how many
/// completed.
pub fn metal_without_pool(count: usize) -> usize {
    // SAFETY: takes a number; what it leaks is leaked and no more.
    unsafe { mbts_metal_without_pool(count) }
}

/// Begins to count Foundation's objects; call it before anything else of Objective-C.
pub fn count_objects() {
    // SAFETY: takes nothing and may be called at any time.
    unsafe { mbts_count_objects() }
}

/// What [`live_objects`] may grow by without a leak: none if objects are counted; where bytes are, what a driver keeps.
pub const SLACK: i64 = if cfg!(software_metal) { 0 } else { 16 << 20 };

/// Objective-C objects that exist: Foundation's and the software Metal's. On Apple's systems, which do not count them,
/// bytes that the device has allocated.
pub fn live_objects() -> i64 {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { mbts_live_objects() }
}

/// What `look` sees once that is as it should be, or a long time later.
fn settled<T>(look: impl Fn() -> T, is_settled: impl Fn(&T) -> bool) -> T {
    let start = Instant::now();
    loop {
        let now = look();
        if is_settled(&now) || start.elapsed() > LONG {
            return now;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// [`live_objects`], once Metal's threads have released what has completed: when the count is down to `expected`, or a long time
/// later.
pub fn settled_objects(expected: i64) -> i64 {
    settled(live_objects, |now| *now <= expected)
}

/// The bridge's objects when they are as `expected`, or a long time later: the thread that completes a command buffer releases it
/// after whoever waits for it has gone on.
pub fn settled_handles(expected: &LiveObjects) -> LiveObjects {
    settled(Device::live_objects, |now| now.same_live(expected))
}

/// [`live_objects`] when the count has stopped to move for a while. On a busy machine it may not have stopped for good: as what
/// others are compared with it may be too high, never too low.
pub fn resting_objects() -> i64 {
    const STILL: Duration = Duration::from_millis(500);
    let mut count = live_objects();
    let mut since = Instant::now();
    while since.elapsed() < STILL {
        thread::sleep(Duration::from_millis(2));
        let now = live_objects();
        if now != count {
            (count, since) = (now, Instant::now());
        }
    }
    count
}

/// Says on standard error which objects exist.
pub fn print_live_objects() {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { mbts_print_live_objects() }
}

//! What the process has allocated. Its resident size would not do: allocators keep what was freed, and AddressSanitizer
//! keeps all of it for a while.

use std::mem;
use std::thread;
use std::time::{Duration, Instant};

/// So much more is not taken for growth: runtimes keep tables of what they have seen.
const SLACK: u64 = 16 << 20;

/// Far longer than threads take to end, on the busiest of machines.
const LONG: Duration = Duration::from_secs(120);

/// Bytes that are allocated on the heap and not freed.
pub(super) fn live_bytes() -> u64 {
    sanitizer_bytes().unwrap_or_else(|| {
        // SAFETY: takes nothing and may be called from any thread.
        let information = unsafe { libc::mallinfo2() };
        (information.uordblks + information.hblkhd) as u64
    })
}

/// What a sanitizer's allocator says, which takes the place of the system's.
fn sanitizer_bytes() -> Option<u64> {
    let name = c"__sanitizer_get_current_allocated_bytes";
    // SAFETY: looks a name up.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: the function of this name has this type; NULL is `None`.
    let function: Option<extern "C" fn() -> usize> = unsafe { mem::transmute(function) };
    function.map(|function| function() as u64)
}

/// A queue's threads end, and free what they have, after the queue is gone: waits for that.
pub(super) fn assert_no_growth(before: u64) {
    let start = Instant::now();
    while live_bytes() > before + SLACK {
        let now = live_bytes();
        assert!(
            start.elapsed() < LONG,
            "the heap grew from {before} to {now} bytes"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

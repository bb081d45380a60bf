//! What the process has allocated. Its resident size does not tell: allocators keep freed memory, and AddressSanitizer
//! keeps all of it for a while.

use super::waits::settled;

/// The allocated bytes may vary by this much without being taken for growth: runtimes and drivers keep tables of what
/// they have seen.
pub(super) const SLACK: u64 = 16 << 20;

/// Bytes that are allocated on the heap and not freed; `None` if the system does not tell.
pub fn live_bytes() -> Option<u64> {
    sanitizer_bytes().or_else(system_bytes)
}

fn has_grown(before: Option<u64>, now: Option<u64>) -> bool {
    matches!((before, now), (Some(before), Some(now)) if now > before + SLACK)
}

/// Bytes on the heap, once they have not grown since `before`, or after a long time. A queue's threads end, and free
/// what they have, after the queue is gone; and AddressSanitizer counts as live what an ending thread has freed.
pub(super) fn settled_bytes(before: Option<u64>) -> Option<u64> {
    settled(live_bytes, |now| !has_grown(before, *now))
}

/// Says by how much the heap has grown since `before`; `None` if it has not, or if the growth soon goes away.
pub fn growth(before: Option<u64>) -> Option<String> {
    growth_between(before, settled_bytes(before))
}

pub(super) fn growth_between(before: Option<u64>, after: Option<u64>) -> Option<String> {
    let grown = has_grown(before, after).then_some((before?, after?));
    grown.map(|(before, after)| format!("the heap grew from {before} to {after} bytes"))
}

/// The bytes that a sanitizer has allocated, whose allocator replaces the system's; `None` without a sanitizer.
#[cfg(unix)]
fn sanitizer_bytes() -> Option<u64> {
    let name = c"__sanitizer_get_current_allocated_bytes";
    // SAFETY: only looks up a name.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: the function of this name has this type; NULL is `None`.
    let function: Option<extern "C" fn() -> usize> = unsafe { std::mem::transmute(function) };
    function.map(|function| function() as u64)
}

#[cfg(not(unix))]
fn sanitizer_bytes() -> Option<u64> {
    None
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn system_bytes() -> Option<u64> {
    // SAFETY: takes nothing and may be called from any thread.
    let information = unsafe { libc::mallinfo2() };
    Some((information.uordblks + information.hblkhd) as u64)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn system_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lives_is_counted_and_what_was_freed_is_not() {
        const BYTES: u64 = 256 << 20;
        let Some(before) = live_bytes() else { return };
        let bytes = vec![1u8; BYTES as usize];
        assert!(live_bytes().unwrap() >= before + BYTES / 2);
        drop(bytes);
        assert!(live_bytes().unwrap() < before + BYTES / 2);
    }
}

//! The memory of this process.

/// The most memory that the process has had at a time, mapped files included, in bytes.
pub fn peak() -> u64 {
    // SAFETY: `rusage` is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live `rusage` to be filled in.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    if status != 0 {
        return 0;
    }
    // Linux counts in KiB, Apple's systems in bytes.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    usage.ru_maxrss.try_into().unwrap_or(0u64) * unit
}

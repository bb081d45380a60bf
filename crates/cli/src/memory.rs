//! The memory of this process.

/// The most memory that the process has had at a time, mapped files included, in bytes; `None` if the system does
/// not tell.
#[cfg(unix)]
pub fn peak() -> Option<u64> {
    // SAFETY: `rusage` is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a live `rusage` to be filled in.
    let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    // macOS counts in bytes, the others in KiB.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    u64::try_from(usage.ru_maxrss)
        .ok()
        .filter(|_| status == 0)
        .map(|count| count * unit)
}

#[cfg(not(unix))]
pub fn peak() -> Option<u64> {
    None
}

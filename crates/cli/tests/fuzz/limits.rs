//! What a process under test may use. The system ends a process that takes more, which the fuzzer sees; the machine
//! goes on.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// Far more than any case needs. The software Metal reserves most of it for stacks and never uses it.
const ADDRESS_SPACE: u64 = 64 << 30;
/// CPU time, which other load on the machine does not stretch.
const CPU_SECONDS: u64 = 120;
/// Wall-clock time, for a process that waits for ever.
const SECONDS: u32 = 900;

/// Bounds the process that `command` will start.
pub fn bound(command: &mut Command) {
    // SAFETY: between fork and exec, `restart` makes only system calls.
    unsafe { command.pre_exec(restart) };
}

/// Bounds this process from now on, as if it had just begun.
pub fn restart() -> io::Result<()> {
    limit(libc::RLIMIT_AS, ADDRESS_SPACE)?;
    limit(libc::RLIMIT_CORE, 0)?;
    // SAFETY: `usage` is plain numbers, which the call fills in.
    let used = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
    };
    limit(libc::RLIMIT_CPU, used as u64 + CPU_SECONDS)?;
    // SAFETY: `alarm` takes a number.
    unsafe { libc::alarm(SECONDS) };
    Ok(())
}

#[cfg(target_os = "linux")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_os = "linux"))]
type Resource = libc::c_int;

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    // SAFETY: both calls get a live structure of plain numbers.
    let status = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(resource, &mut limit);
        limit.rlim_cur = most.min(limit.rlim_max);
        libc::setrlimit(resource, &limit)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// How a process ended, if it did not end by itself.
pub fn violent_end(status: ExitStatus) -> Option<String> {
    let signal = status.signal()?;
    let meaning = match signal {
        libc::SIGXCPU => ": it took more time of the processor than it may",
        libc::SIGALRM => ": it hung",
        libc::SIGABRT => ": it aborted",
        libc::SIGSEGV | libc::SIGBUS => ": it touched memory that is not there",
        _ => "",
    };
    Some(format!("signal {signal}{meaning}"))
}

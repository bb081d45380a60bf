//! Runs a part of a test in a child of `fork`, which has the test's objects and none of its other threads.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `scenario` in a child of `fork`, and fails the test where it panics or does not end.
pub fn in_fork(scenario: impl FnOnce()) {
    // SAFETY: the child runs the scenario and ends, without the destructors of this process.
    match unsafe { libc::fork() } {
        -1 => panic!("there is no child: {}", std::io::Error::last_os_error()),
        0 => {
            // SAFETY: has the system end the child if a call hangs.
            unsafe { libc::alarm(60) };
            let ended = catch_unwind(AssertUnwindSafe(scenario));
            // SAFETY: ends the child.
            unsafe { libc::_exit(ended.is_err().into()) }
        }
        child => {
            let mut status = -1;
            // SAFETY: a pointer to the status of our child.
            let waited = unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(
                (waited, status),
                (child, 0),
                "the child of fork failed or hung"
            );
        }
    }
}

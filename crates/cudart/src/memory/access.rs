//! [`Access`].

use std::ffi::c_int;

/// What is to be done with memory that the runtime does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl Access {
    /// Linux's `MADV_POPULATE_READ` and `MADV_POPULATE_WRITE`, which other systems do not know and refuse.
    pub(crate) fn advice(self) -> c_int {
        match self {
            Access::Read => 22,
            Access::Write => 23,
        }
    }

    /// Whether these permissions, from a line of `/proc/self/maps`, allow it.
    pub(crate) fn is_allowed(self, permissions: &str) -> bool {
        permissions.contains(match self {
            Access::Read => 'r',
            Access::Write => 'w',
        })
    }
}

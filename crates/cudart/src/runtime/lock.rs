//! [`lock`].

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whoever panicked with it: what they guard here is whole at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

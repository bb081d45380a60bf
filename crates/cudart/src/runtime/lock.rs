//! [`lock`].

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even after a panic with it locked: what mutexes guard here is consistent at any time.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Leaks that a test makes.

use std::sync::Mutex;

/// Forgets `value` where LeakSanitizer still finds it: the leak is the test's.
pub fn leak<T>(value: T) {
    static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let address = Box::into_raw(Box::new(value)).addr();
    LEAKED.lock().unwrap().push(address);
}

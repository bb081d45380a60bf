//! The terminal's settings, on systems whose signals do not end a program.

use std::io;
use std::sync::Arc;

pub struct Settings;

impl Settings {
    /// There is nothing to restore.
    pub fn read() -> Option<Self> {
        None
    }

    pub fn restore(&self) {}

    pub fn restore_at_end(self: Arc<Self>) -> io::Result<()> {
        Ok(())
    }
}

//! What the software Metal is made with, which its own Makefile and Cargo's build share.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The assignments of `native/software/flags.mk`: every line is `NAME = WORDS`.
pub struct Settings(HashMap<String, Vec<String>>);

impl Settings {
    pub fn read(path: &Path) -> Result<Settings, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let assignments = text
            .lines()
            .filter_map(|line| line.split_once(" = "))
            .filter(|(name, _)| !name.starts_with('#'));
        Ok(Settings(
            assignments
                .map(|(name, words)| (name.to_owned(), crate::words(words)))
                .collect(),
        ))
    }

    /// The words assigned to `name`.
    pub fn words(&self, name: &str) -> Vec<String> {
        self.0.get(name).cloned().unwrap_or_default()
    }
}

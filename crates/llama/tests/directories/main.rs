//! Directories in Hugging Face's layout: what the reader makes of them, and what it refuses. `tests/engine/directories.rs` compares
//! what the engine computes.

mod damage;
mod refusals;
mod settings;
mod tokenizers;

use std::fs;
use std::path::{Path, PathBuf};

use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::hugging_face::{self, DirectoryError};
use serde_json::Value;
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/architectures");
    PathBuf::from(format!("{folder}/{name}"))
}

/// A copy of a fixture.
struct Directory(TempDir);

impl Directory {
    fn new(name: &str) -> Self {
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(fixture(name)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        Self(copy)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn write(&self, file: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(file), bytes).unwrap();
    }

    /// Changes a JSON file.
    fn edit(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&fs::read(self.path(file)).unwrap()).unwrap();
        change(&mut value);
        self.write(file, value.to_string());
    }

    /// Changes the header of a safetensors file, and keeps its data.
    fn edit_header(&self, file: &str, change: impl FnOnce(&mut Value)) {
        let (mut header, data) = split(&self.path(file));
        change(&mut header);
        self.write(file, [header_bytes(&header.to_string()), data].concat());
    }

    fn open(&self) -> Result<Gguf, DirectoryError> {
        hugging_face::open(self.0.path())
    }
}

/// The length of a header, and the header.
fn header_bytes(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
}

/// The header and the data of a safetensors file.
fn split(path: &Path) -> (Value, Vec<u8>) {
    let bytes = fs::read(path).unwrap();
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let header = serde_json::from_slice(&rest[..length]).unwrap();
    (header, rest[length..].to_vec())
}

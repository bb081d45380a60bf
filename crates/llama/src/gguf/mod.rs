//! GGUF files, versions 2 and 3: metadata, tensor table and memory-mapped tensor data.
//!
//! [`Gguf::open`] reads and checks the header and maps the file; weights are read from the map when something uses
//! them. [`GgufWriter`] writes files of the same format.
//!
//! The map is only ever read through raw pointers, never through a Rust reference: another process that changes the
//! file can spoil the weights but not the program's soundness. (One that truncates the file ends the program with
//! `SIGBUS`, as for every memory-mapped file.)

mod allocation;
mod error;
mod header;
mod reader;
mod tensor;
mod value;
mod writer;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

pub use error::GgufError;
pub use tensor::{TensorInfo, TensorType};
pub use value::{Array, StringArray, Value};
pub use writer::GgufWriter;

/// An open GGUF file.
#[derive(Debug)]
pub struct Gguf {
    version: u32,
    alignment: u64,
    metadata: Vec<(Box<str>, Value)>,
    tensors: Vec<TensorInfo>,
    /// Indices of the tensors, sorted by name: a file may have any number of them, and a model looks up each.
    by_name: Vec<usize>,
    map: Arc<MmapRaw>,
}

impl Gguf {
    /// Opens, checks and maps the file at `path`.
    ///
    /// # Errors
    ///
    /// The [`GgufError`] names what is wrong with the file. Memory is allocated only for what the file has bytes for,
    /// and at most 256 MiB for the whole header: [`GgufError::TooLarge`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GgufError> {
        let file = File::open(path)?;
        let file_size = file.metadata()?.len();
        let header = header::read_header(&file, file_size)?;
        let map = Arc::new(MmapOptions::new().map_raw_read_only(&file)?);
        if (map.len() as u64) < file_size {
            return Err(std::io::Error::other("the file shrank while it was read").into());
        }
        let mut by_name = allocation::collected("index of tensors", 0..header.tensors.len())?;
        by_name.sort_unstable_by_key(|&index| header.tensors[index].name());
        Ok(Self {
            version: header.version,
            alignment: header.alignment,
            metadata: header.metadata,
            tensors: header.tensors,
            by_name,
            map,
        })
    }

    /// Version of the format: 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The alignment of tensor data, in bytes.
    pub fn alignment(&self) -> u64 {
        self.alignment
    }

    /// Size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.map.len() as u64
    }

    /// Metadata in the order of the file.
    pub fn metadata(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.metadata.iter().map(|(key, value)| (&**key, value))
    }

    /// Tensors in the order of the file.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    /// The metadata value of `key`, if there is one.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata()
            .find(|(k, _)| *k == key)
            .map(|(_, value)| value)
    }

    /// The tensor called `name`.
    ///
    /// # Errors
    ///
    /// [`GgufError::MissingTensor`].
    pub fn tensor(&self, name: &str) -> Result<&TensorInfo, GgufError> {
        let found = self
            .by_name
            .binary_search_by_key(&name, |&index| self.tensors[index].name());
        match found {
            Ok(index) => Ok(&self.tensors[self.by_name[index]]),
            Err(_) => Err(GgufError::MissingTensor {
                name: name.to_owned(),
            }),
        }
    }

    /// A copy of a tensor's bytes, as they are in the file.
    ///
    /// # Errors
    ///
    /// [`GgufError::TensorOutOfRange`] if `tensor` is from another file and does not fit into this one,
    /// [`GgufError::OutOfMemory`].
    pub fn tensor_bytes(&self, tensor: &TensorInfo) -> Result<Vec<u8>, GgufError> {
        let end = tensor.offset.saturating_add(tensor.byte_len);
        if end > self.file_size() {
            return Err(GgufError::TensorOutOfRange {
                tensor: tensor.name.to_string(),
                start: tensor.offset,
                end,
                file_size: self.file_size(),
            });
        }
        let length = tensor.byte_len as usize;
        let mut bytes: Vec<u8> =
            allocation::with_capacity(length, || format!("a copy of tensor {:?}", tensor.name))?;
        // SAFETY: the range lies in the map (checked above, and `map.len()` fits usize), which lives as long as
        // `self`; `bytes` is fresh memory of the same length, all of which is written. No reference to the map is
        // made.
        unsafe {
            let source = self.map.as_ptr().add(tensor.offset as usize);
            std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), length);
            bytes.set_len(length);
        }
        Ok(bytes)
    }

    /// One past the last byte of the tensors' data. Nothing uses the bytes behind it.
    pub(crate) fn used_size(&self) -> u64 {
        let ends = self.tensors.iter().map(|t| t.offset + t.byte_len);
        ends.max().unwrap_or(0)
    }

    /// Touches every page of the tensors in order, so that they are in memory, and calls `progress` with the bytes
    /// touched so far.
    pub(crate) fn read_through(&self, mut progress: impl FnMut(u64)) {
        /// The smallest page of any system.
        const PAGE: usize = 4096;
        const STEP: usize = 16 << 20;
        // Opening the file has checked that the tensors lie in the map.
        let size = self.used_size() as usize;
        for start in (0..size).step_by(STEP) {
            let end = (start + STEP).min(size);
            for offset in (start..end).step_by(PAGE) {
                // SAFETY: the offset lies in the map, which lives as long as `self`. The compiler keeps a volatile
                // read whose value is unused, and the read makes no reference.
                unsafe { self.map.as_ptr().add(offset).read_volatile() };
            }
            progress(end as u64);
        }
    }

    /// The map of the whole file, to be read through raw pointers only.
    pub(crate) fn map(&self) -> &Arc<MmapRaw> {
        &self.map
    }

    /// The unsigned integer of `key`, whatever its width; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// [`GgufError::WrongType`] if the value is not an integer or is negative.
    pub fn get_u64(&self, key: &str) -> Result<Option<u64>, GgufError> {
        self.get_with(key, "an unsigned integer", Value::to_u64)
    }

    /// The float of `key`; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// [`GgufError::WrongType`] if the value is not a float.
    pub fn get_f32(&self, key: &str) -> Result<Option<f32>, GgufError> {
        self.get_with(key, "f32", |value| match *value {
            Value::F32(v) => Some(v),
            Value::F64(v) => Some(v as f32),
            _ => None,
        })
    }

    /// The boolean of `key`; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// [`GgufError::WrongType`] if the value is not a boolean.
    pub fn get_bool(&self, key: &str) -> Result<Option<bool>, GgufError> {
        self.get_with(key, "bool", |value| match *value {
            Value::Bool(v) => Some(v),
            _ => None,
        })
    }

    /// The string of `key`; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// [`GgufError::WrongType`] if the value is not a string.
    pub fn get_str(&self, key: &str) -> Result<Option<&str>, GgufError> {
        self.get_with(key, "string", |value| match value {
            Value::String(v) => Some(v.as_str()),
            _ => None,
        })
    }

    /// The array of `key`; `None` if there is no such key.
    ///
    /// # Errors
    ///
    /// [`GgufError::WrongType`] if the value is not an array.
    pub fn get_array(&self, key: &str) -> Result<Option<&Array>, GgufError> {
        self.get_with(key, "array", |value| match value {
            Value::Array(v) => Some(v),
            _ => None,
        })
    }

    fn get_with<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, GgufError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match convert(value) {
            Some(converted) => Ok(Some(converted)),
            None => Err(GgufError::WrongType {
                key: key.to_owned(),
                expected,
                found: value.type_name(),
            }),
        }
    }
}

/// Makes the absence of a metadata key an error.
pub(crate) trait Required<T> {
    /// The value, or [`GgufError::MissingKey`] for `key`.
    fn required(self, key: &str) -> Result<T, GgufError>;
}

impl<T> Required<T> for Result<Option<T>, GgufError> {
    fn required(self, key: &str) -> Result<T, GgufError> {
        self?.ok_or_else(|| GgufError::MissingKey {
            key: key.to_owned(),
        })
    }
}

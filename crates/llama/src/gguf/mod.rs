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
mod made;
mod reader;
mod tensor;
mod value;
mod writer;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

pub use error::GgufError;
use header::Header;
pub(crate) use made::{in_file, made};
pub(crate) use tensor::{Joined, Made, Span};
pub use tensor::{TensorInfo, TensorType};
pub use value::{Array, StringArray, Value};
pub use writer::GgufWriter;

/// An open GGUF file, or a model of [another form](crate::hugging_face) with the keys and tensors that its GGUF file would have.
#[derive(Debug)]
pub struct Gguf {
    version: u32,
    alignment: u64,
    metadata: Vec<(Box<str>, Value)>,
    tensors: Vec<TensorInfo>,
    /// Indices of the tensors, sorted by name: a file may have any number of them, and a model looks up each.
    by_name: Vec<usize>,
    /// A GGUF file is one; a model of another form may have several.
    maps: Vec<Arc<MmapRaw>>,
}

impl Gguf {
    /// Opens, checks and maps the file at `path`.
    ///
    /// # Errors
    ///
    /// The [`GgufError`] names what is wrong with the file. Memory is allocated only for what the file has bytes for,
    /// and at most 256 MiB for the whole header: [`GgufError::TooLarge`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GgufError> {
        // Before it is opened: opening a pipe waits for who writes into it.
        if !path.as_ref().metadata()?.is_file() {
            return Err(GgufError::NotAFile);
        }
        let file = File::open(path)?;
        let file_size = file.metadata()?.len();
        let header = header::read_header(&file, file_size)?;
        Self::assembled(header, vec![map(&file, file_size)?])
    }

    /// The model of this header, whose tensors are parts of these files, or made of them.
    ///
    /// # Errors
    ///
    /// [`GgufError::Duplicate`], [`GgufError::OutOfMemory`].
    pub(crate) fn of_files(
        metadata: Vec<(Box<str>, Value)>,
        tensors: Vec<TensorInfo>,
        maps: Vec<Arc<MmapRaw>>,
    ) -> Result<Self, GgufError> {
        let header = Header::new(metadata, tensors)?;
        Self::assembled(header, maps)
    }

    fn assembled(header: Header, maps: Vec<Arc<MmapRaw>>) -> Result<Self, GgufError> {
        let mut by_name = allocation::collected("index of tensors", 0..header.tensors.len())?;
        by_name.sort_unstable_by_key(|&index| header.tensors[index].name());
        Ok(Self {
            version: header.version,
            alignment: header.alignment,
            metadata: header.metadata,
            tensors: header.tensors,
            by_name,
            maps,
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

    /// Size of the file in bytes; that of all of its files, if the model has several.
    pub fn file_size(&self) -> u64 {
        self.maps.iter().map(|map| map.len() as u64).sum()
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

    /// A copy of a tensor's bytes, as they are in a GGUF file.
    ///
    /// # Errors
    ///
    /// [`GgufError::TensorOutOfRange`] if `tensor` is from another file and does not fit into this one,
    /// [`GgufError::OutOfMemory`].
    pub fn tensor_bytes(&self, tensor: &TensorInfo) -> Result<Vec<u8>, GgufError> {
        let length = tensor.byte_len as usize;
        let what = || format!("a copy of tensor {:?}", tensor.name);
        let mut bytes: Vec<u8> = allocation::with_capacity(length, what)?;
        match tensor.made.as_deref() {
            None => self.append(
                tensor,
                Span {
                    file: tensor.file,
                    offset: tensor.offset,
                    byte_len: tensor.byte_len,
                },
                &mut bytes,
            )?,
            Some(Made::Bytes(made)) => bytes.extend_from_slice(made),
            Some(Made::Joined(joined)) => {
                if made::is_concatenation(tensor, joined) {
                    for &span in &joined.spans {
                        self.append(tensor, span, &mut bytes)?;
                    }
                    return Ok(bytes);
                }
                let length = joined.spans.iter().map(|span| span.byte_len).sum::<u64>();
                let mut parts: Vec<u8> = allocation::with_capacity(length as usize, what)?;
                for &span in &joined.spans {
                    self.append(tensor, span, &mut parts)?;
                }
                made::make(tensor, joined, &parts, &mut bytes);
            }
        }
        Ok(bytes)
    }

    /// Appends a copy of a part of a file, which belongs to `tensor`, to bytes that have the capacity for it.
    fn append(
        &self,
        tensor: &TensorInfo,
        span: Span,
        bytes: &mut Vec<u8>,
    ) -> Result<(), GgufError> {
        let map = self.maps.get(span.file);
        let file_size = map.map_or(0, |map| map.len() as u64);
        let end = span.offset.saturating_add(span.byte_len);
        let (Some(map), true) = (map, end <= file_size) else {
            return Err(GgufError::TensorOutOfRange {
                tensor: tensor.name.to_string(),
                start: span.offset,
                end,
                file_size,
            });
        };
        let (length, before) = (span.byte_len as usize, bytes.len());
        bytes.reserve(length);
        // SAFETY: the range lies in the map (checked above, and `map.len()` fits usize), which lives as long as
        // `self`; `bytes` has room for as many bytes behind its length, all of which are written. No reference to the
        // map is made.
        unsafe {
            let source = map.as_ptr().add(span.offset as usize);
            std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr().add(before), length);
            bytes.set_len(before + length);
        }
        Ok(())
    }

    /// One past the last byte of the data of the tensors that are in a file as they are, for each file. Nothing reads the
    /// bytes behind it once the model is loaded.
    fn used_sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.maps.len()];
        for tensor in &self.tensors {
            if let Some(size) = tensor.file().and_then(|file| sizes.get_mut(file)) {
                *size = (tensor.offset + tensor.byte_len).max(*size);
            }
        }
        // Opening the files has checked that the tensors lie in the maps.
        sizes.into_iter().map(|size| size as usize).collect()
    }

    /// Touches every page of the tensors in order, so that they are in memory, and calls `progress` with the bytes
    /// touched so far, and with those in all.
    pub(crate) fn read_through(&self, mut progress: impl FnMut(u64, u64)) {
        /// The smallest page of any system.
        const PAGE: usize = 4096;
        const STEP: usize = 16 << 20;
        let sizes = self.used_sizes();
        let total = sizes.iter().sum::<usize>() as u64;
        let mut before = 0;
        for (map, size) in self.maps.iter().zip(sizes) {
            for start in (0..size).step_by(STEP) {
                let end = (start + STEP).min(size);
                for offset in (start..end).step_by(PAGE) {
                    // SAFETY: the offset lies in the map, which lives as long as `self`. The compiler keeps a volatile
                    // read whose value is unused, and the read makes no reference.
                    unsafe { map.as_ptr().add(offset).read_volatile() };
                }
                progress(before + end as u64, total);
            }
            before += size as u64;
        }
    }

    /// The maps of whole files, to be read through raw pointers only.
    pub(crate) fn maps(&self) -> &[Arc<MmapRaw>] {
        &self.maps
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

/// Maps a file, which has so many bytes.
pub(crate) fn map(file: &File, file_size: u64) -> std::io::Result<Arc<MmapRaw>> {
    let map = MmapOptions::new().map_raw_read_only(file)?;
    if (map.len() as u64) < file_size {
        return Err(std::io::Error::other("the file shrank while it was read"));
    }
    Ok(Arc::new(map))
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

//! [`Loader`]: tensors of a file in GPU buffers: the mapped file itself if it can be used as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::error::{Error, Result};
use super::gguf::{Gguf, TensorInfo, TensorType};
use metal_bridge::ops::{View, Weight};
use metal_bridge::{Buffer, Device, StorageMode, page_size};

/// What a vector's offset in its buffer has to be a multiple of.
const VECTOR_ALIGNMENT: u64 = size_of::<f32>() as u64;

/// What matrices may be, for errors.
const MATRIX_TYPES: &str = "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, \
    Q2_K, Q3_K, Q4_K, Q5_K, Q6_K and IQ4_XS";

/// A vector of f32 weights in a buffer.
#[derive(Debug)]
pub(super) struct Vector {
    buffer: Buffer,
    offset: usize,
}

impl Vector {
    pub fn view(&self) -> View<'_> {
        View::new(&self.buffer, self.offset)
    }
}

/// A range of a file that one buffer covers.
#[derive(Debug)]
struct Window {
    /// Which of the model's files.
    file: usize,
    start: u64,
    end: u64,
    buffer: Buffer,
}

/// Makes weights of tensors, and notes their names.
pub(super) struct Loader<'a> {
    device: &'a Device,
    gguf: &'a Gguf,
    windows: Vec<Window>,
    /// Bytes of tensors that were copied.
    copied: u64,
    used: &'a mut BTreeSet<String>,
}

impl<'a> Loader<'a> {
    /// A loader for the tensors that `is_needed` accepts by their names.
    pub fn new(
        device: &'a Device,
        gguf: &'a Gguf,
        is_needed: impl Fn(&str) -> bool,
        used: &'a mut BTreeSet<String>,
    ) -> Result<Self> {
        let mut loader = Self {
            device,
            gguf,
            windows: Vec::new(),
            copied: 0,
            used,
        };
        let limit = device.limits().max_buffer_length;
        for (file, map) in gguf.maps().iter().enumerate() {
            let needed = (gguf.tensors().iter())
                .filter(|tensor| tensor.file() == Some(file) && is_needed(tensor.name()));
            for (start, end) in windows(needed, page_size() as u64, limit) {
                let range = start as usize..end as usize;
                let buffer = device.new_buffer_with_mmap(Arc::clone(map), range)?;
                loader.windows.push(Window {
                    file,
                    start,
                    end,
                    buffer,
                });
            }
        }
        Ok(loader)
    }

    pub fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Weight> {
        self.weight(name, &[columns as u64, rows as u64])
    }

    /// Matrices of `rows` by `columns` elements, one after the other.
    pub fn matrices(
        &mut self,
        name: &str,
        count: usize,
        rows: usize,
        columns: usize,
    ) -> Result<Weight> {
        self.weight(name, &[columns as u64, rows as u64, count as u64])
    }

    /// A tensor of this shape as a matrix of all its rows.
    fn weight(&mut self, name: &str, shape: &[u64]) -> Result<Weight> {
        let tensor = self.tensor(name, shape)?;
        // The file has been found to hold so many elements.
        let (columns, rows) = (
            shape[0] as usize,
            shape[1..].iter().product::<u64>() as usize,
        );
        let element_type = tensor.element_type();
        let Some(kind) = element_type.weight_type() else {
            return Err(Error::UnsupportedType {
                tensor: name.to_owned(),
                element_type,
                supported: MATRIX_TYPES,
            });
        };
        let (buffer, offset) = self.locate(tensor, kind.alignment() as u64)?;
        Ok(Weight::new(buffer, offset, rows, columns, kind)?)
    }

    pub fn vector(&mut self, name: &str, length: usize) -> Result<Vector> {
        let tensor = self.f32_vector(name, length)?;
        let (buffer, offset) = self.locate(tensor, VECTOR_ALIGNMENT)?;
        Ok(Vector { buffer, offset })
    }

    /// Vectors of so many elements, one after the other.
    pub fn vectors(&mut self, name: &str, count: usize, length: usize) -> Result<Vector> {
        let tensor = self.f32_tensor(name, &[length as u64, count as u64])?;
        let (buffer, offset) = self.locate(tensor, VECTOR_ALIGNMENT)?;
        Ok(Vector { buffer, offset })
    }

    fn f32_vector(&mut self, name: &str, length: usize) -> Result<&'a TensorInfo> {
        self.f32_tensor(name, &[length as u64])
    }

    fn f32_tensor(&mut self, name: &str, shape: &[u64]) -> Result<&'a TensorInfo> {
        let tensor = self.tensor(name, shape)?;
        match tensor.element_type() {
            TensorType::F32 => Ok(tensor),
            element_type => Err(Error::UnsupportedType {
                tensor: name.to_owned(),
                element_type,
                supported: "F32",
            }),
        }
    }

    /// The elements of a vector, if the file has it.
    pub fn optional_floats(&mut self, name: &str, length: usize) -> Result<Option<Vec<f32>>> {
        if !self.has(name) {
            return Ok(None);
        }
        let tensor = self.f32_vector(name, length)?;
        let bytes = self.gguf.tensor_bytes(tensor)?;
        let floats = bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        Ok(Some(floats.collect()))
    }

    /// Whether the file has this tensor.
    pub fn has(&self, name: &str) -> bool {
        self.gguf.tensor(name).is_ok()
    }

    /// Rows of this matrix, if the file has it.
    pub fn rows(&self, name: &str) -> Option<u64> {
        let tensor = self.gguf.tensor(name).ok()?;
        tensor.dimensions().get(1).copied()
    }

    fn tensor(&mut self, name: &str, shape: &[u64]) -> Result<&'a TensorInfo> {
        let tensor = self.gguf.tensor(name)?;
        if tensor.dimensions() != shape {
            return Err(Error::Shape {
                tensor: name.to_owned(),
                found: tensor.dimensions().to_vec(),
                expected: shape.to_vec(),
            });
        }
        self.used.insert(tensor.name().to_owned());
        Ok(tensor)
    }

    /// The buffer that holds a tensor, and the tensor's offset in it: the mapped file, or a copy if no file has the tensor as
    /// it is, its offset is not a multiple of what the kernels need, or the tensor is larger than a buffer over the file may be.
    fn locate(&mut self, tensor: &TensorInfo, alignment: u64) -> Result<(Buffer, usize)> {
        let end = tensor.offset() + tensor.byte_len();
        let window = self.windows.iter().find(|window| {
            tensor.file() == Some(window.file)
                && window.start <= tensor.offset()
                && end <= window.end
        });
        match window {
            Some(window) if (tensor.offset() - window.start) % alignment == 0 => Ok((
                window.buffer.clone(),
                (tensor.offset() - window.start) as usize,
            )),
            _ => {
                let (bytes, limits) = (tensor.byte_len(), self.device.limits());
                if bytes > limits.max_buffer_length {
                    return Err(Error::TensorTooLarge {
                        tensor: tensor.name().to_owned(),
                        bytes,
                        limit: limits.max_buffer_length,
                    });
                }
                self.copied = self.copied.saturating_add(bytes);
                if self.copied > limits.recommended_max_working_set_size {
                    return Err(Error::CopiesTooLarge {
                        tensor: tensor.name().to_owned(),
                        bytes: self.copied,
                        limit: limits.recommended_max_working_set_size,
                    });
                }
                let bytes = self.gguf.tensor_bytes(tensor)?;
                Ok((
                    self.device
                        .new_buffer_with_data(&bytes, StorageMode::Shared)?,
                    0,
                ))
            }
        }
    }
}

/// Page-aligned ranges of the file, of at most `limit` bytes each, that together hold each of the tensors that fits into one.
/// Tensors that follow each other share a range if they fit.
fn windows<'a>(
    tensors: impl Iterator<Item = &'a TensorInfo>,
    page: u64,
    limit: u64,
) -> Vec<(u64, u64)> {
    // The bridge rounds a range up to whole pages.
    let fits = |start: u64, end: u64| (end - start).next_multiple_of(page) <= limit;
    let mut by_offset: Vec<&TensorInfo> = tensors.collect();
    by_offset.sort_unstable_by_key(|tensor| tensor.offset());
    let mut windows: Vec<(u64, u64)> = Vec::new();
    for tensor in by_offset {
        let (start, end) = (
            tensor.offset() / page * page,
            tensor.offset() + tensor.byte_len(),
        );
        match windows.last_mut() {
            Some(window) if start <= window.1.next_multiple_of(page) && fits(window.0, end) => {
                window.1 = end.max(window.1);
            }
            _ if fits(start, end) => windows.push((start, end)),
            _ => {}
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::GgufWriter;

    #[test]
    fn windows_cover_the_tensors_that_fit() {
        let mut writer = GgufWriter::new();
        for (index, length) in [1000, 6000, 1000, 100_000, 2000].into_iter().enumerate() {
            writer
                .tensor(&index.to_string(), &[length], TensorType::F32)
                .unwrap();
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        writer
            .write(&file, |t, out| {
                out.write_all(&vec![0; t.byte_len() as usize])
            })
            .unwrap();
        let gguf = Gguf::open(file.path()).unwrap();
        let size = gguf.file_size();
        let tensors = || gguf.tensors().iter();
        let last = gguf.tensors().last().unwrap();
        let end = last.offset() + last.byte_len();
        assert_eq!(windows(tensors(), 4096, u64::MAX), [(0, end)]);
        let small = windows(tensors(), 4096, 32_768);
        assert_eq!(small.len(), 2);
        for (start, end) in &small {
            assert_eq!(start % 4096, 0);
            assert!(end - start <= 32_768 && *end <= size);
        }
        for (index, tensor) in gguf.tensors().iter().enumerate() {
            let end = tensor.offset() + tensor.byte_len();
            let covered = small
                .iter()
                .any(|window| window.0 <= tensor.offset() && end <= window.1);
            assert_eq!(covered, index != 3);
        }
        // What lies between the first and the last of these is not in the ranges.
        let apart = windows(tensors().filter(|t| t.name() != "3"), 4096, u64::MAX);
        assert_eq!(apart.len(), 2);
        assert!(apart[1].0 - apart[0].1 > 390_000, "{apart:?}");
    }
}

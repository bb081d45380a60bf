//! The weights of a model in GPU buffers: the mapped file itself if it can be used as it is.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::config::ModelConfig;
use super::error::{Error, Result};
use super::gguf::{Gguf, TensorInfo, TensorType};
use metal_bridge::ops::{View, Weight, WeightType, rope_frequencies};
use metal_bridge::{Buffer, Device, StorageMode, page_size};

/// The alignment of an offset into a buffer, in bytes: the widest load of any kernel needs it.
const OFFSET_ALIGNMENT: u64 = 16;

/// All weights of a model.
#[derive(Debug)]
pub(super) struct Weights {
    pub embedding: Weight,
    pub layers: Vec<LayerWeights>,
    pub output_norm: Vector,
    pub output: Weight,
    /// The angle by which each pair of a head turns from one position to the next.
    pub rope_frequencies: Buffer,
}

/// The weights of one layer.
#[derive(Debug)]
pub(super) struct LayerWeights {
    pub attention_norm: Vector,
    pub query: Weight,
    pub key: Weight,
    pub value: Weight,
    pub attention_output: Weight,
    pub feed_forward_norm: Vector,
    pub gate: Weight,
    pub up: Weight,
    pub down: Weight,
}

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

impl Weights {
    pub fn load(device: &Device, gguf: &Gguf, config: &ModelConfig) -> Result<Self> {
        let mut loader = Loader::new(device, gguf)?;
        let (width, vocabulary) = (config.width, config.vocabulary);
        let embedding = loader.matrix("token_embd.weight", vocabulary, width)?;
        let layers = (0..config.layers)
            .map(|layer| loader.layer(layer, config))
            .collect::<Result<_>>()?;
        let output_norm = loader.vector("output_norm.weight", width)?;
        let output = if gguf.tensor("output.weight").is_ok() {
            loader.matrix("output.weight", vocabulary, width)?
        } else {
            embedding.clone()
        };
        let factors = loader.rope_factors(config)?;
        let base = f64::from(config.rope_base);
        let frequencies =
            rope_frequencies(base, config.rope_dim, config.rope_scale, factors.as_deref())?;
        let rope_frequencies = device.new_buffer_with_data(&frequencies, StorageMode::Shared)?;
        loader.refuse_leftovers()?;
        Ok(Self {
            embedding,
            layers,
            output_norm,
            output,
            rope_frequencies,
        })
    }
}

/// A range of the file that one buffer covers.
#[derive(Debug)]
struct Window {
    start: u64,
    end: u64,
    buffer: Buffer,
}

struct Loader<'a> {
    device: &'a Device,
    gguf: &'a Gguf,
    windows: Vec<Window>,
    /// Bytes of tensors that were copied.
    copied: u64,
    used: BTreeSet<&'a str>,
}

impl<'a> Loader<'a> {
    fn new(device: &'a Device, gguf: &'a Gguf) -> Result<Self> {
        let mut loader = Self {
            device,
            gguf,
            windows: Vec::new(),
            copied: 0,
            used: BTreeSet::new(),
        };
        let limit = device.limits().max_buffer_length;
        for (start, end) in windows(gguf.tensors(), gguf.file_size(), page_size() as u64, limit) {
            let range = start as usize..end as usize;
            let buffer = device.new_buffer_with_mmap(Arc::clone(gguf.map()), range)?;
            loader.windows.push(Window { start, end, buffer });
        }
        Ok(loader)
    }

    fn layer(&mut self, layer: usize, config: &ModelConfig) -> Result<LayerWeights> {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        let (width, feed_forward) = (config.width, config.feed_forward);
        let (queries, keys) = (config.query_width(), config.kv_width());
        Ok(LayerWeights {
            attention_norm: self.vector(&name("attn_norm"), width)?,
            query: self.matrix(&name("attn_q"), queries, width)?,
            key: self.matrix(&name("attn_k"), keys, width)?,
            value: self.matrix(&name("attn_v"), keys, width)?,
            attention_output: self.matrix(&name("attn_output"), width, queries)?,
            feed_forward_norm: self.vector(&name("ffn_norm"), width)?,
            gate: self.matrix(&name("ffn_gate"), feed_forward, width)?,
            up: self.matrix(&name("ffn_up"), feed_forward, width)?,
            down: self.matrix(&name("ffn_down"), width, feed_forward)?,
        })
    }

    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<Weight> {
        let tensor = self.tensor(name, &[columns as u64, rows as u64])?;
        let kind = match tensor.element_type() {
            TensorType::F32 => WeightType::F32,
            TensorType::F16 => WeightType::F16,
            TensorType::Q8_0 => WeightType::Q8_0,
            TensorType::Q4_0 => WeightType::Q4_0,
            element_type => {
                let supported = "F32, F16, Q8_0 and Q4_0";
                return Err(Error::UnsupportedType {
                    tensor: name.to_owned(),
                    element_type,
                    supported,
                });
            }
        };
        let (buffer, offset) = self.locate(tensor)?;
        Ok(Weight::new(buffer, offset, rows, columns, kind)?)
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Vector> {
        let tensor = self.f32_vector(name, length)?;
        let (buffer, offset) = self.locate(tensor)?;
        Ok(Vector { buffer, offset })
    }

    fn f32_vector(&mut self, name: &str, length: usize) -> Result<&'a TensorInfo> {
        let tensor = self.tensor(name, &[length as u64])?;
        match tensor.element_type() {
            TensorType::F32 => Ok(tensor),
            element_type => Err(Error::UnsupportedType {
                tensor: name.to_owned(),
                element_type,
                supported: "F32",
            }),
        }
    }

    /// The divisors of the rotary embedding's frequencies, which files of long-context models have.
    fn rope_factors(&mut self, config: &ModelConfig) -> Result<Option<Vec<f32>>> {
        const NAME: &str = "rope_freqs.weight";
        if self.gguf.tensor(NAME).is_err() {
            return Ok(None);
        }
        let tensor = self.f32_vector(NAME, config.pairs())?;
        let bytes = self.gguf.tensor_bytes(tensor)?;
        let floats = bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        Ok(Some(floats.collect()))
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
        self.used.insert(tensor.name());
        Ok(tensor)
    }

    /// The buffer that holds a tensor, and the tensor's offset in it: the mapped file, or a copy if the file's
    /// alignment is too small for the kernels or the tensor is larger than a buffer over the file may be.
    fn locate(&mut self, tensor: &TensorInfo) -> Result<(Buffer, usize)> {
        let end = tensor.offset() + tensor.byte_len();
        let window = self
            .windows
            .iter()
            .find(|window| window.start <= tensor.offset() && end <= window.end);
        match window {
            Some(window) if (tensor.offset() - window.start) % OFFSET_ALIGNMENT == 0 => Ok((
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

    /// Refuses a file with tensors that nothing has asked for, such as biases or experts: without them the results
    /// would be wrong.
    fn refuse_leftovers(&self) -> Result<()> {
        match self
            .gguf
            .tensors()
            .iter()
            .find(|tensor| !self.used.contains(tensor.name()))
        {
            Some(tensor) => Err(Error::Unsupported(format!(
                "the model has a tensor {:?}, which this engine does not use",
                tensor.name()
            ))),
            None => Ok(()),
        }
    }
}

/// Page-aligned ranges of the file, of at most `limit` bytes each, that together hold every tensor which fits into
/// one: a single range if the file is no larger than that.
fn windows(tensors: &[TensorInfo], file_size: u64, page: u64, limit: u64) -> Vec<(u64, u64)> {
    // The bridge rounds a range up to whole pages.
    let fits = |start: u64, end: u64| (end - start).next_multiple_of(page) <= limit;
    if fits(0, file_size) {
        return vec![(0, file_size)];
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_unstable_by_key(|tensor| tensor.offset());
    let mut windows: Vec<(u64, u64)> = Vec::new();
    for tensor in by_offset {
        let (start, end) = (
            tensor.offset() / page * page,
            tensor.offset() + tensor.byte_len(),
        );
        match windows.last_mut() {
            Some(window) if fits(window.0, end) => window.1 = end,
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
        assert_eq!(windows(gguf.tensors(), size, 4096, u64::MAX), [(0, size)]);
        let small = windows(gguf.tensors(), size, 4096, 32_768);
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
    }
}

//! [`Model`]: weights, vocabulary and kernels, shared by all sessions.

use std::path::Path;
use std::sync::Arc;

use super::config::ModelConfig;
use super::error::{Error, Result};
use super::gguf::Gguf;
use super::tokenizer::Tokenizer;
use super::weights::Weights;
use metal_bridge::Device;
use metal_bridge::ops::Ops;

/// A loaded model. Clones share it; [`Session`](super::Session)s on several threads can use it at the same time.
///
/// The weights stay in the mapped file, which the GPU reads in place; the file must not be changed while the model
/// lives.
#[derive(Clone, Debug)]
pub struct Model {
    inner: Arc<ModelInner>,
}

#[derive(Debug)]
struct ModelInner {
    config: ModelConfig,
    tokenizer: Tokenizer,
    weights: Weights,
    ops: Ops,
    file_size: u64,
}

impl Model {
    /// Loads the GGUF file at `path` for `device`.
    ///
    /// # Errors
    ///
    /// An [`Error`] that names what is wrong with the file, or what the device reports.
    pub fn load(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        Self::from_gguf(device, &open(path.as_ref())?)
    }

    /// Loads the GGUF file at `path` and reads all of its tensors once, so that the first tokens do not wait for the disk.
    /// `progress` is given the bytes read so far and the bytes in all.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn load_with_progress(
        device: &Device,
        path: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let gguf = open(path.as_ref())?;
        let model = Self::from_gguf(device, &gguf)?;
        gguf.read_through(|read| progress(read, gguf.used_size()));
        Ok(model)
    }

    /// Loads the model of an open file. The file may be dropped: the model keeps its map.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn from_gguf(device: &Device, gguf: &Gguf) -> Result<Self> {
        let config = ModelConfig::from_gguf(gguf)?;
        let tokenizer = Tokenizer::from_gguf(gguf)?;
        if tokenizer.vocabulary_size() > config.vocabulary {
            return Err(Error::Hyperparameter {
                key: "tokenizer.ggml.tokens".into(),
                value: format!("{} tokens", tokenizer.vocabulary_size()),
                reason: format!("there are only {} embeddings", config.vocabulary),
            });
        }
        let weights = Weights::load(device, gguf, &config)?;
        let ops = Ops::new(device)?;
        let file_size = gguf.file_size();
        Ok(Self {
            inner: Arc::new(ModelInner {
                config,
                tokenizer,
                weights,
                ops,
                file_size,
            }),
        })
    }

    /// The model's hyperparameters.
    pub fn config(&self) -> &ModelConfig {
        &self.inner.config
    }

    /// The model's tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.inner.tokenizer
    }

    /// The device that the model is loaded for.
    pub fn device(&self) -> &Device {
        self.inner.ops.device()
    }

    /// Size of the model's file in bytes.
    pub fn file_size(&self) -> u64 {
        self.inner.file_size
    }

    pub(super) fn weights(&self) -> &Weights {
        &self.inner.weights
    }

    pub(super) fn ops(&self) -> &Ops {
        &self.inner.ops
    }
}

fn open(path: &Path) -> Result<Gguf> {
    Gguf::open(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

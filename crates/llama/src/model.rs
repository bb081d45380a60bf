//! [`Model`]: weights, vocabulary and kernels, shared by all sessions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::config::ModelConfig;
use super::constraint::{Constraint, ConstraintError, Grammar, Table};
use super::error::{Error, Result};
use super::gguf::Gguf;
use super::hugging_face;
use super::split::split;
use super::tokenizer::Tokenizer;
use super::weights::{Weights, layer_sizes, refuse_leftovers};
use metal_bridge::Device;
use metal_bridge::ops::Ops;

/// A loaded model. Clones share it; [`Session`](super::Session)s on several threads can use it at the same time.
///
/// The weights stay in the mapped file, which the GPU reads in place; the file must not be changed while the model
/// lives.
///
/// A model that several devices hold has its first layers on the first device, the next layers on the next, and so on: each
/// device's share of the layers' bytes is about its share of the devices' memory. The text is the same as on one device, bit
/// for bit if the devices compute alike.
///
/// ```no_run
/// use metal_bridge::Device;
/// use metal_bridge_llama::Model;
///
/// # fn main() -> Result<(), metal_bridge_llama::Error> {
/// let on_all = Model::load(&Device::all()?, "model.gguf")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Model {
    inner: Arc<ModelInner>,
}

#[derive(Debug)]
struct ModelInner {
    config: ModelConfig,
    tokenizer: Tokenizer,
    chat_template: Option<String>,
    /// Where constraints look for tokens; made for the first of them.
    table: OnceLock<Result<Table, ConstraintError>>,
    stages: Vec<Stage>,
    file_size: u64,
}

/// What one device has of a model.
#[derive(Debug)]
pub(super) struct Stage {
    pub weights: Weights,
    pub ops: Ops,
    /// Made when a session first replays dispatches.
    recordable: OnceLock<Ops>,
}

impl Stage {
    /// The operations whose dispatches can be recorded.
    pub fn recordable(&self) -> Result<&Ops> {
        if let Some(made) = self.recordable.get() {
            return Ok(made);
        }
        let made = Ops::recordable(self.ops.device())?;
        Ok(self.recordable.get_or_init(|| made))
    }
}

impl Model {
    /// Loads the GGUF file or the directory at `path` (see [`open`]) for a device, or for several devices, in this order.
    ///
    /// # Errors
    ///
    /// An [`Error`] that names what is wrong with the file, or what the device reports. [`Error::Unsupported`] without a device,
    /// and for more devices than the model has layers.
    pub fn load(devices: &(impl AsRef<[Device]> + ?Sized), path: impl AsRef<Path>) -> Result<Self> {
        Self::from_gguf(devices, &open(path)?)
    }

    /// Loads the GGUF file or the directory at `path` and reads all of its tensors once, so that the first tokens do not wait for the disk.
    /// `progress` is given the bytes read so far and the bytes in all.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn load_with_progress(
        devices: &(impl AsRef<[Device]> + ?Sized),
        path: impl AsRef<Path>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let gguf = open(path)?;
        let model = Self::from_gguf(devices, &gguf)?;
        gguf.read_through(progress);
        Ok(model)
    }

    /// Loads the model of an open file. The file may be dropped: the model keeps its map.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn from_gguf(devices: &(impl AsRef<[Device]> + ?Sized), gguf: &Gguf) -> Result<Self> {
        let devices = devices.as_ref();
        let config = ModelConfig::from_gguf(gguf)?;
        let tokenizer = Tokenizer::from_gguf(gguf)?;
        if tokenizer.vocabulary_size() > config.vocabulary {
            return Err(Error::Hyperparameter {
                key: "tokenizer.ggml.tokens".into(),
                value: format!("{} tokens", tokenizer.vocabulary_size()),
                reason: format!("there are only {} embeddings", config.vocabulary),
            });
        }
        let chat_template = gguf.get_str("tokenizer.chat_template")?.map(str::to_owned);
        let stages = stages(devices, gguf, &config)?;
        let file_size = gguf.file_size();
        Ok(Self {
            inner: Arc::new(ModelInner {
                config,
                tokenizer,
                chat_template,
                table: OnceLock::new(),
                stages,
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

    /// A constraint of texts of this model. The first one makes a table of the model's tokens.
    ///
    /// # Errors
    ///
    /// A [`ConstraintError`] that says why there can be no such constraint. A grammar that is too complex is refused within some
    /// seconds.
    pub fn constraint(&self, grammar: Grammar) -> Result<Constraint, ConstraintError> {
        let table = self
            .inner
            .table
            .get_or_init(|| Table::new(self.tokenizer()));
        Constraint::new(table.as_ref().map_err(Clone::clone)?, grammar)
    }

    /// The program that makes a text of a chat, if the file has one: [`ChatTemplate`](super::chat::ChatTemplate) runs it.
    pub fn chat_template(&self) -> Option<&str> {
        self.inner.chat_template.as_deref()
    }

    /// The devices that the model is loaded for, in the order of its layers.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.stages().iter().map(|stage| stage.ops.device())
    }

    /// The device of the model's first layer.
    pub fn device(&self) -> &Device {
        self.inner.stages[0].ops.device()
    }

    /// Size of the model's file in bytes.
    pub fn file_size(&self) -> u64 {
        self.inner.file_size
    }

    pub(super) fn stages(&self) -> &[Stage] {
        &self.inner.stages
    }
}

fn stages(devices: &[Device], gguf: &Gguf, config: &ModelConfig) -> Result<Vec<Stage>> {
    let (count, layers) = (devices.len(), config.layers.len());
    if count == 0 || count > layers {
        let reason =
            format!("a model of {layers} layers takes from 1 to {layers} devices, not {count}");
        return Err(Error::Unsupported(reason));
    }
    let memory = |device: &Device| device.limits().recommended_max_working_set_size;
    let memories: Vec<u64> = devices.iter().map(memory).collect();
    let mut used = BTreeSet::new();
    let stages = devices
        .iter()
        .zip(split(&layer_sizes(gguf, layers), &memories))
        .map(|(device, layers)| {
            Ok(Stage {
                weights: Weights::load(device, gguf, config, layers, &mut used)?,
                ops: Ops::new(device)?,
                recordable: OnceLock::new(),
            })
        });
    let stages = stages.collect::<Result<_>>()?;
    refuse_leftovers(gguf, &used)?;
    Ok(stages)
}

/// Opens a model: a GGUF file, or a directory as Hugging Face has them ([`hugging_face`]).
///
/// # Errors
///
/// [`Error::File`] or [`Error::Directory`].
pub fn open(path: impl AsRef<Path>) -> Result<Gguf> {
    let path = path.as_ref();
    if path.is_dir() {
        return hugging_face::open(path).map_err(|source| Error::Directory {
            path: path.to_owned(),
            source,
        });
    }
    Gguf::open(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

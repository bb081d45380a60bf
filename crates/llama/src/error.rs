//! [`Error`]: what can go wrong in the engine.

use std::path::PathBuf;

use super::architecture;
use super::gguf::{GgufError, TensorType};
use super::hugging_face::DirectoryError;
use super::perplexity::PerplexityError;
use super::sampling::SamplingError;
use super::tokenizer::TokenizerError;

/// The result of the engine's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a model could not be loaded or run. The model and its sessions stay usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read, or is not a sound GGUF file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: GgufError,
    },
    /// The directory cannot be read, or does not hold a model that the engine runs.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        source: DirectoryError,
    },
    /// The file lacks metadata or tensors of a model.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The file's vocabulary cannot be used, or a text cannot be encoded with it.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The engine does not run models of this architecture.
    #[error("unsupported architecture {0:?}; supported are {names}", names = architecture::names())]
    UnsupportedArchitecture(String),
    /// A tensor is of a type that there are no kernels for.
    #[error("tensor {tensor:?} has type {element_type}; supported are {supported}")]
    UnsupportedType {
        /// Name of the tensor.
        tensor: String,
        /// Its type.
        element_type: TensorType,
        /// The types that there are kernels for.
        supported: &'static str,
    },
    /// The model needs something that the engine does not do.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A hyperparameter that no model can have, or that contradicts another one.
    #[error("metadata key {key:?} is {value}: {reason}")]
    Hyperparameter {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A tensor has another shape than the hyperparameters call for.
    #[error("tensor {tensor:?} has shape {found:?}, expected {expected:?}")]
    Shape {
        /// Name of the tensor.
        tensor: String,
        /// Its dimensions, the contiguous one first.
        found: Vec<u64>,
        /// What they have to be.
        expected: Vec<u64>,
    },
    /// A tensor has values that no model can have.
    #[error("tensor {tensor:?}: {reason}")]
    TensorValues {
        /// Name of the tensor.
        tensor: String,
        /// What is wrong with them.
        reason: metal_bridge::Error,
    },
    /// A tensor is larger than the largest buffer of the device.
    #[error(
        "tensor {tensor:?} takes {bytes} bytes, but a buffer of this device may have only {limit}"
    )]
    TensorTooLarge {
        /// Name of the tensor.
        tensor: String,
        /// Bytes of its data.
        bytes: u64,
        /// Bytes of the largest buffer.
        limit: u64,
    },
    /// Tensors must be copied if they are not aligned in the file, or are larger than the part of it that a buffer
    /// covers. These copies do not fit into the device's memory.
    #[error(
        "copies of the tensors up to {tensor:?} take {bytes} bytes, but the device's memory has {limit}"
    )]
    CopiesTooLarge {
        /// Name of the tensor that was to be copied next.
        tensor: String,
        /// Bytes of all copies.
        bytes: u64,
        /// The device's recommended working set, in bytes.
        limit: u64,
    },
    /// The keys and values of all texts would not fit into the device's memory.
    #[error(
        "the keys and values of {tokens} tokens take {bytes} bytes, but the device's memory has {limit}"
    )]
    CacheTooLarge {
        /// Tokens of all texts.
        tokens: usize,
        /// Bytes of keys and values of all layers.
        bytes: u64,
        /// The device's recommended working set, in bytes.
        limit: u64,
    },
    /// There is nothing to continue: the prompt has no tokens, or the session has no logits.
    #[error("there are no tokens to continue")]
    NoTokens,
    /// The tokens do not fit into the session's context.
    #[error("{tokens} tokens after {position} exceed the context of {context}")]
    ContextExceeded {
        /// The tokens to be added.
        tokens: usize,
        /// The tokens that the session holds already.
        position: usize,
        /// The most that it can hold.
        context: usize,
    },
    /// The caches are full of other texts, so the tokens have no room.
    #[error("{tokens} tokens have no room in the caches, which other texts fill")]
    CacheFull {
        /// The tokens to be added.
        tokens: usize,
    },
    /// A token's number is beyond the vocabulary.
    #[error("there is no token {token}: the vocabulary has {vocabulary}")]
    NoSuchToken {
        /// The number.
        token: u32,
        /// The number of tokens.
        vocabulary: usize,
    },
    /// Sampling settings out of range, or logits that are not numbers.
    #[error(transparent)]
    Sampling(#[from] SamplingError),
    /// The perplexity of a text cannot be computed.
    #[error(transparent)]
    Perplexity(#[from] PerplexityError),
    /// A call of the bridge failed: no device, no memory, an error of the GPU.
    #[error(transparent)]
    Metal(#[from] metal_bridge::Error),
}

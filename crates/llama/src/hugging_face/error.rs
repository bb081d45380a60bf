//! What can be wrong with a directory in Hugging Face's layout.

use std::{fmt, io};

use crate::gguf::GgufError;

/// Why a directory was refused. Files are named as they are in the directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DirectoryError {
    /// The operating system could not open, read or map a file.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// A file that every such directory has is not there.
    #[error("{file} is missing")]
    MissingFile {
        /// The file, or a list of files of which one has to be there.
        file: String,
    },
    /// A folder, a pipe or a device has the name of a file.
    #[error("{file} is not a regular file")]
    NotAFile {
        /// The name.
        file: String,
    },
    /// A file, or a part of one, is larger than that of any model.
    #[error("{file} has {bytes} bytes, more than {limit}")]
    TooLarge {
        /// The file, or the part.
        file: String,
        /// Its bytes.
        bytes: u64,
        /// The most that it may have.
        limit: u64,
    },
    /// A file is not JSON, or not of the form that its name calls for.
    #[error("{file}: {}", printable(source))]
    Json {
        /// The file.
        file: String,
        /// What is wrong, and where.
        source: serde_json::Error,
    },
    /// A key that is needed is not there.
    #[error("{file}: key {key:?} is missing")]
    MissingKey {
        /// The file.
        file: String,
        /// The key.
        key: String,
    },
    /// A value has another type than the one that its key calls for, or is out of range.
    #[error("{file}: key {key:?} is not {expected}")]
    WrongValue {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The index names a file that is not a file of the directory.
    #[error("{index} names the file {shard:?}, which is not a name of a file in the directory")]
    Outside {
        /// The index.
        index: String,
        /// What it names.
        shard: String,
    },
    /// The header of a safetensors file is not sound.
    #[error("{file}: {}", printable(reason))]
    Header {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two tensors have one name.
    #[error("{file}: tensor {tensor:?} appears twice")]
    DuplicateTensor {
        /// The file with the second one.
        file: String,
        /// The name.
        tensor: String,
    },
    /// A file lacks a tensor that the index promises, or that belongs to others.
    #[error("{file}: tensor {tensor:?} is missing")]
    MissingTensor {
        /// The file.
        file: String,
        /// Name of the tensor.
        tensor: String,
    },
    /// A tensor's shape or element type is not one that it can have.
    #[error("tensor {tensor:?}: {reason}")]
    Tensor {
        /// Name of the tensor.
        tensor: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The vocabulary contradicts itself.
    #[error("{file}: {reason}")]
    Vocabulary {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The model needs something that the reader does not translate.
    #[error("{file}: {what} is not supported")]
    Unsupported {
        /// The file that says so.
        file: String,
        /// What is not supported.
        what: String,
    },
    /// The keys or tensors of the translation are not sound.
    #[error(transparent)]
    Gguf(#[from] GgufError),
}

/// A message that may repeat a part of a file, which shall not steer a terminal.
fn printable(message: &impl fmt::Display) -> String {
    let mut text = String::new();
    for character in message.to_string().chars() {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    text
}

/// The result of reading a directory.
pub(super) type Result<T> = std::result::Result<T, DirectoryError>;

//! What can be wrong with a GGUF file.

use std::io;

/// Why a GGUF file was refused. Offsets are bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The operating system could not open, read or map the file.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A folder, a pipe or a device, which cannot be mapped.
    #[error("not a regular file")]
    NotAFile,
    /// The file does not begin with `GGUF`.
    #[error("not a GGUF file: it begins with {:?}", String::from_utf8_lossy(.found))]
    NotGguf {
        /// The first bytes of the file, four at most.
        found: Vec<u8>,
    },
    /// A version other than 2 and 3, or a file written for big-endian machines.
    #[error("unsupported GGUF version {version}{}", if *.big_endian { " (big-endian file)" } else { "" })]
    UnsupportedVersion {
        /// The version, in the byte order that makes sense of it.
        version: u32,
        /// Whether the file's numbers are big-endian.
        big_endian: bool,
    },
    /// The file ends within what is being read, or a count promises more than the file holds.
    #[error("{what} at byte {offset} needs {needed} bytes, but the file has {available} left")]
    Truncated {
        /// What was being read.
        what: String,
        /// Where it starts.
        offset: u64,
        /// The fewest bytes that it takes.
        needed: u64,
        /// Bytes from there to the end of the file.
        available: u64,
    },
    /// A header that takes more memory than any model's needs: a sparse file of a few bytes can claim terabytes.
    #[error(
        "{what} at byte {offset} takes {needed} bytes of memory, which with what was read before exceeds a header's limit of {limit} bytes"
    )]
    TooLarge {
        /// What was being read.
        what: String,
        /// Where it starts.
        offset: u64,
        /// Bytes of memory that it takes.
        needed: u64,
        /// The most that a header may take.
        limit: u64,
    },
    /// There is no memory for a part of the file.
    #[error("there is no memory for {what}, which takes {bytes} bytes")]
    OutOfMemory {
        /// What was to be read.
        what: String,
        /// Bytes of memory that it takes.
        bytes: u64,
    },
    /// A value that the format does not allow.
    #[error("{what} at byte {offset}: {reason}")]
    Invalid {
        /// What was being read.
        what: String,
        /// Where it starts.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Two metadata keys or two tensors have one name.
    #[error("{what} {name:?} appears twice")]
    Duplicate {
        /// "metadata key" or "tensor".
        what: &'static str,
        /// The name in question.
        name: String,
    },
    /// A tensor's data reaches past the end of the file.
    #[error("tensor {tensor:?} lies in bytes {start}..{end}, but the file has {file_size}")]
    TensorOutOfRange {
        /// Name of the tensor.
        tensor: String,
        /// First byte of its data.
        start: u64,
        /// One past the last byte of its data.
        end: u64,
        /// Size of the file.
        file_size: u64,
    },
    /// Two tensors share bytes.
    #[error("tensors {first:?} and {second:?} overlap at byte {offset}")]
    TensorOverlap {
        /// The tensor that starts first.
        first: String,
        /// The tensor that starts inside of the first one.
        second: String,
        /// Where the second one starts.
        offset: u64,
    },
    /// A metadata key that is needed is not there.
    #[error("metadata key {key:?} is missing")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A metadata value has another type than the one that its key calls for.
    #[error("metadata key {key:?} is {found}, expected {expected}")]
    WrongType {
        /// The key.
        key: String,
        /// The type that the key should have.
        expected: &'static str,
        /// The type that it has, in words.
        found: String,
    },
    /// A tensor that is needed is not there.
    #[error("tensor {name:?} is missing")]
    MissingTensor {
        /// Name of the tensor.
        name: String,
    },
}

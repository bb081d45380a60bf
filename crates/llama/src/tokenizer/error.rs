//! What can be wrong with a tokenizer, or with a text for it.

use crate::gguf::GgufError;

/// Why a tokenizer could not be made from a file, or why a text could not be encoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file's metadata lacks something or has it in another type.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// `tokenizer.ggml.model` names a kind of tokenizer that is not implemented.
    #[error("unsupported tokenizer model {0:?}; supported are \"llama\" and \"gpt2\"")]
    UnsupportedModel(String),
    /// `tokenizer.ggml.pre` names an unknown way of splitting text into words.
    #[error("unsupported pre-tokenizer {0:?}")]
    UnsupportedPreTokenizer(String),
    /// The parts of the vocabulary contradict each other.
    #[error("malformed vocabulary: {0}")]
    Malformed(String),
    /// The text holds a byte that no token of the vocabulary stands for.
    #[error("the vocabulary has no token for byte {byte:#04x}")]
    Unencodable {
        /// The byte.
        byte: u8,
    },
    /// The text has more bytes than can be encoded at once.
    #[error(
        "the text has {bytes} bytes, more than the {} that can be encoded",
        u32::MAX
    )]
    TooLong {
        /// Its bytes.
        bytes: usize,
    },
}

/// Refuses a text whose bytes have no numbers of 32 bits.
pub(super) fn check_length(text: &str) -> Result<(), TokenizerError> {
    match u32::try_from(text.len()).is_err() {
        true => Err(TokenizerError::TooLong { bytes: text.len() }),
        false => Ok(()),
    }
}

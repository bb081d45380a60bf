//! Tokens by number and by text.

use std::collections::HashMap;
use std::sync::Arc;

use super::error::TokenizerError;
use crate::gguf::{Array, Gguf, Required};

/// What a token is, as `tokenizer.ggml.token_type` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Stands for its text.
    Normal = 1,
    /// Stands for whatever has no token.
    Unknown,
    /// Steers the model (begin, end, roles) and is not text.
    Control,
    /// Stands for its text, and is found in a text before anything else.
    UserDefined,
    /// Text is encoded as it, but it has no text when it is decoded.
    Unused,
    /// Stands for one byte; its text is `<0x00>` to `<0xFF>`.
    Byte,
}

impl TokenKind {
    fn from_id(id: i64) -> Self {
        match id {
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }
}

/// The most tokens: sixteen times as many as the largest vocabularies have. An empty token takes eight bytes of a
/// file, but fifty bytes of memory.
pub(crate) const MAX_TOKENS: usize = 1 << 22;

/// The tokens of a model.
#[derive(Debug)]
pub(super) struct Vocabulary {
    texts: Vec<Arc<str>>,
    kinds: Vec<TokenKind>,
    scores: Vec<f32>,
    ids: HashMap<Arc<str>, u32>,
}

impl Vocabulary {
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, TokenizerError> {
        const TOKENS: &str = "tokenizer.ggml.tokens";
        let Array::String(tokens) = gguf.get_array(TOKENS).required(TOKENS)? else {
            return Err(TokenizerError::Malformed(format!(
                "{TOKENS} is not an array of strings"
            )));
        };
        if !(1..=MAX_TOKENS).contains(&tokens.len()) {
            let reason = format!("{} tokens, not 1 to {MAX_TOKENS}", tokens.len());
            return Err(TokenizerError::Malformed(reason));
        }
        let kinds = per_token(
            gguf,
            "tokenizer.ggml.token_type",
            tokens.len(),
            |array| match array {
                Array::I32(v) => Some(v.iter().map(|&id| TokenKind::from_id(id.into())).collect()),
                Array::U32(v) => Some(v.iter().map(|&id| TokenKind::from_id(id.into())).collect()),
                _ => None,
            },
        )?;
        let scores = per_token(
            gguf,
            "tokenizer.ggml.scores",
            tokens.len(),
            |array| match array {
                Array::F32(v) => Some(v.clone()),
                Array::I32(v) => Some(v.iter().map(|&score| score as f32).collect()),
                _ => None,
            },
        )?;
        let texts: Vec<Arc<str>> = tokens.iter().map(Arc::from).collect();
        let kinds = kinds.unwrap_or_else(|| {
            texts
                .iter()
                .map(|t| {
                    if parse_byte(t).is_some() {
                        TokenKind::Byte
                    } else {
                        TokenKind::Normal
                    }
                })
                .collect()
        });
        let mut ids = HashMap::new();
        for (id, text) in (0u32..).zip(&texts) {
            ids.entry(Arc::clone(text)).or_insert(id);
        }
        let scores = scores.unwrap_or_else(|| vec![0.0; texts.len()]);
        Ok(Self {
            texts,
            kinds,
            scores,
            ids,
        })
    }

    pub fn len(&self) -> usize {
        self.texts.len()
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        self.texts.get(id as usize).map(|text| &**text)
    }

    pub fn kind(&self, id: u32) -> Option<TokenKind> {
        self.kinds.get(id as usize).copied()
    }

    pub fn score(&self, id: u32) -> f32 {
        self.scores.get(id as usize).copied().unwrap_or(0.0)
    }

    pub fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// The token with this text, if text may be encoded as it: control, unknown and byte tokens may not be.
    pub fn spelt(&self, text: &str) -> Option<u32> {
        self.id(text).filter(|&id| {
            matches!(
                self.kind(id),
                Some(TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused)
            )
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &str, TokenKind)> {
        (0u32..)
            .zip(&self.texts)
            .zip(&self.kinds)
            .map(|((id, text), &kind)| (id, &**text, kind))
    }
}

/// Reads an optional array that has one element a token.
fn per_token<T>(
    gguf: &Gguf,
    key: &str,
    count: usize,
    convert: impl Fn(&Array) -> Option<Vec<T>>,
) -> Result<Option<Vec<T>>, TokenizerError> {
    let Some(array) = gguf.get_array(key)? else {
        return Ok(None);
    };
    let Some(values) = convert(array) else {
        return Err(TokenizerError::Malformed(format!(
            "{key} is not an array of the right type"
        )));
    };
    if values.len() != count {
        return Err(TokenizerError::Malformed(format!(
            "{key} has {} elements for {count} tokens",
            values.len()
        )));
    }
    Ok(Some(values))
}

/// The byte that a token text like `<0x0A>` stands for.
pub(super) fn parse_byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2)
        .then(|| u8::from_str_radix(digits, 16).ok())
        .flatten()
}

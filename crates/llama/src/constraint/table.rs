//! [`Table`]: the bytes of all tokens, in which a constraint looks for those that it allows.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use llguidance::ParserFactory;
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};

use super::error::ConstraintError;
use crate::tokenizer::{TokenKind, Tokenizer};

/// Tokens of more bytes are not allowed under a constraint: the tree of tokens has no room for longer branches.
const MAX_TOKEN: usize = 255;
/// The most nodes of the tree of tokens.
const MAX_NODES: usize = (1 << 24) - 1;
/// Lexer states of a constraint: they take some kilobytes each.
const MAX_STATES: usize = 25_000;
/// Steps to make the lexer: each keeps some hundred bytes.
const MAX_STEPS: u64 = 60_000;

/// Of one vocabulary, for all constraints.
pub(crate) struct Table {
    pub(super) factory: ParserFactory,
    /// Stands for the end of a text, whichever token the model ends it with. It is one more than the vocabulary has.
    pub(super) end: u32,
    /// The tokens that it stands for.
    pub(super) ends: Vec<u32>,
}

impl Table {
    pub fn new(tokenizer: &Tokenizer) -> Result<Self, ConstraintError> {
        let refused = |error: &dyn ToString| ConstraintError::Vocabulary(error.to_string());
        let end = u32::try_from(tokenizer.vocabulary_size()).map_err(|error| refused(&error))?;
        let mut words: Vec<Vec<u8>> = (0..end).map(|token| word(tokenizer, token)).collect();
        words.push(Vec::new());
        if words.iter().map(Vec::len).sum::<usize>() > MAX_NODES {
            return Err(refused(&format!(
                "its tokens have more than {MAX_NODES} bytes"
            )));
        }
        let tree = TokTrie::from(&TokRxInfo::new(end + 1, end), &words);
        // Nothing is encoded with it: the model chooses how a text is cut into tokens.
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(tree));
        let factory = ParserFactory::new_simple(&environment);
        let mut factory = factory.map_err(|error| refused(&error))?;
        let limits = factory.quiet().limits_mut();
        limits.verbose_errors = false;
        limits.precompute_large_lexemes = false;
        limits.max_lexer_states = MAX_STATES;
        limits.initial_lexer_fuel = MAX_STEPS;
        Ok(Self {
            factory,
            end,
            ends: tokenizer.ends().collect(),
        })
    }
}

impl Debug for Table {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Table").finish_non_exhaustive()
    }
}

/// The bytes that a token adds to a text; none if it may not be part of one. A control token has its name behind the byte that
/// marks it, by which a Lark grammar can ask for it.
fn word(tokenizer: &Tokenizer, token: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    if tokenizer.is_end(token) {
        return bytes;
    }
    if tokenizer.kind(token) == Some(TokenKind::Control) {
        bytes.push(TokTrie::SPECIAL_TOKEN_MARKER);
        bytes.extend(tokenizer.text(token).unwrap_or_default().bytes());
    } else {
        tokenizer.decode_token(token, &mut bytes);
        // No text in UTF-8 has this byte.
        if bytes.contains(&TokTrie::SPECIAL_TOKEN_MARKER) {
            bytes.clear();
        }
    }
    match bytes.len() {
        0..=MAX_TOKEN => bytes,
        _ => Vec::new(),
    }
}

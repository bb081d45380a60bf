//! SentencePiece's byte-pair encoding: merges the neighbours whose joint token scores best.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::error::TokenizerError;
use super::vocabulary::{TokenKind, Vocabulary, parse_byte};

/// SentencePiece writes spaces as this character.
const SPACE: &str = "\u{2581}";

/// What SentencePiece needs besides the vocabulary.
#[derive(Debug)]
pub(super) struct SentencePiece {
    /// The token of each byte, for characters that have none.
    bytes: Box<[Option<u32>; 256]>,
    unknown: Option<u32>,
}

/// A run of characters that is one token so far; an empty one has been merged into its left neighbour.
struct Symbol {
    start: usize,
    end: usize,
    previous: Option<usize>,
    next: Option<usize>,
}

/// Two neighbours that together are a token.
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// Bytes of both when the pair was found: another length means that one of them has changed since.
    length: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        // The best score comes first; of equal scores, the leftmost pair.
        self.score
            .total_cmp(&other.score)
            .then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

impl SentencePiece {
    pub fn new(vocabulary: &Vocabulary, unknown: Option<u32>) -> Self {
        let mut bytes = Box::new([None; 256]);
        for (id, text, kind) in vocabulary.iter() {
            if let (TokenKind::Byte, Some(byte)) = (kind, parse_byte(text)) {
                bytes[usize::from(byte)].get_or_insert(id);
            }
        }
        Self { bytes, unknown }
    }

    /// Appends the tokens of `text`; with `space_prefix` as if a space preceded it.
    pub fn encode(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        space_prefix: bool,
        tokens: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let text = format!(
            "{}{}",
            if space_prefix { SPACE } else { "" },
            text.replace(' ', SPACE)
        );
        let symbols = merge(vocabulary, &text);
        let mut current = (!symbols.is_empty()).then_some(0);
        while let Some(index) = current {
            let symbol = &symbols[index];
            self.push_symbol(vocabulary, &text[symbol.start..symbol.end], tokens)?;
            current = symbol.next;
        }
        Ok(())
    }

    fn push_symbol(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        tokens: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        if let Some(id) = vocabulary.spelt(text) {
            tokens.push(id);
            return Ok(());
        }
        let missing = text
            .bytes()
            .find(|&byte| self.bytes[usize::from(byte)].is_none());
        match (missing, self.unknown) {
            (None, _) => tokens.extend(
                text.bytes()
                    .filter_map(|byte| self.bytes[usize::from(byte)]),
            ),
            (Some(_), Some(unknown)) => tokens.push(unknown),
            (Some(byte), None) => return Err(TokenizerError::Unencodable { byte }),
        }
        Ok(())
    }

    /// Appends the bytes that a normal token stands for.
    pub fn decode(text: &str, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(text.replace(SPACE, " ").as_bytes());
    }
}

/// Merges the characters of `text` until no two neighbours make a token.
fn merge(vocabulary: &Vocabulary, text: &str) -> Vec<Symbol> {
    let count = text.chars().count();
    let mut symbols: Vec<Symbol> = text
        .char_indices()
        .enumerate()
        .map(|(index, (start, character))| Symbol {
            start,
            end: start + character.len_utf8(),
            previous: index.checked_sub(1),
            next: (index + 1 < count).then_some(index + 1),
        })
        .collect();
    let pair = |symbols: &[Symbol], left: usize, right: usize| {
        let joined = &text[symbols[left].start..symbols[right].end];
        let id = vocabulary.spelt(joined)?;
        Some(Pair {
            // The sum makes -0.0 a 0.0, which `total_cmp` would put behind it.
            score: vocabulary.score(id) + 0.0,
            left,
            right,
            length: joined.len(),
        })
    };
    let mut queue: BinaryHeap<Pair> = (1..count)
        .filter_map(|right| pair(&symbols, right - 1, right))
        .collect();
    while let Some(Pair {
        left,
        right,
        length,
        ..
    }) = queue.pop()
    {
        let left_length = symbols[left].end - symbols[left].start;
        let right_length = symbols[right].end - symbols[right].start;
        if left_length == 0 || right_length == 0 || left_length + right_length != length {
            continue;
        }
        let next = symbols[right].next;
        symbols[left].end = symbols[right].end;
        symbols[left].next = next;
        symbols[right].start = symbols[right].end;
        if let Some(next) = next {
            symbols[next].previous = Some(left);
            queue.extend(pair(&symbols, left, next));
        }
        if let Some(previous) = symbols[left].previous {
            queue.extend(pair(&symbols, previous, left));
        }
    }
    symbols
}

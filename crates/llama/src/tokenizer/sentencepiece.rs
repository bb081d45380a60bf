//! SentencePiece's byte-pair encoding: merges the neighbours whose joint token scores best.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::error::{TokenizerError, check_length};
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

/// A run of characters that is one token so far; an empty one has been merged into its left neighbour. A text has one for each
/// character, so that its numbers have four bytes.
struct Symbol {
    start: u32,
    end: u32,
    previous: Option<u32>,
    next: Option<u32>,
}

impl Symbol {
    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    fn length(&self) -> u32 {
        self.end - self.start
    }
}

/// Two neighbours that together are a token.
struct Pair {
    score: f32,
    left: u32,
    right: u32,
    /// Bytes of both when the pair was found: another length means that one of them has changed since.
    length: u32,
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
        let symbols = merge(vocabulary, &text)?;
        let mut current = (!symbols.is_empty()).then_some(0);
        while let Some(index) = current {
            let symbol: &Symbol = &symbols[index as usize];
            self.push_symbol(vocabulary, &text[symbol.range()], tokens)?;
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
fn merge(vocabulary: &Vocabulary, text: &str) -> Result<Vec<Symbol>, TokenizerError> {
    check_length(text)?;
    let count = text.chars().count() as u32;
    let symbols = (0u32..).zip(text.char_indices());
    let symbols = symbols.map(|(index, (start, character))| Symbol {
        start: start as u32,
        end: (start + character.len_utf8()) as u32,
        previous: index.checked_sub(1),
        next: (index + 1 < count).then_some(index + 1),
    });
    let mut symbols: Vec<Symbol> = symbols.collect();
    let pair = |symbols: &[Symbol], left: u32, right: u32| {
        let (start, end) = (symbols[left as usize].start, symbols[right as usize].end);
        let id = vocabulary.spelt(&text[start as usize..end as usize])?;
        Some(Pair {
            // The sum makes -0.0 a 0.0, which `total_cmp` would put behind it.
            score: vocabulary.score(id) + 0.0,
            left,
            right,
            length: end - start,
        })
    };
    let mut queue: BinaryHeap<Pair> = (1..count)
        .filter_map(|right| pair(&symbols, right - 1, right))
        .collect();
    while let Some(found) = queue.pop() {
        let (left, right) = (found.left as usize, found.right as usize);
        let (left_length, right_length) = (symbols[left].length(), symbols[right].length());
        if left_length == 0 || right_length == 0 || left_length + right_length != found.length {
            continue;
        }
        let next = symbols[right].next;
        symbols[left].end = symbols[right].end;
        symbols[left].next = next;
        symbols[right].start = symbols[right].end;
        if let Some(next) = next {
            symbols[next as usize].previous = Some(found.left);
            queue.extend(pair(&symbols, found.left, next));
        }
        if let Some(previous) = symbols[left].previous {
            queue.extend(pair(&symbols, previous, found.left));
        }
    }
    Ok(symbols)
}

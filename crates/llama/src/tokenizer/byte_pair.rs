//! Byte-level byte-pair encoding, as GPT-2 introduced it: merges neighbours in the order of a list of merges.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::error::{TokenizerError, check_length};
use super::pretokenizer::PreTokenizer;
use super::vocabulary::Vocabulary;
use crate::gguf::{Array, Gguf, Required};

/// What byte-pair encoding needs besides the vocabulary.
#[derive(Debug)]
pub(super) struct BytePair {
    pub pre_tokenizer: PreTokenizer,
    /// The token of each byte.
    bytes: Box<[Option<u32>; 256]>,
    /// Rank in the list, and resulting token, of two tokens that merge.
    merges: HashMap<(u32, u32), (u32, u32)>,
}

/// A token so far; `next` skips the symbols that were merged into their left neighbour. A word has one for each byte, so that its
/// numbers have four bytes.
struct Symbol {
    id: u32,
    previous: Option<u32>,
    next: Option<u32>,
    merged: bool,
}

impl BytePair {
    pub fn from_gguf(gguf: &Gguf, vocabulary: &Vocabulary) -> Result<Self, TokenizerError> {
        const MERGES: &str = "tokenizer.ggml.merges";
        let pre_tokenizer = gguf.get_str("tokenizer.ggml.pre")?.unwrap_or("default");
        let Array::String(list) = gguf.get_array(MERGES).required(MERGES)? else {
            return Err(TokenizerError::Malformed(format!(
                "{MERGES} is not an array of strings"
            )));
        };
        let mut merges = HashMap::new();
        for (rank, merge) in (0u32..).zip(list.iter()) {
            // The first character is never the separator.
            let first = merge.chars().next().map_or(0, char::len_utf8);
            let Some(space) = merge[first..].find(' ').map(|at| at + first) else {
                return Err(TokenizerError::Malformed(format!(
                    "merge {rank} {merge:?} is not a pair"
                )));
            };
            let (left, right) = (&merge[..space], &merge[space + 1..]);
            let ids = (
                vocabulary.id(left),
                vocabulary.id(right),
                vocabulary.id(&[left, right].concat()),
            );
            // A merge whose parts or result are not tokens never applies.
            if let (Some(left), Some(right), Some(joined)) = ids {
                merges.entry((left, right)).or_insert((rank, joined));
            }
        }
        let mut bytes = Box::new([None; 256]);
        for byte in 0..=255 {
            bytes[usize::from(byte)] = vocabulary.id(byte_to_char(byte).encode_utf8(&mut [0; 4]));
        }
        Ok(Self {
            pre_tokenizer: PreTokenizer::named(pre_tokenizer)?,
            bytes,
            merges,
        })
    }

    /// Appends the tokens of `text`.
    pub fn encode(
        &self,
        vocabulary: &Vocabulary,
        text: &str,
        tokens: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        for word in self.pre_tokenizer.split(text) {
            if self.pre_tokenizer.whole_words {
                let spelt: String = word.bytes().map(byte_to_char).collect();
                if let Some(id) = vocabulary.spelt(&spelt) {
                    tokens.push(id);
                    continue;
                }
            }
            self.encode_word(word, tokens)?;
        }
        Ok(())
    }

    fn encode_word(&self, word: &str, tokens: &mut Vec<u32>) -> Result<(), TokenizerError> {
        check_length(word)?;
        let count = word.len() as u32;
        let mut symbols = Vec::with_capacity(word.len());
        for (index, byte) in (0u32..).zip(word.bytes()) {
            symbols.push(Symbol {
                id: self.bytes[usize::from(byte)].ok_or(TokenizerError::Unencodable { byte })?,
                previous: index.checked_sub(1),
                next: (index + 1 < count).then_some(index + 1),
                merged: false,
            });
        }
        // The lowest rank comes first; of equal ranks, the leftmost pair. The tokens tell whether the pair is still
        // there.
        let pair = |symbols: &[Symbol], left: u32, right: u32| {
            let ids = (symbols[left as usize].id, symbols[right as usize].id);
            self.merges
                .get(&ids)
                .map(|&(rank, joined)| Reverse((rank, left, right, ids, joined)))
        };
        let mut queue: BinaryHeap<_> = (1..count)
            .filter_map(|right| pair(&symbols, right - 1, right))
            .collect();
        while let Some(Reverse((_, left, right, ids, joined))) = queue.pop() {
            let (at, after) = (left as usize, right as usize);
            let current = (symbols[at].id, symbols[after].id);
            if symbols[at].merged || symbols[at].next != Some(right) || current != ids {
                continue;
            }
            let next = symbols[after].next;
            symbols[after].merged = true;
            symbols[at].id = joined;
            symbols[at].next = next;
            if let Some(next) = next {
                symbols[next as usize].previous = Some(left);
                queue.extend(pair(&symbols, left, next));
            }
            if let Some(previous) = symbols[at].previous {
                queue.extend(pair(&symbols, previous, left));
            }
        }
        tokens.extend(
            symbols
                .iter()
                .filter(|symbol| !symbol.merged)
                .map(|symbol| symbol.id),
        );
        Ok(())
    }

    /// Appends the bytes that a normal token stands for.
    pub fn decode(text: &str, bytes: &mut Vec<u8>) {
        for character in text.chars() {
            match char_to_byte(character) {
                Some(byte) => bytes.push(byte),
                // The character stands for no byte, so the vocabulary means the character itself.
                None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
}

/// Whether a byte's own Latin-1 character is printable, so that it stands for itself.
fn is_printable(byte: u8) -> bool {
    matches!(byte, 33..=126 | 161..=172 | 174..=255)
}

/// The printable character that a vocabulary of byte-level byte pairs writes for a byte: its own Latin-1 character, or
/// the next one from U+0100 on.
pub fn byte_to_char(byte: u8) -> char {
    if is_printable(byte) {
        return char::from(byte);
    }
    let rank = (0..byte).filter(|&b| !is_printable(b)).count() as u32;
    char::from_u32(256 + rank).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn char_to_byte(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ 0..=255 => u8::try_from(code).ok().filter(|&byte| is_printable(byte)),
        code => (0..=255)
            .filter(|&b| !is_printable(b))
            .nth(code as usize - 256),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_their_characters_are_one_to_one() {
        for byte in 0..=255 {
            assert_eq!(char_to_byte(byte_to_char(byte)), Some(byte));
        }
        assert_eq!(byte_to_char(b' '), 'Ġ');
        assert_eq!(byte_to_char(b'\n'), 'Ċ');
        assert_eq!(char_to_byte('字'), None);
    }
}

//! Text from bytes that arrive in pieces.

/// Turns the bytes of successive tokens into text without ever giving half a character.
///
/// A character of several bytes may be spread over several tokens; its bytes are kept until it is whole. Bytes that
/// cannot be part of a character become U+FFFD.
#[derive(Clone, Debug, Default)]
pub struct TextStream {
    pending: Vec<u8>,
}

impl TextStream {
    /// A stream with nothing pending.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes, gives the characters that are whole now.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut used = 0;
        let mut chunks = self.pending.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            used += chunk.valid().len();
            let invalid = chunk.invalid();
            let unfinished = chunks.peek().is_none() && is_unfinished(invalid);
            if invalid.is_empty() || unfinished {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            used += invalid.len();
        }
        self.pending.drain(..used);
        text
    }

    /// Ends the stream: what is pending can no longer become a character.
    pub fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }
}

/// Whether `bytes`, which are not a character, could become one with more bytes.
fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_whole() {
        let text = "aé字🦀z";
        let mut stream = TextStream::new();
        let mut out = String::new();
        for byte in text.bytes() {
            let piece = stream.push(&[byte]);
            assert!(!piece.contains(char::REPLACEMENT_CHARACTER));
            out.push_str(&piece);
        }
        assert_eq!(out + &stream.finish(), text);
    }

    #[test]
    fn bytes_outside_of_characters_are_replaced_at_once() {
        let mut stream = TextStream::new();
        assert_eq!(stream.push(b"a\xff"), "a\u{fffd}");
        assert_eq!(stream.push(b"\xe5\xad"), "");
        assert_eq!(stream.push(b"b"), "\u{fffd}b");
        assert_eq!(stream.push(b"\xf0\x9f"), "");
        assert_eq!(stream.finish(), "\u{fffd}");
        assert_eq!(stream.finish(), "");
    }
}

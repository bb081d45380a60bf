//! Log probabilities: which tokens are told of with which part of the text, and OpenAI's two forms for them.

use std::collections::VecDeque;

use metal_bridge_llama::tokenizer::Tokenizer;
use metal_bridge_llama::{LogProbabilities, LogProbability, Piece};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::error::ApiError;
use super::fields::{Fields, wrong_type};
use super::kind::Kind;

/// The most alternatives to a token, as in OpenAI's interface.
const MOST_OF_COMPLETIONS: u64 = 5;
const MOST_OF_CHATS: u64 = 20;

/// How many alternatives to each token a request asks for, if it asks for log probabilities.
pub fn parse(fields: &mut Fields, kind: Kind) -> Result<Option<usize>, ApiError> {
    let (name, most, count) = match kind {
        Kind::Completion => match fields.take("logprobs") {
            None | Some(Value::Bool(false)) => return Ok(None),
            Some(value) => {
                let expected = || wrong_type("logprobs", "an integer from 0 to 5");
                let count = value.as_u64().ok_or_else(expected)?;
                ("logprobs", MOST_OF_COMPLETIONS, count)
            }
        },
        Kind::Chat => {
            let is_asked = fields.flag("logprobs")?.unwrap_or_default();
            let count = fields.integer("top_logprobs")?.unwrap_or_default();
            if !is_asked && count > 0 {
                let message = "\"top_logprobs\" needs \"logprobs\": true";
                return Err(ApiError::field("top_logprobs", "invalid_value", message));
            }
            if !is_asked {
                return Ok(None);
            }
            ("top_logprobs", MOST_OF_CHATS, count)
        }
    };
    match usize::try_from(count) {
        Ok(small) if count <= most => Ok(Some(small)),
        _ => {
            let message = format!("{name:?} is {count}, more than {most}");
            Err(ApiError::field(name, "invalid_value", message))
        }
    }
}

/// A token of an answer.
pub struct Told {
    log_probabilities: LogProbabilities,
    /// Characters of the answer before it.
    offset: usize,
}

/// The tokens whose text is not sent yet: a string that ends the text may begin there.
#[derive(Default)]
pub struct Held {
    /// With each token, the bytes of text before it.
    tokens: VecDeque<(usize, Told)>,
    bytes: usize,
    characters: usize,
    sent_bytes: usize,
}

impl Held {
    /// Takes a piece, before anything of it is sent.
    pub fn push(&mut self, piece: Piece<'_>) {
        if let Some(log_probabilities) = piece.log_probabilities {
            let offset = self.characters;
            let told = Told {
                log_probabilities,
                offset,
            };
            self.tokens.push_back((self.bytes, told));
        }
        self.bytes += piece.text.len();
        self.characters += piece.text.chars().count();
    }

    /// The tokens that begin in what has been sent with `text`.
    pub fn sent(&mut self, text: &str) -> Vec<Told> {
        self.sent_bytes += text.len();
        let count = self
            .tokens
            .partition_point(|(start, _)| *start < self.sent_bytes);
        self.tokens.drain(..count).map(|(_, told)| told).collect()
    }

    /// All that are left: no string has ended the text.
    pub fn finish(&mut self) -> Vec<Told> {
        self.tokens.drain(..).map(|(_, told)| told).collect()
    }
}

/// The field `logprobs` of a choice. It is written token by token, since its parts would take many times the room of
/// its text.
#[derive(Clone, Copy)]
pub struct Logprobs<'a> {
    pub kind: Kind,
    pub tokenizer: &'a Tokenizer,
    pub tokens: &'a [Told],
}

impl Serialize for Logprobs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        let tokens = self.tokens.iter();
        let chosen = tokens.clone().map(|told| &told.log_probabilities.chosen);
        match self.kind {
            Kind::Chat => {
                let content = tokens.map(|told| self.of_chat(&told.log_probabilities));
                fields.serialize_entry("content", &Each(content))?;
                fields.serialize_entry("refusal", &())?;
            }
            Kind::Completion => {
                let names = chosen.clone().map(|one| self.of_completion(one.token));
                fields.serialize_entry("tokens", &Each(names))?;
                fields.serialize_entry("token_logprobs", &Each(chosen.map(|one| one.value)))?;
                let top = tokens.clone().map(|told| self.top(&told.log_probabilities));
                fields.serialize_entry("top_logprobs", &Each(top))?;
                fields.serialize_entry("text_offset", &Each(tokens.map(|told| told.offset)))?;
            }
        }
        fields.end()
    }
}

/// What an iterator gives, one after the other.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// A token of a chat.
#[derive(serde::Serialize)]
struct Token {
    token: String,
    logprob: f64,
    bytes: Option<Vec<u8>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<Vec<Token>>,
}

impl Logprobs<'_> {
    fn of_chat(&self, told: &LogProbabilities) -> Token {
        let token = |one: &LogProbability| {
            let (token, bytes) = name(self.tokenizer, one.token);
            Token {
                token,
                logprob: one.value,
                bytes,
                top_logprobs: None,
            }
        };
        Token {
            top_logprobs: Some(told.likeliest.iter().map(token).collect()),
            ..token(&told.chosen)
        }
    }

    fn of_completion(&self, token: u32) -> String {
        match name(self.tokenizer, token) {
            (name, Some(bytes)) if std::str::from_utf8(&bytes).is_err() => format!("bytes:{name}"),
            (name, _) => name,
        }
    }

    /// The likeliest tokens of a completion, and the chosen one if it is not among them.
    fn top(&self, told: &LogProbabilities) -> Map<String, Value> {
        let all = told.likeliest.iter().chain([&told.chosen]);
        all.map(|one| (self.of_completion(one.token), one.value.into()))
            .collect()
    }
}

/// The text of a token, where bytes that are no characters stand as `\xf0`, and its bytes. Tokens that are no text,
/// such as control tokens, have their names and no bytes.
fn name(tokenizer: &Tokenizer, token: u32) -> (String, Option<Vec<u8>>) {
    let mut bytes = Vec::new();
    tokenizer.decode_token(token, &mut bytes);
    if bytes.is_empty() {
        let name = tokenizer.text(token).unwrap_or_default();
        return (name.to_owned(), None);
    }
    let mut name = String::new();
    for chunk in bytes.utf8_chunks() {
        name.push_str(chunk.valid());
        for byte in chunk.invalid() {
            name.push_str(&format!("\\x{byte:02x}"));
        }
    }
    (name, Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens, numbered from 0, and what is sent after each; gives the numbers that go with each part.
    fn told(pieces: &[(&str, &str)]) -> (Vec<Vec<u32>>, Held) {
        let mut held = Held::default();
        let parts = (0..).zip(pieces).map(|(token, (text, sent))| {
            let chosen = LogProbability { token, value: -1.0 };
            held.push(Piece {
                text,
                token: Some(token),
                log_probabilities: Some(LogProbabilities {
                    chosen,
                    likeliest: Vec::new(),
                }),
            });
            numbers(&held.sent(sent))
        });
        (parts.collect(), held)
    }

    fn numbers(tokens: &[Told]) -> Vec<u32> {
        let chosen = tokens.iter().map(|told| told.log_probabilities.chosen);
        chosen.map(|chosen| chosen.token).collect()
    }

    #[test]
    fn tokens_go_with_the_text_that_they_begin() {
        let (parts, mut held) = told(&[("ab", "ab"), ("", ""), ("é", ""), ("c", "éc"), ("", "")]);
        assert_eq!(parts, [vec![0], vec![], vec![], vec![1, 2, 3], vec![]]);
        assert_eq!(numbers(&held.finish()), [4]);
        // "bc" ends the text: it begins in the first token, and the second has no part in what is sent.
        let (parts, _) = told(&[("ab", "a"), ("c", "")]);
        assert_eq!(parts, [vec![0], vec![]]);
        let (_, mut held) = told(&[("aé", ""), ("b", ""), ("c", "")]);
        let offsets: Vec<usize> = held.finish().iter().map(|told| told.offset).collect();
        assert_eq!(offsets, [0, 2, 3]);
    }
}

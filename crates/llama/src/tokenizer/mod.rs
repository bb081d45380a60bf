//! Text to tokens and back, with the vocabulary that a GGUF file carries.
//!
//! Two kinds of vocabulary are supported: SentencePiece with scores (`tokenizer.ggml.model` is `llama`) and
//! byte-level byte pairs (`gpt2`) with the pre-tokenizers of the model families that share the Llama architecture.

mod byte_pair;
mod error;
mod pretokenizer;
mod sentencepiece;
mod stream;
mod vocabulary;

use std::borrow::Cow;
use std::collections::BTreeSet;

use byte_pair::BytePair;
pub use byte_pair::byte_to_char;
pub use error::TokenizerError;
pub(crate) use pretokenizer::pre_tokenizer_of;
use sentencepiece::SentencePiece;
pub use stream::TextStream;
pub(crate) use vocabulary::MAX_TOKENS;
pub use vocabulary::TokenKind;
use vocabulary::{Vocabulary, parse_byte};

use super::gguf::{Gguf, Required};

/// Texts of tokens that end a turn or a text in the vocabularies of known model families. Gemma's are user-defined tokens.
const END_TEXTS: [&str; 10] = [
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
    "<EOT>",
    "[EOT]",
    "</s>",
];

/// The control tokens that end a turn in the vocabulary of gpt-oss.
const GPT_OSS_ENDS: [&str; 2] = ["<|return|>", "<|call|>"];
/// That of gpt-oss that ends a message: the turn goes on after it.
const GPT_OSS_MESSAGE_END: &str = "<|end|>";

/// A model's tokenizer.
#[derive(Debug)]
pub struct Tokenizer {
    vocabulary: Vocabulary,
    algorithm: Algorithm,
    bos: Option<u32>,
    eos: Option<u32>,
    ends: BTreeSet<u32>,
    add_bos: bool,
    add_eos: bool,
    add_space_prefix: bool,
    /// Tokens that are looked for in a text before it is encoded: the longest first.
    special: Vec<u32>,
}

#[derive(Debug)]
enum Algorithm {
    SentencePiece(SentencePiece),
    BytePair(BytePair),
}

/// Part of a text: words, or a token that was spelt out.
enum Fragment<'a> {
    Text(Cow<'a, str>),
    Token(u32),
}

impl Tokenizer {
    /// The tokenizer that `gguf` describes.
    ///
    /// # Errors
    ///
    /// A vocabulary that is missing, malformed or of an unsupported kind.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, TokenizerError> {
        const MODEL: &str = "tokenizer.ggml.model";
        let model = gguf.get_str(MODEL).required(MODEL)?;
        let (is_sentencepiece, defaults) = match model {
            "llama" => (true, [Some(1), Some(2), Some(0)]),
            "gpt2" => (false, [None; 3]),
            other => return Err(TokenizerError::UnsupportedModel(other.to_owned())),
        };
        let vocabulary = Vocabulary::from_gguf(gguf)?;
        let token =
            |name: &str, default: Option<u32>| special_token(gguf, &vocabulary, name, default);
        let bos = token("bos", defaults[0])?;
        let eos = token("eos", defaults[1])?;
        let unknown = token("unknown", defaults[2])?;
        let named = [eos, token("eot", None)?, token("eom", None)?];
        let ends = end_tokens(&vocabulary, named);
        let algorithm = if is_sentencepiece {
            Algorithm::SentencePiece(SentencePiece::new(&vocabulary, unknown))
        } else {
            Algorithm::BytePair(BytePair::from_gguf(gguf, &vocabulary)?)
        };
        let default_bos = match &algorithm {
            Algorithm::SentencePiece(_) => true,
            Algorithm::BytePair(byte_pair) => byte_pair.pre_tokenizer.add_bos && bos.is_some(),
        };
        let add_bos = gguf
            .get_bool("tokenizer.ggml.add_bos_token")?
            .unwrap_or(default_bos);
        let add_eos = gguf
            .get_bool("tokenizer.ggml.add_eos_token")?
            .unwrap_or(false);
        for (wanted, token, name) in [(add_bos, bos, "bos"), (add_eos, eos, "eos")] {
            if wanted && token.is_none() {
                let reason = format!("add_{name}_token is set, but there is no {name} token");
                return Err(TokenizerError::Malformed(reason));
            }
        }
        let add_space_prefix = gguf
            .get_bool("tokenizer.ggml.add_space_prefix")?
            .unwrap_or(is_sentencepiece);
        let special = special_tokens(&vocabulary);
        Ok(Self {
            vocabulary,
            algorithm,
            bos,
            eos,
            ends,
            add_bos,
            add_eos,
            add_space_prefix,
            special,
        })
    }

    /// The number of tokens.
    pub fn vocabulary_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// Whether [`encode`](Self::encode) begins a text with the [begin token](Self::bos).
    pub fn adds_bos(&self) -> bool {
        self.add_bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Whether generation stops at `token`: the end of a text, a turn or a message.
    pub fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// The tokens that generation stops at.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u32> {
        self.ends.iter().copied()
    }

    /// What `token` is; `None` if there is no such token.
    pub fn kind(&self, token: u32) -> Option<TokenKind> {
        self.vocabulary.kind(token)
    }

    /// The text of `token`, as the vocabulary writes it; `None` if there is no such token.
    pub fn text(&self, token: u32) -> Option<&str> {
        self.vocabulary.text(token)
    }

    /// The texts that [`encode`](Self::encode) takes for control tokens.
    pub(crate) fn control_texts(&self) -> impl Iterator<Item = &str> {
        let control = self.special.iter().filter(|&&id| !self.is_text(id));
        control.filter_map(|&id| self.vocabulary.text(id))
    }

    /// The token whose text is `text`, as the vocabulary writes it.
    pub fn token(&self, text: &str) -> Option<u32> {
        self.vocabulary.id(text)
    }

    /// Encodes a prompt. Adds begin and end tokens as the model wants them, and encodes control tokens that are spelt
    /// out in the text (`<|eot_id|>`) as themselves.
    ///
    /// # Errors
    ///
    /// [`TokenizerError::Unencodable`] if the vocabulary has no token for a byte of it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut tokens: Vec<u32> = self.bos.filter(|_| self.add_bos).into_iter().collect();
        self.encode_fragments(self.fragments(text, true), &mut tokens)?;
        tokens.extend(self.eos.filter(|_| self.add_eos));
        Ok(tokens)
    }

    /// Encodes text without begin and end tokens. Control tokens that are spelt out in it are ordinary text.
    ///
    /// # Errors
    ///
    /// As for [`encode`](Self::encode).
    pub fn encode_plain(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut tokens = Vec::new();
        self.encode_fragments(self.fragments(text, false), &mut tokens)?;
        Ok(tokens)
    }

    /// Encodes text without begin and end tokens, in which `mark` is not a character: it stands inside of what is no control
    /// token although it is spelt like one.
    pub(crate) fn encode_marked(&self, text: &str, mark: char) -> Result<Vec<u32>, TokenizerError> {
        let mut fragments = vec![Fragment::Text(text.into())];
        self.cut(&mut fragments, |id| !self.is_text(id));
        for fragment in &mut fragments {
            if let Fragment::Text(text) = fragment {
                *text = text.replace(mark, "").into();
            }
        }
        self.cut(&mut fragments, |id| self.is_text(id));
        let mut tokens = Vec::new();
        self.encode_fragments(fragments, &mut tokens)?;
        Ok(tokens)
    }

    fn encode_fragments(
        &self,
        fragments: Vec<Fragment<'_>>,
        tokens: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let mut after_special = true;
        for fragment in fragments {
            match (fragment, &self.algorithm) {
                (Fragment::Token(id), _) => {
                    tokens.push(id);
                    after_special = true;
                }
                (Fragment::Text(text), Algorithm::SentencePiece(sentencepiece)) => {
                    let prefix = self.add_space_prefix && after_special;
                    sentencepiece.encode(&self.vocabulary, &text, prefix, tokens)?;
                    after_special = false;
                }
                (Fragment::Text(text), Algorithm::BytePair(byte_pair)) => {
                    byte_pair.encode(&self.vocabulary, &text, tokens)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a special token is text that the vocabulary's maker added, and not a control token nor one that ends a turn.
    fn is_text(&self, id: u32) -> bool {
        self.kind(id) == Some(TokenKind::UserDefined) && !self.ends.contains(&id)
    }

    /// Cuts `text` at the special tokens that are spelt out in it.
    fn fragments<'a>(&self, text: &'a str, parse_control: bool) -> Vec<Fragment<'a>> {
        let mut fragments = vec![Fragment::Text(text.into())];
        self.cut(&mut fragments, |id| parse_control || self.is_text(id));
        fragments
    }

    /// Cuts the texts of `fragments` at the `wanted` special tokens that are spelt out in them.
    fn cut(&self, fragments: &mut Vec<Fragment<'_>>, wanted: impl Fn(u32) -> bool) {
        for &id in self.special.iter().filter(|&&id| wanted(id)) {
            let spelt = self.vocabulary.text(id).unwrap_or_default();
            let is_cut = |fragment: &Fragment<'_>| match fragment {
                Fragment::Text(text) => text.contains(spelt),
                Fragment::Token(_) => false,
            };
            if !fragments.iter().any(is_cut) {
                continue;
            }
            let mut cut = Vec::with_capacity(fragments.len());
            for fragment in fragments.drain(..) {
                let Fragment::Text(text) = fragment else {
                    cut.push(fragment);
                    continue;
                };
                for (index, part) in split(text, spelt).into_iter().enumerate() {
                    cut.extend((index > 0).then_some(Fragment::Token(id)));
                    cut.push(Fragment::Text(part));
                }
            }
            *fragments = cut;
        }
        fragments.retain(|fragment| !matches!(fragment, Fragment::Text(text) if text.is_empty()));
    }

    /// Appends the bytes that `token` stands for in running text: none for control tokens and numbers past the
    /// vocabulary. The bytes of one token need not be whole characters; [`TextStream`] puts them together.
    pub fn decode_token(&self, token: u32, bytes: &mut Vec<u8>) {
        let (Some(text), Some(kind)) = (self.vocabulary.text(token), self.kind(token)) else {
            return;
        };
        match (kind, &self.algorithm) {
            (TokenKind::Control | TokenKind::Unknown | TokenKind::Unused, _) => {}
            (TokenKind::UserDefined, _) => bytes.extend_from_slice(text.as_bytes()),
            (TokenKind::Byte, _) => bytes.extend(parse_byte(text)),
            (TokenKind::Normal, Algorithm::SentencePiece(_)) => SentencePiece::decode(text, bytes),
            (TokenKind::Normal, Algorithm::BytePair(_)) => BytePair::decode(text, bytes),
        }
    }

    /// The text of a whole sequence, without the space that encoding put before it.
    pub fn decode(&self, tokens: &[u32]) -> String {
        let mut bytes = Vec::new();
        for &token in tokens {
            self.decode_token(token, &mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let prefixed =
            self.add_space_prefix && matches!(self.algorithm, Algorithm::SentencePiece(_));
        text.strip_prefix(' ')
            .filter(|_| prefixed)
            .unwrap_or(&text)
            .to_owned()
    }
}

/// The parts of `text` between those that are `spelt`.
fn split<'a>(text: Cow<'a, str>, spelt: &str) -> Vec<Cow<'a, str>> {
    match text {
        Cow::Borrowed(text) => text.split(spelt).map(Cow::Borrowed).collect(),
        Cow::Owned(text) => text
            .split(spelt)
            .map(|part| Cow::Owned(part.to_owned()))
            .collect(),
    }
}

/// The number of a special token, from `tokenizer.ggml.{name}_token_id`.
fn special_token(
    gguf: &Gguf,
    vocabulary: &Vocabulary,
    name: &str,
    default: Option<u32>,
) -> Result<Option<u32>, TokenizerError> {
    let key = format!("tokenizer.ggml.{name}_token_id");
    match gguf.get_u64(&key)? {
        None => Ok(default.filter(|&id| vocabulary.kind(id).is_some())),
        Some(id) => match u32::try_from(id) {
            Ok(id) if vocabulary.kind(id).is_some() => Ok(Some(id)),
            _ => {
                let reason = format!("{key} is {id}, but there are {} tokens", vocabulary.len());
                Err(TokenizerError::Malformed(reason))
            }
        },
    }
}

/// The tokens that generation stops at: those that the file names as ends, and control tokens with the texts of ends.
fn end_tokens(vocabulary: &Vocabulary, named: [Option<u32>; 3]) -> BTreeSet<u32> {
    let mut ends: BTreeSet<u32> = named.into_iter().flatten().collect();
    ends.extend(vocabulary.iter().filter_map(|(id, text, kind)| {
        let is_special = matches!(kind, TokenKind::Control | TokenKind::UserDefined);
        (is_special && END_TEXTS.contains(&text)).then_some(id)
    }));
    let control = |text: &str| {
        let id = vocabulary.id(text)?;
        (vocabulary.kind(id) == Some(TokenKind::Control)).then_some(id)
    };
    let [end_of_turn, end_of_call] = GPT_OSS_ENDS.map(control);
    if let (Some(message), Some(turn), Some(call)) =
        (control(GPT_OSS_MESSAGE_END), end_of_turn, end_of_call)
    {
        ends.remove(&message);
        ends.extend([turn, call]);
    }
    ends
}

fn special_tokens(vocabulary: &Vocabulary) -> Vec<u32> {
    let mut special: Vec<(u32, usize)> = vocabulary
        .iter()
        .filter(|(_, text, kind)| {
            let is_special = matches!(
                kind,
                TokenKind::Control | TokenKind::UserDefined | TokenKind::Unknown
            );
            is_special && !text.is_empty()
        })
        .map(|(id, text, _)| (id, text.len()))
        .collect();
    special.sort_by_key(|&(_, length)| std::cmp::Reverse(length));
    special.into_iter().map(|(id, _)| id).collect()
}

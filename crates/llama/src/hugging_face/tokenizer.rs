//! Translates `tokenizer.json` into the keys of a GGUF file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{DirectoryError, Result};
use super::folder::{Folder, check_size, unsupported};
use super::keys::{Keys, strings};
use super::splitting::{FILE, Splitting, Steps};
use crate::gguf::{Array, Value};
use crate::tokenizer::{MAX_TOKENS, TokenKind};

/// The most bytes of the file: twice those of the largest vocabularies.
const MAX_FILE: u64 = 64 << 20;
/// The most bytes of a part that does not grow with the vocabulary.
const MAX_PART: u64 = 1 << 20;
/// The score of a token that no merge makes: below that of all merges.
const UNMERGED: f32 = -1e9;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Box<RawValue>>,
    pre_tokenizer: Option<Box<RawValue>>,
    post_processor: Option<Box<RawValue>>,
    model: Model,
}

#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
    special: bool,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    vocab: Vocabulary,
    #[serde(default)]
    merges: Vec<Merge>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
}

/// Two texts that merge. Older files have them as one text with a space between them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair([String; 2]),
    Text(String),
}

/// Texts and numbers; `None` for the list of a model that is not of byte pairs.
struct Vocabulary(Option<Vec<(String, u32)>>);

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(VocabularyVisitor)
    }
}

struct VocabularyVisitor;

impl<'de> Visitor<'de> for VocabularyVisitor {
    type Value = Vocabulary;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tokens and their numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Vocabulary, A::Error> {
        let mut tokens = Vec::new();
        while let Some(token) = map.next_entry()? {
            tokens.push(token);
        }
        Ok(Vocabulary(Some(tokens)))
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> std::result::Result<Vocabulary, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Vocabulary(None))
    }
}

/// What the special tokens are found with.
pub(super) struct Tokens {
    pub ids: BTreeMap<String, u32>,
    /// The texts of the tokens that begin and end what is encoded.
    pub begins_with: Option<String>,
    pub ends_with: Option<String>,
    /// The token for what has no token.
    pub unknown: Option<String>,
}

/// Reads the file and writes the keys, without those of special tokens. Added tokens that have no embedding are left out, as
/// GGUF files leave them out: text models of a family may have those of its image models.
pub(super) fn translate(
    folder: &Folder<'_>,
    embeddings: Option<u32>,
    keys: &mut Keys,
) -> Result<Tokens> {
    let Some(mut file) = folder.json::<File>(FILE, MAX_FILE)? else {
        return Err(DirectoryError::MissingFile { file: FILE.into() });
    };
    let has_embedding = |added: &Added| embeddings.is_none_or(|count| added.id < count);
    file.added_tokens.retain(has_embedding);
    let part = |name: &str, part: &Option<Box<RawValue>>| {
        let text = part.as_ref().map_or("null", |part| part.get());
        check_size(&format!("{name} of {FILE}"), text.len() as u64, MAX_PART)?;
        Steps::parse(text)
    };
    let model = &file.model;
    if model.kind.as_deref().is_some_and(|kind| kind != "BPE") {
        let kind = model.kind.as_deref().unwrap_or_default();
        return Err(unsupported(FILE, format!("a tokenizer of type {kind:?}")));
    }
    for (name, affix) in [
        (
            "continuing_subword_prefix",
            &model.continuing_subword_prefix,
        ),
        ("end_of_word_suffix", &model.end_of_word_suffix),
    ] {
        if affix.as_ref().is_some_and(|affix| !affix.is_empty()) {
            return Err(unsupported(FILE, name));
        }
    }
    let normalizer = part("normalizer", &file.normalizer)?;
    let pre_tokenizer = part("pre_tokenizer", &file.pre_tokenizer)?;
    let template = part("post_processor", &file.post_processor)?.template()?;
    // The vocabulary of SentencePiece spells out bytes that have no token.
    let splitting = match model.byte_fallback {
        true => Splitting::sentencepiece(&normalizer, &pre_tokenizer)?,
        false => Splitting::bytes(&normalizer, &pre_tokenizer, model.ignore_merges)?,
    };
    let Some(vocabulary) = &model.vocab.0 else {
        return Err(unsupported(FILE, "a vocabulary that is a list"));
    };
    let tokens = texts(&file, vocabulary)?;
    match splitting {
        Splitting::SentencePiece { adds_space } => {
            keys.put("tokenizer.ggml.model", Value::String("llama".into()));
            keys.put("tokenizer.ggml.add_space_prefix", Value::Bool(adds_space));
            let scores = scores(&file, &tokens)?;
            keys.put("tokenizer.ggml.scores", Value::Array(Array::F32(scores)));
        }
        Splitting::Bytes { pre_tokenizer } => {
            keys.put("tokenizer.ggml.model", Value::String("gpt2".into()));
            keys.put("tokenizer.ggml.pre", Value::String(pre_tokenizer.into()));
            let merges = model.merges.iter().map(|merge| match merge {
                Merge::Pair([left, right]) => format!("{left} {right}"),
                Merge::Text(text) => text.clone(),
            });
            keys.put("tokenizer.ggml.merges", strings(merges.collect()));
        }
    }
    let kinds = tokens.iter().map(|token| token.1 as i32).collect();
    keys.put("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds)));
    let ids = (0u32..).zip(&tokens);
    let result = Tokens {
        ids: ids.map(|(id, token)| (token.0.clone(), id)).collect(),
        begins_with: template.0,
        ends_with: template.1,
        unknown: model.unk_token.clone(),
    };
    let written = tokens.iter().map(|(text, kind)| match *kind {
        // What is looked for in a text has the text's spaces.
        TokenKind::UserDefined if model.byte_fallback => text.replace('\u{2581}', " "),
        _ => text.clone(),
    });
    keys.put("tokenizer.ggml.tokens", strings(written.collect()));
    Ok(result)
}

fn malformed(reason: String) -> DirectoryError {
    DirectoryError::Vocabulary {
        file: FILE.into(),
        reason,
    }
}

/// The text and the kind of each token. Numbers that no token has become tokens that nothing is encoded as.
fn texts(file: &File, vocabulary: &[(String, u32)]) -> Result<Vec<(String, TokenKind)>> {
    let numbers = (vocabulary.iter().map(|token| token.1))
        .chain(file.added_tokens.iter().map(|added| added.id));
    let count = numbers.max().map_or(0, |last| last.saturating_add(1));
    if count as usize > MAX_TOKENS {
        let last = count - 1;
        return Err(malformed(format!("token {last} of at most {MAX_TOKENS}")));
    }
    let mut tokens: Vec<Option<(String, TokenKind)>> = vec![None; count as usize];
    for (text, id) in vocabulary {
        let is_byte = file.model.byte_fallback && text.len() == 6 && text.starts_with("<0x");
        let kind = match is_byte && text.ends_with('>') {
            true => TokenKind::Byte,
            false => TokenKind::Normal,
        };
        let slot = &mut tokens[*id as usize];
        if let Some((other, _)) = slot {
            let reason = format!("both {other:?} and {text:?} are token {id}");
            return Err(malformed(reason));
        }
        *slot = Some((text.clone(), kind));
    }
    for added in &file.added_tokens {
        let slot = &mut tokens[added.id as usize];
        if let Some((other, _)) = slot.as_ref().filter(|other| other.0 != added.content) {
            let (id, text) = (added.id, &added.content);
            let reason = format!("both {other:?} and {text:?} are token {id}");
            return Err(malformed(reason));
        }
        let is_unknown =
            file.model.byte_fallback && file.model.unk_token.as_ref() == Some(&added.content);
        let kind = match added.special {
            _ if is_unknown => TokenKind::Unknown,
            true => TokenKind::Control,
            false => TokenKind::UserDefined,
        };
        *slot = Some((added.content.clone(), kind));
    }
    let unused = |id: usize| (format!("[PAD{id}]"), TokenKind::Unused);
    let filled = tokens.into_iter().enumerate();
    Ok(filled
        .map(|(id, token)| token.unwrap_or_else(|| unused(id)))
        .collect())
}

/// SentencePiece merges the neighbours whose joint token scores best: the token that the earliest merge makes.
fn scores(file: &File, tokens: &[(String, TokenKind)]) -> Result<Vec<f32>> {
    let mut ranks: BTreeMap<String, usize> = BTreeMap::new();
    for (rank, merge) in file.model.merges.iter().enumerate() {
        let joint = match merge {
            Merge::Pair(pair) => pair.concat(),
            Merge::Text(text) => match text.split_once(' ') {
                Some((left, right)) => format!("{left}{right}"),
                None => return Err(malformed(format!("merge {rank} {text:?} is not a pair"))),
            },
        };
        ranks.entry(joint).or_insert(rank);
    }
    let score = |text: &String| ranks.get(text).map_or(UNMERGED, |&rank| -(rank as f32));
    Ok(tokens.iter().map(|token| score(&token.0)).collect())
}

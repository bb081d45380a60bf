//! [`Splitting`]: how `tokenizer.json` says that a text becomes pieces before they are merged.

use serde_json::Value;

use super::error::{DirectoryError, Result};
use super::folder::{parse, unsupported};
use crate::tokenizer::pre_tokenizer_of;

/// The file with the vocabulary.
pub(super) const FILE: &str = "tokenizer.json";
/// What SentencePiece has for a space.
const SPACE: &str = "\u{2581}";
/// The pattern that a step of type ByteLevel has in itself.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The kinds of tokenizers that the engine has.
pub(super) enum Splitting {
    SentencePiece {
        /// Whether a space comes before a text.
        adds_space: bool,
    },
    Bytes {
        /// As `tokenizer.ggml.pre` has it.
        pre_tokenizer: &'static str,
    },
}

/// The steps of a part of the file, in their order.
pub(super) struct Steps(Vec<Value>);

impl Steps {
    pub fn parse(text: &str) -> Result<Self> {
        let mut steps = Vec::new();
        flatten(parse(FILE, text.as_bytes())?, &mut steps);
        Ok(Self(steps))
    }

    /// The texts of the tokens that come before and after a text.
    pub fn template(&self) -> Result<(Option<String>, Option<String>)> {
        let (mut before, mut after) = (None, None);
        for step in &self.0 {
            match kind(step) {
                "ByteLevel" => {}
                "TemplateProcessing" => {
                    let parts = step["single"].as_array().map_or(&[][..], Vec::as_slice);
                    let token = |part: &Value| {
                        let text = part["SpecialToken"]["id"].as_str();
                        text.map(str::to_owned)
                    };
                    match parts {
                        [text] if text.get("Sequence").is_some() => {}
                        [begin, text] if text.get("Sequence").is_some() => before = token(begin),
                        [text, end] if text.get("Sequence").is_some() => after = token(end),
                        [begin, text, end] if text.get("Sequence").is_some() => {
                            (before, after) = (token(begin), token(end));
                        }
                        _ => return Err(refused("post_processor", step)),
                    }
                }
                _ => return Err(refused("post_processor", step)),
            }
        }
        Ok((before, after))
    }
}

/// Appends the steps of sequences within sequences.
fn flatten(step: Value, steps: &mut Vec<Value>) {
    let Value::Object(mut object) = step else {
        return;
    };
    let within = ["normalizers", "pretokenizers", "processors"]
        .iter()
        .find_map(|key| object.remove(*key));
    match within {
        // The reader of JSON bounds the depth.
        Some(Value::Array(list)) => list.into_iter().for_each(|step| flatten(step, steps)),
        _ => steps.push(Value::Object(object)),
    }
}

fn kind(step: &Value) -> &str {
    step["type"].as_str().unwrap_or_default()
}

fn refused(part: &str, step: &Value) -> DirectoryError {
    unsupported(FILE, format!("the {part} {step}"))
}

fn flag(step: &Value, key: &str, default: bool) -> bool {
    step[key].as_bool().unwrap_or(default)
}

impl Splitting {
    /// SentencePiece, which sees a text as one piece.
    pub fn sentencepiece(normalizer: &Steps, pre_tokenizer: &Steps) -> Result<Self> {
        let mut adds_space = false;
        for step in &normalizer.0 {
            match kind(step) {
                "Prepend" if step["prepend"] == SPACE => adds_space = true,
                "Replace" if step["pattern"]["String"] == " " && step["content"] == SPACE => {}
                _ => return Err(refused("normalizer", step)),
            }
        }
        for step in &pre_tokenizer.0 {
            match kind(step) {
                "Metaspace" if step["replacement"] == SPACE && !flag(step, "split", true) => {
                    adds_space |= match step["prepend_scheme"].as_str() {
                        Some(scheme) => scheme != "never",
                        None => flag(step, "add_prefix_space", true),
                    };
                }
                // The normalizer has left no spaces.
                "Split" if step["pattern"]["String"] == " " => {}
                _ => return Err(refused("pre_tokenizer", step)),
            }
        }
        Ok(Self::SentencePiece { adds_space })
    }

    /// Byte pairs within words. `whole_words`: whether a word that is a token is encoded as that token, without merges.
    pub fn bytes(normalizer: &Steps, pre_tokenizer: &Steps, whole_words: bool) -> Result<Self> {
        // The engine takes texts as they are. Nearly all are in the form NFC.
        let mut normalizers = normalizer.0.iter();
        if let Some(step) = normalizers.find(|step| kind(step) != "NFC") {
            return Err(refused("normalizer", step));
        }
        let (mut patterns, mut has_bytes) = (Vec::new(), false);
        for step in &pre_tokenizer.0 {
            match kind(step) {
                "ByteLevel" if !flag(step, "add_prefix_space", true) => {
                    has_bytes = true;
                    if flag(step, "use_regex", true) {
                        patterns.push(GPT2);
                    }
                }
                "Digits" if flag(step, "individual_digits", false) => patterns.push(r"\p{N}"),
                "Split" if step["behavior"] == "Isolated" && !flag(step, "invert", false) => {
                    let pattern = step["pattern"]["Regex"].as_str();
                    patterns.push(pattern.ok_or_else(|| refused("pre_tokenizer", step))?);
                }
                _ => return Err(refused("pre_tokenizer", step)),
            }
        }
        if !has_bytes {
            return Err(unsupported(FILE, "a pre_tokenizer without ByteLevel"));
        }
        match pre_tokenizer_of(&patterns, whole_words) {
            Some(pre_tokenizer) => Ok(Self::Bytes { pre_tokenizer }),
            None => {
                let what = format!("splitting by {patterns:?} (ignore_merges {whole_words})");
                Err(unsupported(FILE, what))
            }
        }
    }
}

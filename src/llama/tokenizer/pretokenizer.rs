//! Splits a text into the words within which byte pairs are merged.

use fancy_regex::Regex;

use super::error::TokenizerError;

/// How a family of models splits text.
struct Rule {
    /// Values of `tokenizer.ggml.pre`.
    names: &'static [&'static str],
    /// Applied one after the other: each splits the pieces that the one before has left, at its matches' ends.
    patterns: &'static [&'static str],
    /// A word that is a token as a whole is not merged from its parts.
    whole_words: bool,
    /// Begins with the begin token unless the file says otherwise.
    add_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// The GPT-4 family's pattern; `$digits` is how many digits make a word.
macro_rules! gpt4 {
    ($digits:literal) => {
        concat!(
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

const TEKKEN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|",
    r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);

const RULES: &[Rule] = &[
    Rule {
        names: &["default"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
        whole_words: false,
        add_bos: false,
    },
    Rule {
        names: &[
            "gpt-2", "phi-2", "olmo", "mpt", "jais", "gigachat", "a.x-4.0", "mellum", "trillion",
        ],
        patterns: &[GPT2],
        whole_words: false,
        add_bos: false,
    },
    Rule {
        names: &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "pixtral",
            "lfm2",
        ],
        patterns: &[gpt4!(r"\p{N}{1,3}")],
        whole_words: true,
        add_bos: true,
    },
    Rule {
        names: &["dbrx", "smaug-bpe", "chatglm-bpe", "glm4"],
        patterns: &[gpt4!(r"\p{N}{1,3}")],
        whole_words: false,
        add_bos: false,
    },
    Rule {
        names: &[
            "qwen2",
            "deepseek-r1-qwen",
            "stablelm2",
            "megrez",
            "hunyuan",
        ],
        patterns: &[gpt4!(r"\p{N}")],
        whole_words: false,
        add_bos: false,
    },
    Rule {
        names: &[
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
        ],
        patterns: &[r"\p{N}", GPT2],
        whole_words: false,
        add_bos: false,
    },
    Rule {
        names: &["falcon"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"],
        whole_words: false,
        add_bos: false,
    },
    Rule {
        names: &["tekken"],
        patterns: &[TEKKEN],
        whole_words: true,
        add_bos: true,
    },
    Rule {
        names: &["deepseek-coder"],
        patterns: &[
            r"[\r\n]",
            r"\s?\p{L}+",
            r"\s?\p{P}+",
            "[一-龥ࠀ-一가-\u{d7ff}]+",
            r"\p{N}",
        ],
        whole_words: false,
        add_bos: false,
    },
];

/// The splitting that a model was trained with.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    patterns: Vec<Regex>,
    /// A word that is a token as a whole is not merged from its parts.
    pub whole_words: bool,
    /// Begins with the begin token unless the file says otherwise.
    pub add_bos: bool,
}

impl PreTokenizer {
    /// The one that `tokenizer.ggml.pre` names.
    pub fn named(name: &str) -> Result<Self, TokenizerError> {
        let rule = RULES.iter().find(|rule| rule.names.contains(&name));
        let rule = rule.ok_or_else(|| TokenizerError::UnsupportedPreTokenizer(name.to_owned()))?;
        let patterns = rule.patterns.iter().map(|pattern| Regex::new(pattern));
        Ok(Self {
            patterns: patterns.collect::<Result<_, _>>().map_err(split_error)?,
            whole_words: rule.whole_words,
            add_bos: rule.add_bos,
        })
    }

    /// The words of `text`, in order and without gaps.
    pub fn split<'a>(&self, text: &'a str) -> Result<Vec<&'a str>, TokenizerError> {
        let mut pieces = vec![text];
        for pattern in &self.patterns {
            let mut split = Vec::with_capacity(pieces.len());
            for piece in pieces {
                split_piece(pattern, piece, &mut split)?;
            }
            pieces = split;
        }
        Ok(pieces)
    }
}

/// Appends the matches in `piece`, and what lies between them, each as a piece of its own.
fn split_piece<'a>(
    pattern: &Regex,
    piece: &'a str,
    split: &mut Vec<&'a str>,
) -> Result<(), TokenizerError> {
    let mut end = 0;
    for found in pattern.find_iter(piece) {
        let found = found.map_err(split_error)?;
        split.extend(
            [&piece[end..found.start()], found.as_str()]
                .into_iter()
                .filter(|s| !s.is_empty()),
        );
        end = found.end();
    }
    split.extend(Some(&piece[end..]).filter(|s| !s.is_empty()));
    Ok(())
}

fn split_error(error: fancy_regex::Error) -> TokenizerError {
    TokenizerError::Split(error.to_string())
}

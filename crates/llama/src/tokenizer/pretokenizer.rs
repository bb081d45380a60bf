//! Splits a text into the words within which byte pairs are merged.

use regex::Regex;

use super::error::TokenizerError;

/// How a family of models splits text.
struct Rule {
    /// Values of `tokenizer.ggml.pre`.
    names: &'static [&'static str],
    /// Regular expressions as the families' authors wrote them. They apply one after the other: each splits the pieces
    /// of the one before at the ends of its matches.
    patterns: &'static [&'static str],
    /// Whether a word that is a token is encoded as that token, without merges.
    whole_words: bool,
    /// Whether a text begins with the begin token if the file does not say.
    add_bos: bool,
}

/// The end of patterns that also split white space: it matches a run of white space, without the run's last character
/// if a word follows. A look-ahead needs a backtracking matcher, whose time and memory have no bound; [`Pattern`]
/// splits the same way without one.
const WHITE_SPACE: &str = r"|\s+(?!\S)|\s+";

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

/// The pattern of families that part words where small letters end and capitals begin; `$ending` is what may stick to
/// such a word, and `$digits` is how many digits make a word.
macro_rules! cased {
    ($ending:literal, $digits:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $ending,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $ending,
            "|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

const TEKKEN: &str = cased!("", r"\p{N}");

/// That of gpt-4o (o200k), which gpt-oss has too.
const GPT4O: &str = cased!(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?",
    r"\p{N}{1,3}"
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
        names: &["gpt-4o", "llama4", "kanana2"],
        patterns: &[GPT4O],
        whole_words: false,
        add_bos: false,
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

/// How Hugging Face's files write the contractions that the patterns here spell out.
const CONTRACTIONS: [&str; 2] = [
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])",
];

/// The name of the pre-tokenizer with these patterns.
pub(crate) fn pre_tokenizer_of(patterns: &[&str], whole_words: bool) -> Option<&'static str> {
    let [theirs, ours] = CONTRACTIONS;
    let patterns: Vec<String> = patterns
        .iter()
        .map(|one| one.replace(theirs, ours))
        .collect();
    let mut rules = RULES.iter();
    let rule = rules.find(|rule| rule.whole_words == whole_words && rule.patterns == patterns)?;
    rule.names.first().copied()
}

/// The splitting that a model was trained with.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    patterns: Vec<Pattern>,
    /// Whether a word that is a token is encoded as that token, without merges.
    pub whole_words: bool,
    /// Whether a text begins with the begin token if the file does not say.
    pub add_bos: bool,
}

/// One pattern of a [`Rule`], in time and memory that grow with the text.
#[derive(Debug)]
struct Pattern {
    /// Without [`WHITE_SPACE`].
    words: Regex,
    /// Whether the pattern ends in [`WHITE_SPACE`]. Such a pattern has a branch for every character that is not white
    /// space, so only white space lies between two words. A word begins with two characters of white space only if it
    /// consists of line ends. So `words` finds the words that the whole pattern would find.
    splits_white_space: bool,
}

impl PreTokenizer {
    /// The pre-tokenizer that `name`, a value of `tokenizer.ggml.pre`, stands for.
    pub fn named(name: &str) -> Result<Self, TokenizerError> {
        let unsupported = || TokenizerError::UnsupportedPreTokenizer(name.to_owned());
        let rule = RULES.iter().find(|rule| rule.names.contains(&name));
        let rule = rule.ok_or_else(unsupported)?;
        let patterns = rule.patterns.iter().map(|pattern| Pattern::new(pattern));
        Ok(Self {
            // A test compiles all patterns.
            patterns: patterns
                .collect::<Result<_, _>>()
                .map_err(|_| unsupported())?,
            whole_words: rule.whole_words,
            add_bos: rule.add_bos,
        })
    }

    /// The words of `text`, in order and without gaps.
    pub fn split<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = vec![text];
        for pattern in &self.patterns {
            let mut split = Vec::with_capacity(pieces.len());
            for piece in pieces {
                pattern.split(piece, &mut split);
            }
            pieces = split;
        }
        pieces
    }
}

impl Pattern {
    fn new(pattern: &str) -> Result<Self, regex::Error> {
        let words = pattern.strip_suffix(WHITE_SPACE);
        Ok(Self {
            words: Regex::new(words.unwrap_or(pattern))?,
            splits_white_space: words.is_some(),
        })
    }

    /// Appends the matches in `piece`, and what lies between them, each as a piece of its own.
    fn split<'a>(&self, piece: &'a str, split: &mut Vec<&'a str>) {
        let mut end = 0;
        for found in self.words.find_iter(piece) {
            self.split_gap(&piece[end..found.start()], found.as_str(), split);
            split.push(found.as_str());
            end = found.end();
        }
        self.split_gap(&piece[end..], "", split);
    }

    /// Appends the pieces of `gap`, which lies before `next`.
    fn split_gap<'a>(&self, gap: &'a str, next: &str, split: &mut Vec<&'a str>) {
        let a_word_follows = next.starts_with(|c: char| !c.is_whitespace());
        let last = gap.chars().next_back().map_or(0, char::len_utf8);
        let parts = if self.splits_white_space && a_word_follows {
            gap.split_at(gap.len() - last)
        } else {
            (gap, "")
        };
        split.extend([parts.0, parts.1].into_iter().filter(|s| !s.is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    /// A rule's name, what splits by it, and its unchanged patterns for a matcher that backtracks.
    type Compiled = (&'static str, PreTokenizer, Vec<fancy_regex::Regex>);

    /// Patterns take longer to compile than a short text to split.
    static COMPILED: LazyLock<Vec<Compiled>> = LazyLock::new(|| {
        let compiled = RULES.iter().map(|rule| {
            let patterns = rule.patterns.iter();
            let patterns = patterns.map(|pattern| fancy_regex::Regex::new(pattern).unwrap());
            let name = rule.names[0];
            (name, PreTokenizer::named(name).unwrap(), patterns.collect())
        });
        compiled.collect()
    });

    /// Splits by the unchanged patterns, with a matcher that backtracks.
    fn split_plainly<'a>(patterns: &[fancy_regex::Regex], text: &'a str) -> Vec<&'a str> {
        let mut pieces = vec![text];
        for pattern in patterns {
            let mut split = Vec::new();
            for piece in pieces {
                let mut end = 0;
                for found in pattern.find_iter(piece) {
                    let found = found.unwrap();
                    split.extend([&piece[end..found.start()], found.as_str()]);
                    end = found.end();
                }
                split.push(&piece[end..]);
            }
            split.retain(|piece| !piece.is_empty());
            pieces = split;
        }
        pieces
    }

    /// Texts in which characters that the patterns tell apart lie close together.
    fn texts() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            " ", " ", "  ", "\t", "\n", "\r\n", "\u{a0}", "\u{2003}", "\u{85}", "a", "Bc", "é",
            "字", "ǅ", "ʰ", "\u{301}", "1", "23", "٣", "Ⅷ", "'", "'s", "'LL", "'Re", ".", "$", "`",
            "/", "🦀", "\u{0}", "_",
        ];
        let piece = prop_oneof![
            9 => prop::sample::select(PIECES).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_words_are_those_of_the_patterns_as_written(text in texts()) {
            for (name, pre_tokenizer, patterns) in COMPILED.iter() {
                let words = pre_tokenizer.split(&text);
                prop_assert_eq!(words, split_plainly(patterns, &text), "{}", name);
            }
        }
    }

    #[test]
    fn long_runs_are_split_as_short_ones_are() {
        // A matcher that backtracks gives up after a million steps.
        const LENGTH: usize = 1_200_000;
        for (name, pre_tokenizer, _) in COMPILED.iter() {
            for (run, end) in [
                (" ", ""),
                (" ", "a"),
                ("\n", "a"),
                ("a", " "),
                (".", "a"),
                ("\t\n", "1"),
            ] {
                let lengths = |text: &str| -> Vec<usize> {
                    pre_tokenizer
                        .split(text)
                        .into_iter()
                        .map(str::len)
                        .collect()
                };
                let text = run.repeat(LENGTH / run.len()) + end;
                let short = lengths(&(run.repeat(30) + end));
                let long = lengths(&text);
                let is_one_word = short.iter().filter(|&&length| length > 3).count() == 1;
                assert_eq!(long.iter().sum::<usize>(), text.len(), "{name}: {run:?}");
                if is_one_word {
                    assert_eq!(long.len(), short.len(), "{name}: {run:?}");
                } else {
                    assert_eq!(
                        long.len() - end.len(),
                        (short.len() - end.len()) * LENGTH / 30 / run.len()
                    );
                }
            }
        }
    }
}

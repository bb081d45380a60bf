//! The tokenizers against SentencePiece and Hugging Face's `tokenizers`, whose answers `make_vectors.py` recorded.

use std::collections::BTreeMap;

use metal_bridge_llama::gguf::{Array, Gguf, GgufWriter, Value};
use metal_bridge_llama::tokenizer::{TextStream, Tokenizer, TokenizerError};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    texts: Vec<String>,
    #[serde(default)]
    sentencepiece: Vec<Vec<u32>>,
    vocabulary: Vec<String>,
    merges: Vec<String>,
    byte_pair: BTreeMap<String, Vec<Vec<u32>>>,
    /// Others, whose pairs merge across the ends of words where a pattern does not part them.
    across_words: Option<Box<Vectors>>,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("data/tokenizers/vectors.json")).unwrap()
}

/// Control and user-defined tokens behind the vocabulary of the vectors.
const EXTRA: [(&str, i32); 5] = [
    ("<|begin|>", 3),
    ("<|eot_id|>", 3),
    ("<tag>", 4),
    ("<tag>x", 4),
    ("<end_of_turn>", 4),
];

fn gguf(metadata: Vec<(&str, Value)>) -> Gguf {
    let mut writer = GgufWriter::new();
    for (key, value) in metadata {
        writer.metadata(&format!("tokenizer.ggml.{key}"), value);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vocabulary.gguf");
    writer
        .write(std::fs::File::create(&path).unwrap(), |_, _| Ok(()))
        .unwrap();
    Gguf::open(&path).unwrap()
}

fn byte_pair(pre: &str, vectors: &Vectors) -> Result<Tokenizer, TokenizerError> {
    let count = vectors.vocabulary.len();
    let tokens = vectors
        .vocabulary
        .iter()
        .map(String::as_str)
        .chain(EXTRA.iter().map(|extra| extra.0));
    let mut kinds = vec![1; count];
    kinds.extend(EXTRA.iter().map(|extra| extra.1));
    Tokenizer::from_gguf(&gguf(vec![
        ("model", Value::String("gpt2".into())),
        ("pre", Value::String(pre.into())),
        ("tokens", Value::Array(Array::String(tokens.collect()))),
        ("token_type", Value::Array(Array::I32(kinds))),
        (
            "merges",
            Value::Array(Array::String(vectors.merges.iter().collect())),
        ),
        ("bos_token_id", Value::U32(count as u32)),
    ]))
}

fn shipped() -> Tokenizer {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/tiny-stories/tiny-stories-q8_0.gguf"
    );
    Tokenizer::from_gguf(&Gguf::open(path).unwrap()).unwrap()
}

#[test]
fn sentencepiece_agrees_with_its_reference() {
    let (vectors, tokenizer) = (vectors(), shipped());
    assert_eq!(vectors.texts.len(), vectors.sentencepiece.len());
    for (text, expected) in vectors.texts.iter().zip(&vectors.sentencepiece) {
        let tokens = tokenizer.encode_plain(text).unwrap();
        assert_eq!(&tokens, expected, "{text:?}");
        // A space that is the character U+2581 in the text comes back as a space, in the reference too.
        assert_eq!(tokenizer.decode(&tokens), text.replace('\u{2581}', " "));
    }
}

#[test]
fn byte_pairs_agree_with_their_reference() {
    let vectors = vectors();
    for vectors in [&vectors, vectors.across_words.as_ref().unwrap()] {
        assert_eq!(vectors.byte_pair.len(), 4);
        for (pre, all) in &vectors.byte_pair {
            let tokenizer = byte_pair(pre, vectors).unwrap();
            assert_eq!(vectors.texts.len(), all.len());
            for (text, expected) in vectors.texts.iter().zip(all) {
                let tokens = tokenizer.encode_plain(text).unwrap();
                assert_eq!(&tokens, expected, "{pre}: {text:?}");
                assert_eq!(&tokenizer.decode(&tokens), text);
            }
        }
    }
}

#[test]
fn long_runs_are_encoded_as_short_ones_are() {
    // A matcher that backtracks gives up after a million steps.
    const LENGTH: usize = 1_200_000;
    let vectors = vectors();
    for tokenizer in [byte_pair("llama-bpe", &vectors).unwrap(), shipped()] {
        for text in [
            " ".repeat(LENGTH),
            " ".repeat(LENGTH) + "a",
            "\t\n".repeat(LENGTH / 2),
        ] {
            let tokens = tokenizer.encode_plain(&text).unwrap();
            assert!(tokenizer.decode(&tokens) == text);
        }
    }
}

#[test]
fn prompts_begin_as_the_model_wants() {
    let vectors = vectors();
    let bos = vectors.vocabulary.len() as u32;
    assert_eq!(shipped().encode("").unwrap(), [1]);
    assert_eq!(shipped().encode("the").unwrap()[0], 1);
    assert_eq!(
        byte_pair("llama-bpe", &vectors)
            .unwrap()
            .encode("")
            .unwrap(),
        [bos]
    );
    assert_eq!(
        byte_pair("qwen2", &vectors).unwrap().encode("").unwrap(),
        Vec::<u32>::new()
    );
}

#[test]
fn control_tokens_are_parsed_in_prompts_alone() {
    let vectors = vectors();
    let tokenizer = byte_pair("qwen2", &vectors).unwrap();
    let count = vectors.vocabulary.len() as u32;
    let [letter_a, letter_b] = ["a", "b"].map(|text| tokenizer.token(text).unwrap());
    assert_eq!(
        tokenizer.encode("a<|eot_id|>b").unwrap(),
        [letter_a, count + 1, letter_b]
    );
    let plain = tokenizer.encode_plain("a<|eot_id|>b").unwrap();
    assert!(!plain.contains(&(count + 1)));
    assert_eq!(tokenizer.decode(&plain), "a<|eot_id|>b");
    // User-defined tokens are text: always found, the longest first.
    assert_eq!(
        tokenizer.encode_plain("a<tag>b<tag>x").unwrap(),
        [letter_a, count + 2, letter_b, count + 3]
    );
    assert_eq!(
        tokenizer.decode(&[count + 2, count + 1, letter_b]),
        "<tag>b"
    );
    assert!(tokenizer.is_end(count + 1) && !tokenizer.is_end(count + 2));

    let tokenizer = shipped();
    let [once, upon] = ["\u{2581}Once", "\u{2581}upon"].map(|text| tokenizer.token(text).unwrap());
    // The tokenizer adds the space before the first word and after a control token.
    assert_eq!(
        tokenizer.encode("Once</s>upon").unwrap(),
        [1, once, 2, upon]
    );
    assert!(!tokenizer.encode_plain("</s>").unwrap().contains(&2));
}

#[test]
fn user_defined_tokens_that_end_a_turn_are_control_tokens() {
    let vectors = vectors();
    let tokenizer = byte_pair("qwen2", &vectors).unwrap();
    let end = vectors.vocabulary.len() as u32 + 4;
    assert!(tokenizer.is_end(end));
    assert_eq!(tokenizer.encode("<end_of_turn>").unwrap(), [end]);
    let plain = tokenizer.encode_plain("<end_of_turn>").unwrap();
    assert!(!plain.contains(&end));
    assert_eq!(tokenizer.decode(&plain), "<end_of_turn>");
}

/// gpt-oss ends each message of a turn with `<|end|>`, and the turn with another token; elsewhere `<|end|>` ends the turn.
#[test]
fn a_message_is_not_a_turn_in_the_vocabulary_of_gpt_oss() {
    let ends = |texts: &[&str]| -> Vec<bool> {
        let tokenizer = Tokenizer::from_gguf(&gguf(vec![
            ("model", Value::String("llama".into())),
            (
                "tokens",
                Value::Array(Array::String(texts.iter().collect())),
            ),
            ("token_type", Value::Array(Array::I32(vec![3; texts.len()]))),
            ("eos_token_id", Value::U32(0)),
        ]));
        let tokenizer = tokenizer.unwrap();
        (0..texts.len() as u32)
            .map(|id| tokenizer.is_end(id))
            .collect()
    };
    let texts = ["<|endoftext|>", "<|end|>", "<|call|>", "<|return|>"];
    assert_eq!(ends(&texts), [true, false, true, true]);
    assert_eq!(ends(&texts[..3]), [true, true, false]);
}

/// SentencePiece gives the first piece that it merges the score -0.0, and the user's own ones 0.0.
#[test]
fn scores_of_both_zeros_are_equal() {
    for score in [0.0, -0.0] {
        let scores = vec![-5.0, -5.0, -5.0, score, 0.0];
        let texts = ["a", "b", "c", "ab", "bc"];
        let tokenizer = Tokenizer::from_gguf(&gguf(vec![
            ("model", Value::String("llama".into())),
            (
                "tokens",
                Value::Array(Array::String(texts.iter().collect())),
            ),
            ("scores", Value::Array(Array::F32(scores))),
            ("add_space_prefix", Value::Bool(false)),
        ]))
        .unwrap();
        assert_eq!(tokenizer.encode_plain("abc").unwrap(), [3, 2]);
    }
}

#[test]
fn bytes_of_one_character_stream_together() {
    let tokenizer = shipped();
    let tokens = tokenizer.encode_plain("a🦀").unwrap();
    let mut stream = TextStream::new();
    let pieces: Vec<String> = tokens
        .iter()
        .map(|&token| {
            let mut bytes = Vec::new();
            tokenizer.decode_token(token, &mut bytes);
            stream.push(&bytes)
        })
        .collect();
    assert_eq!(pieces.concat(), " a🦀");
    assert_eq!(pieces.last().unwrap(), "🦀");
    assert_eq!(stream.finish(), "");
}

#[test]
fn unusable_vocabularies_are_named() {
    let texts = |texts: &[&str]| Value::Array(Array::String(texts.iter().collect()));
    let model = |name: &str| ("model", Value::String(name.into()));
    let refusal = |metadata| {
        Tokenizer::from_gguf(&gguf(metadata))
            .unwrap_err()
            .to_string()
    };

    assert!(refusal(vec![]).contains("\"tokenizer.ggml.model\" is missing"));
    assert!(refusal(vec![model("bert")]).contains("unsupported tokenizer model \"bert\""));
    assert!(refusal(vec![model("llama")]).contains("\"tokenizer.ggml.tokens\" is missing"));
    assert!(refusal(vec![model("llama"), ("tokens", texts(&[]))]).contains("0 tokens"));
    assert!(
        refusal(vec![model("gpt2"), ("tokens", texts(&["a"]))])
            .contains("\"tokenizer.ggml.merges\" is missing")
    );
    let bad_eos = vec![
        model("llama"),
        ("tokens", texts(&["a"])),
        ("eos_token_id", Value::U32(7)),
    ];
    assert!(refusal(bad_eos).contains("eos_token_id is 7, but there are 1 tokens"));
    let scores = Value::Array(Array::F32(vec![0.0; 2]));
    let bad_scores = vec![
        model("llama"),
        ("tokens", texts(&["a"])),
        ("scores", scores),
    ];
    assert!(refusal(bad_scores).contains("scores has 2 elements for 1 tokens"));
    let no_bos = vec![
        model("gpt2"),
        ("tokens", texts(&["a"])),
        ("merges", texts(&[])),
        ("add_bos_token", Value::Bool(true)),
    ];
    assert!(refusal(no_bos).contains("add_bos_token is set, but there is no bos token"));
    let bad_merge = vec![
        model("gpt2"),
        ("tokens", texts(&["a"])),
        ("merges", texts(&["ab"])),
    ];
    assert!(refusal(bad_merge).contains("merge 0 \"ab\" is not a pair"));
    let error = byte_pair("no-such-rule", &vectors()).unwrap_err();
    assert!(
        matches!(error, TokenizerError::UnsupportedPreTokenizer(name) if name == "no-such-rule")
    );

    let few = gguf(vec![
        model("gpt2"),
        ("tokens", texts(&["a"])),
        ("merges", texts(&[])),
    ]);
    let error = Tokenizer::from_gguf(&few)
        .unwrap()
        .encode("ab")
        .unwrap_err();
    assert!(
        matches!(error, TokenizerError::Unencodable { byte: b'b' }),
        "{error}"
    );
}

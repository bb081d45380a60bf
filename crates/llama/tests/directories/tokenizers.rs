//! `tokenizer.json` and the files beside it: the tokens of texts are those that SentencePiece and `tokenizers` gave
//! (`data/tokenizers/make_vectors.py`).

use std::collections::BTreeMap;

use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::tokenizer::{TokenKind, Tokenizer};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Directory;
use crate::refusals::{Change, refuse_each, refused};

#[derive(Deserialize)]
struct Vectors {
    texts: Vec<String>,
    sentencepiece: Vec<Vec<u32>>,
    byte_pair: BTreeMap<String, Vec<Vec<u32>>>,
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../data/tokenizers/vectors.json")).unwrap()
}

const SENTENCEPIECE: &str = include_str!("../data/tokenizers/sentencepiece.json");
const BYTE_LEVEL: &str = include_str!("../data/tokenizers/byte_level.json");

/// A model's directory with this vocabulary, and nothing said of its special tokens.
fn with_tokenizer(file: &str) -> Directory {
    let directory = Directory::new("qwen2");
    directory.write("tokenizer.json", file);
    // The files have more tokens than the model: only what reads the vocabulary is tested here.
    directory.write("tokenizer_config.json", "{}");
    directory.edit("config.json", |config| {
        config["vocab_size"] = json!(2000);
        config["bos_token_id"] = Value::Null;
        config["eos_token_id"] = Value::Null;
    });
    directory
}

fn tokenizer(directory: &Directory) -> Tokenizer {
    Tokenizer::from_gguf(&directory.open().unwrap()).unwrap()
}

fn check(tokenizer: &Tokenizer, texts: &[String], expected: &[Vec<u32>], name: &str) {
    assert_eq!(texts.len(), expected.len());
    for (text, expected) in texts.iter().zip(expected) {
        let tokens = tokenizer.encode_plain(text).unwrap();
        assert_eq!(&tokens, expected, "{name}: {text:?}");
    }
}

#[test]
fn sentencepiece_agrees_with_its_reference() {
    let vectors = vectors();
    let directory = with_tokenizer(SENTENCEPIECE);
    check(
        &tokenizer(&directory),
        &vectors.texts,
        &vectors.sentencepiece,
        "metaspace",
    );
    // The same as files of the first Llamas say it.
    directory.edit("tokenizer.json", |file| {
        file["pre_tokenizer"] = Value::Null;
        file["normalizer"] = json!({"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "\u{2581}"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u{2581}"}]});
        let merges = file["model"]["merges"].as_array_mut().unwrap();
        for merge in merges {
            *merge = json!(format!(
                "{} {}",
                merge[0].as_str().unwrap(),
                merge[1].as_str().unwrap()
            ));
        }
    });
    let tokenizer = tokenizer(&directory);
    check(
        &tokenizer,
        &vectors.texts,
        &vectors.sentencepiece,
        "normalizer",
    );
    assert_eq!(tokenizer.bos(), Some(1));
    assert_eq!(tokenizer.encode("a").unwrap()[0], 1);
    let spaceless = |file: &mut Value| {
        drop(
            file["normalizer"]["normalizers"]
                .as_array_mut()
                .unwrap()
                .remove(0),
        )
    };
    directory.edit("tokenizer.json", spaceless);
    let bare = self::tokenizer(&directory).encode_plain("Once").unwrap();
    assert_ne!(bare, tokenizer.encode_plain("Once").unwrap());
    assert_eq!(
        bare,
        tokenizer
            .encode_plain("</s>Once")
            .map(|tokens| tokens[tokens.len() - bare.len()..].to_vec())
            .unwrap()
    );
}

#[test]
fn byte_pairs_agree_with_their_reference() {
    let vectors = vectors();
    const CONTRACTIONS: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
    let directory = with_tokenizer(BYTE_LEVEL);
    for (name, expected) in &vectors.byte_pair {
        directory.edit("tokenizer.json", |file| {
            file["model"]["ignore_merges"] = json!(name == "llama-bpe");
            let steps = &mut file["pre_tokenizer"]["pretokenizers"];
            let pattern = match name.as_str() {
                "llama-bpe" => return,
                "qwen2" => format!(
                    r"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
                ),
                "gpt-4o" => {
                    const WORD: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]";
                    let rest = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";
                    const SMALL: &str = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]";
                    format!("{WORD}*{SMALL}+{CONTRACTIONS}?|{WORD}+{SMALL}*{CONTRACTIONS}?|{rest}")
                }
                _ => {
                    *steps = json!([{"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}]);
                    return;
                }
            };
            *steps = json!([
                {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]);
        });
        check(&tokenizer(&directory), &vectors.texts, expected, name);
        directory.write("tokenizer.json", BYTE_LEVEL);
    }
}

#[test]
fn special_tokens_come_from_the_files_that_say_them() {
    let directory = with_tokenizer(BYTE_LEVEL);
    let kinds = |tokenizer: &Tokenizer| [700, 701, 702].map(|id| tokenizer.kind(id).unwrap());
    let bare = tokenizer(&directory);
    // The post-processor begins texts with it.
    assert_eq!(
        (bare.bos(), bare.adds_bos(), bare.eos()),
        (Some(700), true, None)
    );
    assert_eq!(
        kinds(&bare),
        [
            TokenKind::Control,
            TokenKind::Control,
            TokenKind::UserDefined
        ]
    );
    directory.write(
        "tokenizer_config.json",
        json!({"bos_token": {"content": "<|eot_id|>"}, "add_bos_token": false, "eos_token": "<|begin|>"}).to_string(),
    );
    directory.write(
        "generation_config.json",
        json!({"eos_token_id": [700, 702]}).to_string(),
    );
    let said = tokenizer(&directory);
    assert_eq!(
        (said.bos(), said.adds_bos(), said.eos()),
        (Some(701), false, Some(700))
    );
    assert!([700, 702].iter().all(|&id| said.is_end(id)) && !said.is_end(703));
}

#[test]
fn added_tokens_without_an_embedding_are_left_out() {
    let directory = with_tokenizer(BYTE_LEVEL);
    let count = |directory: &Directory| tokenizer(directory).vocabulary_size();
    assert_eq!(count(&directory), 705);
    directory.edit("config.json", |config| config["vocab_size"] = json!(703));
    assert_eq!(count(&directory), 703);
}

fn template(model: &Gguf) -> Option<&str> {
    model.get_str("tokenizer.chat_template").unwrap()
}

#[test]
fn chat_templates_come_from_their_file_or_the_settings() {
    let directory = Directory::new("qwen2");
    assert_eq!(template(&directory.open().unwrap()), None);
    directory.edit("tokenizer_config.json", |settings| {
        settings["chat_template"] = json!("one")
    });
    assert_eq!(template(&directory.open().unwrap()), Some("one"));
    directory.edit("tokenizer_config.json", |settings| {
        settings["chat_template"] = json!([{"name": "tool_use", "template": "two"}, {"name": "default", "template": "three"}]);
    });
    assert_eq!(template(&directory.open().unwrap()), Some("three"));
    directory.write("chat_template.jinja", "four");
    assert_eq!(template(&directory.open().unwrap()), Some("four"));
}

#[test]
fn vocabularies() {
    let changes: [Change; 12] = [
        (
            |t| t["model"]["type"] = json!("Unigram"),
            "a tokenizer of type \"Unigram\" is not supported",
        ),
        (
            |t| t["model"]["vocab"] = json!([["a", 0.5]]),
            "a vocabulary that is a list is not supported",
        ),
        (
            |t| t["model"]["vocab"]["x"] = json!(u32::MAX),
            "token 4294967294 of at most 4194304",
        ),
        (|t| t["model"]["vocab"]["x!"] = json!(5), "are token 5"),
        (|t| t["added_tokens"][0]["id"] = json!(5), "are token 5"),
        (
            |t| t["model"]["end_of_word_suffix"] = json!("</w>"),
            "end_of_word_suffix is not supported",
        ),
        (
            |t| t["normalizer"] = json!({"type": "Lowercase"}),
            "the normalizer {\"type\":\"Lowercase\"}",
        ),
        (
            |t| t["pre_tokenizer"] = Value::Null,
            "a pre_tokenizer without ByteLevel",
        ),
        (
            |t| t["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = json!(r"\d+"),
            "splitting by [\"\\\\d+\"] (ignore_merges true) is not supported",
        ),
        (
            |t| t["model"]["ignore_merges"] = json!(1),
            "invalid type: integer",
        ),
        (
            |t| t["post_processor"] = json!({"type": "BertProcessing"}),
            "the post_processor {\"type\":\"BertProcessing\"}",
        ),
        (
            |t| t["pre_tokenizer"] = json!({"type": "x".repeat(1 << 20)}),
            "pre_tokenizer of tokenizer.json has 1048587 bytes",
        ),
    ];
    for (change, message) in changes {
        let directory = with_tokenizer(BYTE_LEVEL);
        directory.edit("tokenizer.json", change);
        refused(&directory, message);
    }
    refuse_each(
        "qwen2",
        "tokenizer_config.json",
        [
            (
                |s| s["bos_token"] = json!("<none>"),
                "tokenizer_config.json: bos_token \"<none>\" is not in the vocabulary",
            ),
            (
                |s| s["bos_token"] = json!(5),
                "key \"bos_token\" is not the text of a token",
            ),
            (
                |s| s["chat_template"] = json!(5),
                "key \"chat_template\" is not a text or a list",
            ),
        ],
    );
    refuse_each(
        "qwen2",
        "config.json",
        [
            (
                |c| c["eos_token_id"] = json!([3, 4, 5]),
                "eos_token_id 5, a fourth token that ends texts",
            ),
            (
                |c| c["eos_token_id"] = json!("x"),
                "key \"eos_token_id\" is not the number of a token",
            ),
        ],
    );
}

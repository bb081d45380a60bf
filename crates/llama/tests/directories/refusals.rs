//! Directories that are not sound, or not supported: the message names the file and what is wrong.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use crate::{Directory, header_bytes};

const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const NORM: &str = "model.norm.weight";

/// A change of a JSON file, and what the error then says.
pub type Change = (fn(&mut Value), &'static str);

#[track_caller]
pub fn refused(directory: &Directory, message: &str) {
    let error = directory.open().expect_err("it is not sound").to_string();
    assert!(error.contains(message), "{error:?} instead of {message:?}");
}

/// Each change alone, of one file of a fixture.
#[track_caller]
pub fn refuse_each<const N: usize>(fixture: &str, file: &str, changes: [Change; N]) {
    let directory = Directory::new(fixture);
    let whole = fs::read(directory.path(file)).unwrap();
    for (change, message) in changes {
        directory.edit(file, change);
        refused(&directory, message);
        directory.write(file, &whole);
    }
    assert!(directory.open().is_ok());
}

/// The divisors of the rotary embedding would take 4 GB.
#[test]
fn sizes_that_divisors_are_made_from() {
    refuse_each(
        "llama3",
        "config.json",
        [
            (
                |c| c["head_dim"] = json!(1u32 << 31),
                "a head of more than 256 elements is not supported",
            ),
            (
                |c| {
                    c["head_dim"] = Value::Null;
                    c["hidden_size"] = json!(1u32 << 31);
                    c["num_attention_heads"] = json!(1);
                },
                "a head of more than 256 elements is not supported",
            ),
        ],
    );
}

#[test]
fn settings() {
    refuse_each(
        "qwen2",
        "config.json",
        [
            (
                |c| c["architectures"] = json!(["BertModel"]),
                "config.json: the architecture \"BertModel\" (supported are Llama",
            ),
            (
                |c| c["architectures"] = Value::Null,
                "key \"architectures\" is missing",
            ),
            (
                |c| c["hidden_size"] = json!("x"),
                "key \"hidden_size\" is not a whole number of 32 bits",
            ),
            (
                |c| c["hidden_size"] = json!(1u64 << 40),
                "key \"hidden_size\" is not a whole number of 32 bits",
            ),
            (
                |c| c["num_attention_heads"] = json!(0),
                "key \"num_attention_heads\" is not a positive number",
            ),
            (
                |c| c["rms_norm_eps"] = Value::Null,
                "key \"rms_norm_eps\" is missing",
            ),
            (
                |c| c["quantization_config"] = json!({"bits": 4}),
                "a quantized model (quantization_config) is not supported",
            ),
            (
                |c| c["hidden_act"] = json!("gelu"),
                "hidden_act \"gelu\" is not supported",
            ),
            (
                |c| c["layer_types"][0] = json!("sliding_attention"),
                "use_sliding_window is not supported",
            ),
            (
                |c| c["layer_types"][0] = json!("linear_attention"),
                "the layer type \"linear_attention\"",
            ),
            (
                |c| c["rope_parameters"] = Value::Null,
                "key \"rope_theta\" is missing",
            ),
            (
                |c| c["rope_parameters"]["rope_type"] = json!("dynamic"),
                "rotary scaling \"dynamic\" is not supported",
            ),
            (
                |c| c["rope_parameters"]["rope_type"] = json!("linear"),
                "key \"rope_parameters.factor\" is missing",
            ),
            (
                |c| c["tie_word_embeddings"] = json!(false),
                "tensor \"lm_head.weight\" is missing",
            ),
            (
                |c| c["num_hidden_layers"] = json!(1),
                "tensor \"model.layers.1.",
            ),
            (|c| *c = json!([]), "config.json: invalid type"),
        ],
    );
}

#[test]
fn settings_of_other_architectures() {
    refuse_each(
        "qwen3moe",
        "config.json",
        [
            (
                |c| c["norm_topk_prob"] = json!(false),
                "norm_topk_prob false is not supported",
            ),
            (
                |c| c["mlp_only_layers"] = json!([0]),
                "a mixture of experts in some layers only",
            ),
            (
                |c| c["num_experts"] = json!(7),
                "the matrix of expert 6 is missing",
            ),
            (
                |c| c["num_experts"] = json!(u32::MAX),
                "the matrix of expert 6 is missing",
            ),
            (
                |c| c["num_experts"] = json!(5),
                "Qwen3MoeForCausalLM does not have it",
            ),
        ],
    );
    refuse_each(
        "gemma3",
        "config.json",
        [
            (
                |c| c["attn_logit_softcapping"] = json!(5.0),
                "attn_logit_softcapping of this architecture",
            ),
            (
                |c| c["use_bidirectional_attention"] = json!(true),
                "use_bidirectional_attention true",
            ),
            (
                |c| c["rope_parameters"]["sliding_attention"]["rope_type"] = json!("yarn"),
                "rotary scaling \"yarn\" of windows",
            ),
        ],
    );
    refuse_each(
        "smollm3",
        "config.json",
        [(
            |c| c["no_rope_layers"] = json!([1, 1, 0, 1]),
            "no_rope_layers [1,1,0,1]",
        )],
    );
    refuse_each(
        "llama3",
        "config.json",
        [(
            |c| c["num_key_value_heads"] = json!(32),
            "does not divide among 32 heads of pairs",
        )],
    );
}

#[test]
fn files_that_are_missing_too_long_or_none() {
    let directory = Directory::new("qwen2");
    for file in ["config.json", "tokenizer.json", WEIGHTS] {
        let (path, aside) = (directory.path(file), directory.path("aside"));
        fs::rename(&path, &aside).unwrap();
        refused(&directory, file);
        refused(&directory, "is missing");
        let pipe = UnixListener::bind(&path).unwrap();
        refused(&directory, &format!("{file} is not a regular file"));
        drop(pipe);
        fs::remove_file(&path).unwrap();
        fs::rename(aside, path).unwrap();
    }
    let config = fs::read(directory.path("config.json")).unwrap();
    directory.write("config.json", format!("{{\"a\":{}", "[".repeat(100_000)));
    refused(&directory, "config.json: recursion limit exceeded");
    File::create(directory.path("config.json"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    refused(
        &directory,
        "config.json has 1099511627776 bytes, more than 8388608",
    );
    directory.write("config.json", config);
    File::create(directory.path("tokenizer.json"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    refused(
        &directory,
        "tokenizer.json has 1099511627776 bytes, more than 67108864",
    );
}

#[test]
fn indices() {
    const FIRST: &str = "model-00001-of-00002.safetensors";
    let directory = Directory::new("llama3");
    let whole = fs::read(directory.path(INDEX)).unwrap();
    for shard in [
        "../x",
        "/etc/passwd",
        "x/y",
        "..",
        ".",
        "",
        "x\0y",
        "x\\y",
        "\x1b[2J",
    ] {
        directory.edit(INDEX, |index| index["weight_map"][NORM] = json!(shard));
        refused(
            &directory,
            &format!("names the file {shard:?}, which is not a name of a file"),
        );
    }
    directory.edit(INDEX, |index| {
        index["weight_map"][NORM] = json!("third.safetensors")
    });
    refused(&directory, "third.safetensors is missing");
    directory.edit(INDEX, |index| index["weight_map"][NORM] = json!(FIRST));
    refused(
        &directory,
        "model-00001-of-00002.safetensors: tensor \"model.norm.weight\" is missing",
    );
    directory.write(INDEX, &whole);
    directory.edit(INDEX, |index| index["weight_map"]["more"] = json!(FIRST));
    refused(&directory, "tensor \"more\" is missing");
    directory.write(INDEX, "{}");
    refused(&directory, "missing field `weight_map`");
    directory.write(INDEX, &whole);
    fs::copy(directory.path(FIRST), directory.path("copy")).unwrap();
    directory.edit(INDEX, |index| index["weight_map"]["more"] = json!("copy"));
    refused(&directory, "appears twice");
}

#[test]
fn headers() {
    let directory = Directory::new("qwen2");
    let whole = fs::read(directory.path(WEIGHTS)).unwrap();
    for (bytes, message) in [
        (&b"abc"[..], "3 bytes are no safetensors file"),
        (
            &u64::MAX.to_le_bytes(),
            "the header has 18446744073709551615 bytes, but 0 follow",
        ),
        (&header_bytes("{"), "EOF while parsing"),
        (&header_bytes("[]"), "an object of tensors"),
        (&whole[..whole.len() - 1], "bytes, but"),
        (&[&whole[..], b"x"].concat(), "bytes, but"),
        (
            &header_bytes(r#"{"a":{"dtype":"X9","shape":[1],"data_offsets":[0,4]}}"#),
            "tensor \"a\": unknown variant `X9`",
        ),
        (
            &header_bytes(
                "{\"a\":{\"dtype\":\"\\u001b[2J\",\"shape\":[1],\"data_offsets\":[0,4]}}",
            ),
            "unknown variant `\\u{1b}[2J`",
        ),
        (
            &header_bytes(
                r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#,
            ),
            "overflow",
        ),
    ] {
        directory.write(WEIGHTS, bytes);
        refused(&directory, message);
    }
    let long = File::create(directory.path(WEIGHTS)).unwrap();
    long.set_len(1 << 40).unwrap();
    fs::write(directory.path("start"), (1u64 << 39).to_le_bytes()).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&long, &(1u64 << 39).to_le_bytes(), 0).unwrap();
    refused(
        &directory,
        "the header of model.safetensors has 549755813888 bytes, more than 33554432",
    );

    directory.write(WEIGHTS, &whole);
    let twice = r#"{"dtype":"F32","shape":[1],"data_offsets":[0,4]}"#;
    let again = twice.replace("[0,4]", "[4,8]");
    let bytes = [
        header_bytes(&format!(r#"{{"a":{twice},"a":{again}}}"#)),
        vec![0; 8],
    ]
    .concat();
    directory.write(WEIGHTS, bytes);
    refused(&directory, "model.safetensors: tensor \"a\" appears twice");
    let changes: [Change; 7] = [
        (
            |h| h[NORM]["data_offsets"] = json!([0, 144]),
            "invalid offset",
        ),
        (|h| h[NORM]["data_offsets"][0] = json!(-1), "invalid value"),
        (
            |h| h[NORM]["shape"] = json!([37]),
            "invalid shape, data type, or offset",
        ),
        (
            |h| h[NORM]["dtype"] = json!("I32"),
            "elements of type I32 are not supported; F32, F16 and BF16 are",
        ),
        (
            |h| h[NORM]["shape"] = json!([1, 1, 1, 1, 36]),
            "it has 5 dimensions, more than 4",
        ),
        (
            |h| {
                let norm = h.as_object_mut().unwrap().remove(NORM).unwrap();
                h["model.layers.0.mlp.odd.weight"] = norm;
            },
            "tensor \"model.layers.0.mlp.odd.weight\": Qwen2ForCausalLM does not have it",
        ),
        (|h| h["__metadata__"] = json!([]), ""),
    ];
    for (change, message) in changes {
        directory.write(WEIGHTS, &whole);
        directory.edit_header(WEIGHTS, change);
        match message {
            "" => assert!(directory.open().is_ok()),
            _ => refused(&directory, message),
        }
    }
}

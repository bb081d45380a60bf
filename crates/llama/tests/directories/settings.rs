//! What the keys of `config.json` become.

use std::fs;
use std::os::unix::fs::symlink;

use half::bf16;
use metal_bridge_llama::gguf::{Gguf, TensorType};
use metal_bridge_llama::{ModelConfig, RopeScaling};
use serde_json::{Map, Value, json};

use crate::{Directory, fixture, header_bytes, split};

fn config(directory: &Directory) -> ModelConfig {
    ModelConfig::from_gguf(&directory.open().unwrap()).unwrap()
}

/// The keys that files had before version 5 of `transformers`.
fn make_old(config: &mut Value) {
    let config = config.as_object_mut().unwrap();
    let parameters = config.remove("rope_parameters").unwrap();
    let full = parameters.get("full_attention").unwrap_or(&parameters);
    let mut scaling: Map<String, Value> = full.as_object().unwrap().clone();
    config.insert("rope_theta".into(), scaling.remove("rope_theta").unwrap());
    if let Some(windows) = parameters.get("sliding_attention") {
        config.insert("rope_local_base_freq".into(), windows["rope_theta"].clone());
        config.remove("layer_types");
        config.insert("sliding_window_pattern".into(), json!(6));
    }
    if let Some(original) = scaling.remove("original_max_position_embeddings") {
        match config["architectures"][0] == "Phi3ForCausalLM" {
            true => config.insert("original_max_position_embeddings".into(), original),
            false => scaling.insert("original_max_position_embeddings".into(), original),
        };
    }
    let kind = scaling.remove("rope_type").unwrap();
    scaling.remove("partial_rotary_factor");
    let scaling = match kind == "default" {
        true => Value::Null,
        false => {
            scaling.insert("type".into(), kind);
            Value::Object(scaling)
        }
    };
    config.insert("rope_scaling".into(), scaling);
}

#[test]
fn older_files_say_the_same_in_other_keys() {
    for name in ["llama3", "qwen2", "phi3", "gemma3"] {
        let directory = Directory::new(name);
        let (new, tensors) = (config(&directory), directory.open().unwrap());
        directory.edit("config.json", make_old);
        assert_eq!(config(&directory), new, "{name}");
        let old = directory.open().unwrap();
        assert_eq!(old.tensors(), tensors.tensors(), "{name}");
    }
}

#[test]
fn rotary_embeddings_are_those_of_gguf_files() {
    let directory = Directory::new("mistral");
    for (name, parameters) in [
        (
            "llama-linear",
            json!({"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}),
        ),
        (
            "llama-yarn",
            json!({"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "original_max_position_embeddings": 16}),
        ),
    ] {
        directory.edit("config.json", |config| {
            config["rope_parameters"] = parameters
        });
        let file = Gguf::open(fixture(&format!("{name}.gguf"))).unwrap();
        let file = ModelConfig::from_gguf(&file).unwrap();
        assert_eq!(config(&directory).ropes, file.ropes, "{name}");
    }
    directory.edit("config.json", |config| {
        config["rope_parameters"] = json!({"rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "attention_factor": 1.5,
            "beta_fast": 16, "beta_slow": 2});
    });
    let rope = config(&directory).ropes[0];
    assert!((rope.magnitude - 1.5).abs() < 1e-6, "{rope:?}");
    let RopeScaling::Yarn(yarn) = rope.scaling else {
        panic!("{rope:?}");
    };
    assert_eq!((yarn.fast, yarn.slow), (16.0, 2.0));
    // Hugging Face counts from the model's own context, too.
    assert_eq!(yarn.original_context, 64);
}

#[test]
fn what_the_class_does_not_read_changes_nothing() {
    let directory = Directory::new("llama3");
    let before = config(&directory);
    directory.edit("config.json", |config| {
        config["sliding_window"] = json!(3);
        config["unsloth_version"] = json!("2");
    });
    assert_eq!(config(&directory), before);
}

/// Hugging Face's cache has links to files elsewhere.
#[test]
fn files_may_be_links() {
    let directory = Directory::new("mixtral");
    let blobs = tempfile::tempdir().unwrap();
    let names: Vec<_> = fs::read_dir(directory.0.path()).unwrap().collect();
    for (number, entry) in names.into_iter().enumerate() {
        let (from, to) = (entry.unwrap().path(), blobs.path().join(number.to_string()));
        fs::rename(&from, &to).unwrap();
        symlink(to, from).unwrap();
    }
    assert!(directory.open().is_ok());
}

#[test]
fn halves_stay_in_matrices_and_are_widened_in_vectors() {
    let directory = Directory::new("llama3");
    for number in 1..=2 {
        let file = format!("model-0000{number}-of-00002.safetensors");
        let (mut header, data) = split(&directory.path(&file));
        for (_, tensor) in header.as_object_mut().unwrap() {
            if tensor.get("dtype").is_some() {
                tensor["dtype"] = json!("BF16");
                for offset in tensor["data_offsets"].as_array_mut().unwrap() {
                    *offset = json!(offset.as_u64().unwrap() / 2);
                }
            }
        }
        let data: Vec<u8> = (data.chunks_exact(4))
            .flat_map(|b| bf16::from_f32(f32::from_le_bytes(b.try_into().unwrap())).to_le_bytes())
            .collect();
        directory.write(&file, [header_bytes(&header.to_string()), data].concat());
    }
    let (halves, floats) = (
        directory.open().unwrap(),
        Directory::new("llama3").open().unwrap(),
    );
    let mut kinds = [0, 0];
    for tensor in halves.tensors() {
        let of_floats = floats
            .tensor_bytes(floats.tensor(tensor.name()).unwrap())
            .unwrap();
        if tensor.name() == "rope_freqs.weight" {
            continue;
        }
        let rounded = (of_floats.chunks_exact(4))
            .map(|b| bf16::from_f32(f32::from_le_bytes(b.try_into().unwrap())));
        let is_vector = tensor.dimensions().len() == 1;
        kinds[usize::from(is_vector)] += 1;
        assert_eq!(tensor.element_type() == TensorType::F32, is_vector);
        let expected: Vec<u8> = match is_vector {
            true => rounded
                .flat_map(|value| value.to_f32().to_le_bytes())
                .collect(),
            false => rounded.flat_map(bf16::to_le_bytes).collect(),
        };
        assert!(
            halves.tensor_bytes(tensor).unwrap() == expected,
            "{}",
            tensor.name()
        );
    }
    assert_eq!(kinds, [16, 19]);
}

//! Models that the engine refuses, or loads in another way than most: its errors and its results.

use crate::support::{ModelFile, device, relative_l2, session, small, to_f64, tokens, write_model};
use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::{Gguf, GgufError, GgufWriter, TensorType, Value};
use metal_bridge_llama::hugging_face::DirectoryError;
use metal_bridge_llama::{Error, Model};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

struct Tensor {
    name: String,
    dimensions: Vec<u64>,
    element_type: TensorType,
    bytes: Vec<u8>,
}

/// A model file taken apart.
pub struct Parts {
    pub metadata: Vec<(String, Value)>,
    tensors: Vec<Tensor>,
}

impl Parts {
    pub fn of(file: &ModelFile) -> Self {
        let gguf = Gguf::open(&file.path).unwrap();
        let tensors = gguf.tensors().iter().map(|tensor| Tensor {
            name: tensor.name().to_owned(),
            dimensions: tensor.dimensions().to_vec(),
            element_type: tensor.element_type(),
            bytes: gguf.tensor_bytes(tensor).unwrap(),
        });
        Self {
            metadata: gguf
                .metadata()
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .collect(),
            tensors: tensors.collect(),
        }
    }

    pub fn set(&mut self, key: &str, value: Value) {
        self.remove(key);
        self.metadata.push((key.to_owned(), value));
    }

    pub fn remove(&mut self, key: &str) {
        self.metadata.retain(|(k, _)| k != key);
    }

    fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors
            .iter_mut()
            .find(|tensor| tensor.name == name)
            .unwrap()
    }

    pub fn write(&self, path: &std::path::Path) {
        self.write_with(GgufWriter::new(), path);
    }

    fn write_with(&self, mut writer: GgufWriter, path: &std::path::Path) {
        for (key, value) in &self.metadata {
            writer.metadata(key, value.clone());
        }
        for tensor in &self.tensors {
            writer
                .tensor(&tensor.name, &tensor.dimensions, tensor.element_type)
                .unwrap();
        }
        let bytes = |name: &str| {
            &self
                .tensors
                .iter()
                .find(|tensor| tensor.name == name)
                .unwrap()
                .bytes
        };
        writer
            .write(std::fs::File::create(path).unwrap(), |t, out| {
                out.write_all(bytes(t.name()))
            })
            .unwrap();
    }
}

/// The error of loading a small model after `change`.
pub fn refusal(change: impl FnOnce(&mut Parts)) -> Error {
    let file = write_model(&small(), 1);
    let mut parts = Parts::of(&file);
    change(&mut parts);
    parts.write(&file.path);
    Model::load(&device(), &file.path).expect_err("the model cannot be run")
}

#[test]
fn files_that_are_not_models_are_named_with_their_path() {
    let error = Model::load(&device(), "/no/such/model.gguf").unwrap_err();
    assert!(matches!(
        error,
        Error::File {
            source: GgufError::Io(_),
            ..
        }
    ));
    assert!(
        error.to_string().starts_with("/no/such/model.gguf: "),
        "{error}"
    );
    let error = Model::load(
        &device(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::File {
                source: GgufError::NotGguf { .. },
                ..
            }
        ),
        "{error}"
    );
    let error = Model::load(&device(), env!("CARGO_MANIFEST_DIR")).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Directory {
                source: DirectoryError::MissingFile { .. },
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn other_architectures_and_features_are_named() {
    let error = refusal(|parts| parts.set("general.architecture", Value::String("mamba".into())));
    assert!(
        matches!(&error, Error::UnsupportedArchitecture(name) if name == "mamba"),
        "{error}"
    );
    let error = refusal(|parts| parts.set("llama.expert_count", Value::U32(8)));
    assert_eq!(
        error.to_string(),
        "metadata key \"llama.expert_used_count\" is missing"
    );
    let error = refusal(|parts| {
        parts.set("llama.expert_count", Value::U32(4));
        parts.set("llama.expert_used_count", Value::U32(5));
    });
    let expected = "\"llama.expert_used_count\" is 5: there are only 4 experts";
    assert!(error.to_string().contains(expected), "{error}");
    let error =
        refusal(|parts| parts.set("llama.rope.scaling.type", Value::String("dynamic".into())));
    assert!(
        matches!(&error, Error::Unsupported(what) if what.contains("dynamic")),
        "{error}"
    );
    let error = refusal(|parts| parts.set("llama.attention.clamp_kqv", Value::F32(8.0)));
    assert!(
        matches!(&error, Error::Unsupported(what) if what.contains("llama.attention.clamp_kqv")),
        "{error}"
    );
    // The norms of another architecture.
    let norm = Tensor {
        name: "blk.0.post_attention_norm.weight".into(),
        dimensions: vec![64],
        element_type: TensorType::F32,
        bytes: vec![0; 256],
    };
    let error = refusal(|parts| parts.tensors.push(norm));
    assert!(
        matches!(&error, Error::Unsupported(what) if what.contains("blk.0.post_attention_norm.weight")),
        "{error}"
    );
}

#[test]
fn divisors_of_frequencies_that_give_no_numbers_are_named() {
    for divisor in [f32::NAN, f32::INFINITY, 0.0, 1e-40] {
        let error = refusal(|parts| {
            let bytes = [divisor; 8].map(f32::to_le_bytes);
            parts.tensors.push(Tensor {
                name: "rope_freqs.weight".to_owned(),
                dimensions: vec![8],
                element_type: TensorType::F32,
                bytes: bytes.concat(),
            });
        });
        let is_named =
            matches!(&error, Error::TensorValues { tensor, .. } if tensor == "rope_freqs.weight");
        assert!(is_named, "{error}");
    }
}

#[test]
fn other_quantizations_are_named() {
    let error = refusal(|parts| {
        let tensor = parts.tensor("blk.1.ffn_up.weight");
        tensor.element_type = TensorType::from_id(9).unwrap();
        tensor.bytes = vec![0; 96 * 64 / 32 * 36];
    });
    let names = WeightType::ALL.map(|kind| TensorType::of(kind).name());
    let [all_but_one @ .., last] = &names;
    let expected = format!(
        "tensor \"blk.1.ffn_up.weight\" has type Q8_1; supported are {} and {last}",
        all_but_one.join(", ")
    );
    assert_eq!(error.to_string(), expected);
    let error = refusal(|parts| {
        let tensor = parts.tensor("output_norm.weight");
        tensor.element_type = TensorType::F16;
        tensor.bytes = vec![0; 128];
    });
    assert!(
        matches!(
            &error,
            Error::UnsupportedType {
                supported: "F32",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn missing_and_misshapen_tensors_are_named() {
    let error = refusal(|parts| {
        parts
            .tensors
            .retain(|tensor| tensor.name != "blk.1.attn_k.weight")
    });
    let missing = matches!(&error, Error::Gguf(GgufError::MissingTensor { name }) if name == "blk.1.attn_k.weight");
    assert!(missing, "{error}");
    // The other matrix has the rows of one, so the file does not keep both in one.
    let error = refusal(|parts| {
        parts
            .tensors
            .retain(|tensor| tensor.name != "blk.1.ffn_gate.weight")
    });
    let missing = matches!(&error, Error::Gguf(GgufError::MissingTensor { name }) if name == "blk.1.ffn_gate.weight");
    assert!(missing, "{error}");
    let error = refusal(|parts| parts.tensor("blk.0.attn_q.weight").dimensions = vec![32, 128]);
    let expected = "tensor \"blk.0.attn_q.weight\" has shape [32, 128], expected [64, 64]";
    assert_eq!(error.to_string(), expected);
    let error = refusal(|parts| parts.set("llama.block_count", Value::U32(3)));
    assert!(
        matches!(&error, Error::Gguf(GgufError::MissingTensor { .. })),
        "{error}"
    );
    // Nothing would compute a layer that the count leaves out.
    let error = refusal(|parts| parts.set("llama.block_count", Value::U32(1)));
    assert!(
        matches!(&error, Error::Unsupported(what) if what.contains("blk.1.")),
        "{error}"
    );
}

#[test]
fn a_file_of_misaligned_tensors_computes_the_same() {
    let file = write_model(&small(), 3);
    let load = || Model::load(&device(), &file.path).unwrap();
    let tokens = tokens(20, 320);
    let expected = session(&load(), 64).feed_with_logits(&tokens).unwrap();

    let parts = Parts::of(&file);
    // With this alignment a tensor of 34-byte blocks leaves the ones after it at odd offsets.
    parts.write_with(GgufWriter::with_alignment(2).unwrap(), &file.path);
    let gguf = Gguf::open(&file.path).unwrap();
    assert!(
        gguf.tensors()
            .iter()
            .filter(|tensor| tensor.offset() % 16 != 0)
            .count()
            > 10
    );
    let found = session(&load(), 64).feed_with_logits(&tokens).unwrap();
    assert!(relative_l2(&found, &to_f64(&expected)) < 1e-6);
}

#[test]
fn models_with_damaged_headers_load_or_are_refused() {
    let file = write_model(&small(), 8);
    let bytes = std::fs::read(&file.path).unwrap();
    let gguf = Gguf::open(&file.path).unwrap();
    let header = gguf
        .tensors()
        .iter()
        .map(|tensor| tensor.offset())
        .min()
        .unwrap() as usize;
    drop(gguf);
    let device = device();
    let mut random = SmallRng::seed_from_u64(40);
    let (mut loaded, mut refused) = (0, 0);
    for _ in 0..400 {
        let mut damaged = bytes.clone();
        for _ in 0..random.random_range(1..4) {
            damaged[random.random_range(0..header)] = random.random();
        }
        std::fs::write(&file.path, damaged).unwrap();
        match Model::load(&device, &file.path) {
            Ok(_) => loaded += 1,
            Err(_) => refused += 1,
        }
    }
    // Most bytes of a header are letters of tokens, and any letters will do.
    assert!(
        loaded > 20 && refused > 20,
        "{loaded} loaded, {refused} refused"
    );
    std::fs::write(&file.path, bytes).unwrap();
    session(&Model::load(&device, &file.path).unwrap(), 8)
        .feed(&[1, 2])
        .unwrap();
}

//! Directories in Hugging Face's layout against GGUF files with the same weights, whose logits `architectures.rs` compares
//! with Hugging Face's own.

use std::path::PathBuf;

use crate::support::device;
use metal_bridge::{Device, ObjectKind};
use metal_bridge_llama::gguf::Gguf;
use metal_bridge_llama::{Model, ModelConfig, Session, hugging_face, open};
use metal_bridge_test_support::in_child;

/// The fixtures that `models/architectures/make.py` saves in both forms.
pub const ALL: [&str; 11] = [
    "llama3", "mistral", "mixtral", "qwen2", "qwen3", "qwen3moe", "smollm3", "granite", "phi3",
    "gemma2", "gemma3",
];

pub fn path(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/architectures");
    PathBuf::from(format!("{folder}/{name}"))
}

/// Names, shapes, types and bytes, in the order of the names.
fn tensors(model: &Gguf) -> Vec<(&str, &[u64], &str, Vec<u8>)> {
    let mut tensors: Vec<_> = (model.tensors().iter())
        .map(|tensor| {
            let bytes = model.tensor_bytes(tensor).unwrap();
            assert_eq!(bytes.len() as u64, tensor.byte_len(), "{}", tensor.name());
            let kind = tensor.element_type().name();
            (tensor.name(), tensor.dimensions(), kind, bytes)
        })
        .collect();
    tensors.sort_unstable();
    tensors
}

#[test]
fn directories_have_the_keys_and_tensors_of_gguf_files() {
    for name in ALL {
        let directory = hugging_face::open(path(name)).unwrap();
        let file = Gguf::open(path(&format!("{name}.gguf"))).unwrap();
        let [one, other] = [&directory, &file].map(|model| ModelConfig::from_gguf(model).unwrap());
        assert_eq!(one, other, "{name}");
        let (directory, file) = (tensors(&directory), tensors(&file));
        let names = |all: &[(&str, &[u64], &str, Vec<u8>)]| -> Vec<String> {
            all.iter()
                .map(|tensor| format!("{:?}", (tensor.0, tensor.1, tensor.2)))
                .collect()
        };
        assert_eq!(names(&directory), names(&file), "{name}");
        for (one, other) in directory.iter().zip(&file) {
            assert!(one.3 == other.3, "{name}: {}", one.0);
        }
    }
}

#[test]
fn logits_are_those_of_gguf_files() {
    for name in ALL {
        let [directory, file] = [name.to_owned(), format!("{name}.gguf")].map(|name| {
            let model = Model::from_gguf(&device(), &open(path(&name)).unwrap()).unwrap();
            let tokens: Vec<u32> = (0..24).map(|index| index * 7 % 64).collect();
            Session::new(&model)
                .unwrap()
                .feed_with_logits(&tokens)
                .unwrap()
        });
        assert!(directory == file, "{name}");
    }
}

/// The bridge counts the buffers of the whole process, so this test has a process of its own.
#[test]
fn weights_stay_in_the_mapped_files() {
    in_child("directories::weights_stay_in_the_mapped_files", || {
        let device = device();
        let buffers = |name: &str| {
            let model = open(path(name)).unwrap();
            let before = Device::live_objects().made(ObjectKind::Buffer);
            Model::from_gguf(&device, &model).unwrap();
            Device::live_objects().made(ObjectKind::Buffer) - before
        };
        // Every tensor of the directory lies 8 bytes past a multiple of 16.
        assert_eq!(buffers("qwen2"), buffers("qwen2.gguf"));
    });
}

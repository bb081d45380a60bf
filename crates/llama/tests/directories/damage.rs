//! Files with a damaged byte, or without their end: a model or an error, and nothing else.

use std::fs;

use metal_bridge_llama::ModelConfig;
use metal_bridge_llama::tokenizer::Tokenizer;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::Directory;

#[test]
fn damaged_files_are_models_or_errors() {
    let mut random = SmallRng::seed_from_u64(22);
    let (mut models, mut errors) = (0, 0);
    for name in ["mixtral", "gemma3"] {
        let directory = Directory::new(name);
        let files = fs::read_dir(directory.0.path()).unwrap();
        let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        for file in files {
            let whole = fs::read(&file).unwrap();
            for _ in 0..30 {
                let mut bytes = whole.clone();
                // Headers and settings rather than weights.
                let at = random.random_range(0..bytes.len().min(4000));
                match random.random_range(0..8) {
                    0 => bytes.truncate(at),
                    1 => bytes[at] = random.random(),
                    2 => drop(bytes.remove(at)),
                    _ => {
                        bytes[at] = *b"0123456789-\"{}[],:.eE"
                            .get(random.random_range(0..21))
                            .unwrap()
                    }
                }
                fs::write(&file, bytes).unwrap();
                let Ok(model) = directory.open() else {
                    errors += 1;
                    continue;
                };
                models += 1;
                // They may be refused.
                let _ = ModelConfig::from_gguf(&model);
                let _ = Tokenizer::from_gguf(&model);
                for tensor in model.tensors() {
                    let length = model.tensor_bytes(tensor).unwrap().len();
                    assert_eq!(length as u64, tensor.byte_len());
                }
            }
            fs::write(&file, whole).unwrap();
        }
    }
    assert!(
        models > 50 && errors > 50,
        "{models} models, {errors} errors"
    );
}

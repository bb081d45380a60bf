//! What the tests of the engine share: models, a device, and the exact answer to compare with.

use std::path::{Path, PathBuf};

use metal_bridge::{Device, LiveObjects, ObjectKind};
use metal_bridge_llama::{Model, Session, SessionOptions};
use metal_bridge_test_support::settled_handles;
use metal_bridge_workloads::synthetic::SyntheticModel;
use tempfile::TempDir;

pub fn device() -> Device {
    Device::system_default().unwrap()
}

pub fn shipped_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/tiny-stories/tiny-stories-q8_0.gguf")
}

pub fn shipped() -> Model {
    Model::load(&device(), shipped_path()).unwrap()
}

pub fn session(model: &Model, batch: usize) -> Session {
    Session::with_options(
        model,
        &SessionOptions {
            batch,
            ..SessionOptions::default()
        },
    )
    .unwrap()
}

/// The live objects once every command buffer has been released.
pub fn settled() -> LiveObjects {
    while Device::live_objects().live(ObjectKind::CommandBuffer) > 0 {
        std::thread::yield_now();
    }
    Device::live_objects()
}

/// Checks that as many objects exist as in `expected`. The thread that completes a command buffer releases it a moment
/// after those that wait for it have gone on.
pub fn assert_live(expected: &LiveObjects) {
    let live = settled_handles(expected);
    assert!(
        live.same_live(expected),
        "{live} where there were {expected}"
    );
}

/// A model file that is deleted when dropped.
pub struct ModelFile {
    _directory: TempDir,
    pub path: PathBuf,
}

pub fn write_model(model: &SyntheticModel, seed: u64) -> ModelFile {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.gguf");
    model.write(&path, seed).unwrap();
    ModelFile {
        _directory: directory,
        path,
    }
}

/// A model that computes in no time, with everything in it that a Llama has.
pub fn small() -> SyntheticModel {
    SyntheticModel {
        layers: 2,
        width: 64,
        heads: 4,
        kv_heads: 2,
        head_dim: 16,
        feed_forward: 96,
        vocabulary: 320,
        context: 64,
        ..SyntheticModel::tiny_llama()
    }
}

/// Tokens that visit much of the vocabulary.
pub fn tokens(count: usize, vocabulary: usize) -> Vec<u32> {
    (0..count)
        .map(|index| ((index * 97 + 13) % vocabulary) as u32)
        .collect()
}

/// The distance of `found` from `expected` in units of the latter's length.
pub fn relative_l2(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let difference: f64 = found
        .iter()
        .zip(expected)
        .map(|(&f, e)| (f64::from(f) - e).powi(2))
        .sum();
    let length: f64 = expected.iter().map(|e| e.powi(2)).sum();
    // A distance that is not a number must not pass for a small one.
    let distance = (difference / length).sqrt();
    if distance.is_nan() {
        f64::INFINITY
    } else {
        distance
    }
}

pub fn to_f64(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// The index of the largest value, and by how much it is larger than the next.
pub fn best_and_margin(values: &[f64]) -> (usize, f64) {
    let best = (0..values.len())
        .max_by(|&a, &b| values[a].total_cmp(&values[b]))
        .unwrap();
    let others = (0..values.len()).filter(|&i| i != best).map(|i| values[i]);
    (
        best,
        values[best] - others.fold(f64::NEG_INFINITY, f64::max),
    )
}

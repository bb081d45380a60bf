//! The formats of weights against their reference, and what random weights are.

use metal_bridge::ops::WeightType;
use metal_bridge_llama::gguf::{Gguf, TensorType};
use metal_bridge_workloads::formats;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

/// `data/decoded.py` made the file with the package that defines GGUF.
#[test]
fn formats_decode_as_the_reference_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/decoded.gguf");
    let file = Gguf::open(path).unwrap();
    let quantized = WeightType::ALL
        .into_iter()
        .filter(|kind| kind.block_elements() > 1);
    for kind in quantized {
        let name = TensorType::of(kind).name();
        let bytes = |name: &str| file.tensor_bytes(file.tensor(name).unwrap()).unwrap();
        let expected = formats::decode(WeightType::F32, &bytes(&format!("{name}.decoded")));
        let found = formats::decode(kind, &bytes(name));
        assert_eq!(found.len(), 512);
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let rounded = f64::from(*found as f32);
            assert!(
                rounded == *expected,
                "{name}: element {index} is {found} where the reference has {expected}"
            );
        }
    }
}

#[test]
fn random_weights_have_the_size_that_is_asked_for() {
    let mut random = Pcg64Mcg::seed_from_u64(5);
    for kind in WeightType::ALL {
        for size in [0.01, 1.0, 300.0] {
            let count = 1 << 16;
            let bytes = formats::random(kind, count, size, &mut random);
            let weights = formats::decode(kind, &bytes);
            assert_eq!(weights.len(), count);
            let mean = weights.iter().sum::<f64>() / count as f64;
            let squares: f64 = weights.iter().map(|w| w * w).sum();
            let found = (squares / count as f64).sqrt() / f64::from(size);
            println!("{kind:?} {size}: {found}, mean {}", mean / f64::from(size));
            // Scales of MXFP4 are powers of two.
            let bounds = if kind == WeightType::MXFP4 {
                0.7..1.45
            } else {
                0.95..1.06
            };
            assert!(bounds.contains(&found), "{kind:?}, {size}: {found}");
            assert!(
                mean.abs() < 0.15 * f64::from(size),
                "{kind:?}, {size}: mean {mean}"
            );
        }
    }
}

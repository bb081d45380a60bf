//! The calls of [`MetalOps`] that compute at once give what the encoded ones do.

use metal_bridge::ops::{Attention, Convolution, Interpolation, Norm, Pooling, Tensor, Windows};
use metal_bridge::{ComputeEncoder, MetalBackend, MetalOps, Result};

use super::places::{Memory, Place};
use super::values::{read, room};
use crate::support::{device, ops, rng, run, uniform};

fn of<'a>(memory: &'a Memory, shape: &[usize]) -> Tensor<'a> {
    memory.of::<f32>(shape)
}

#[test]
fn layers_give_what_the_encoded_ones_do() {
    let metal = MetalOps::new(MetalBackend::with_device(device()).expect("a backend"));
    // Compared bit by bit with the kernels.
    metal.set_choice(metal_bridge::Choice::Kernels);
    for place in Place::ALL {
        agree(&metal, place);
    }
}

fn agree(metal: &MetalOps, place: Place) {
    let values = place.holding(metal, &uniform(&mut rng(600), 64));
    let x = of(&values, &[1, 2, 4, 4]);
    let (w, two_channels) = (of(&values, &[2, 2, 3, 3]), of(&values, &[2]));
    let scaled = |scale| Norm {
        weight: Some(scale),
        bias: Some(scale),
        epsilon: 2.0,
    };
    let (norm, channels) = (scaled(of(&values, &[4])), scaled(two_channels));
    let plain = Convolution::<2>::default();
    let (two, attention) = (Windows::of([2, 2]), Attention::default());
    type Encode<'a> = &'a dyn Fn(&mut ComputeEncoder<'_>, Tensor<'_>) -> Result<()>;
    let agrees =
        |shape: &[usize], at_once: &dyn Fn(Tensor<'_>) -> Result<()>, encode: Encode<'_>| {
            let untouched = f32::from_le_bytes([0xA5; 4]);
            let (found, expected) = (place.holding(metal, &[untouched; 72]), room::<f32>(72));
            at_once(of(&found, shape)).expect("computes");
            let expected_tensor = Tensor::of::<f32>(&expected, shape).unwrap();
            run(|encoder| encode(encoder, expected_tensor));
            assert_eq!(found.read::<f32>(), read::<f32>(&expected));
            assert_ne!(found.read::<f32>()[0], untouched);
        };
    let same = [1, 2, 4, 4];
    agrees(
        &same,
        &|y| metal.layer_norm(x, &[3], &norm, y),
        &|encoder, y| ops().layer_norm(encoder, x, &[3], &norm, y),
    );
    agrees(
        &same,
        &|y| metal.rms_norm_along(x, &[3], &norm, y),
        &|encoder, y| ops().rms_norm_along(encoder, x, &[3], &norm, y),
    );
    agrees(
        &same,
        &|y| metal.group_norm(x, 1, &channels, y),
        &|encoder, y| ops().group_norm(encoder, x, 1, &channels, y),
    );
    agrees(
        &same,
        &|y| metal.batch_norm(x, two_channels, two_channels, &channels, y),
        &|encoder, y| ops().batch_norm(encoder, x, two_channels, two_channels, &channels, y),
    );
    agrees(
        &same,
        &|y| metal.batch_norm_training(x, None, &channels, y),
        &|encoder, y| ops().batch_norm_training(encoder, x, None, &channels, y),
    );
    agrees(
        &[1, 2, 2, 2],
        &|y| metal.convolution(x, w, None, &plain, y),
        &|encoder, y| ops().convolution(encoder, x, w, None, &plain, y),
    );
    let grown = [1, 2, 6, 6];
    agrees(
        &grown,
        &|y| metal.transposed_convolution(x, w, None, &plain, y),
        &|encoder, y| ops().transposed_convolution(encoder, x, w, None, &plain, y),
    );
    agrees(
        &[1, 2, 2, 2],
        &|y| metal.pool(Pooling::Max, x, &two, y),
        &|encoder, y| ops().pool(encoder, Pooling::Max, x, &two, y),
    );
    agrees(
        &[1, 2, 3, 1],
        &|y| metal.adaptive_pool(Pooling::Max, x, y),
        &|encoder, y| ops().adaptive_pool(encoder, Pooling::Max, x, y),
    );
    agrees(
        &grown,
        &|y| metal.resample(Interpolation::Linear, x, y),
        &|encoder, y| ops().resample(encoder, Interpolation::Linear, x, y),
    );
    agrees(
        &same,
        &|y| metal.scaled_dot_product_attention(x, x, x, &attention, y),
        &|encoder, y| ops().scaled_dot_product_attention(encoder, x, x, x, &attention, y),
    );
}

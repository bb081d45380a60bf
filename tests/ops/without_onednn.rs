//! Products and convolutions where the library is missing with which the software Metal computes Metal Performance Shaders.

use std::path::Path;

use metal_bridge::ops::Convolution;
use metal_bridge::{Choice, Error};
use metal_bridge_test_support::in_child_with;

use crate::choice::{choices, convolve_much, multiply, tensor};
use crate::support::{buffer, metal};

const NO_LIBRARY: (&str, &str) = ("SOFTWARE_METAL_DNNL", "/nowhere/libdnnl.so");

/// A measurement that fails is not kept: the kernels compute, and nobody is told.
#[test]
fn kernels_compute_where_a_measurement_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_string_lossy().into_owned();
    let variables = [
        NO_LIBRARY,
        ("METAL_BRIDGE_CACHE", &*path),
        ("METAL_BRIDGE_CHOICE", ""),
    ];
    let test = "without_onednn::kernels_compute_where_a_measurement_fails";
    in_child_with(test, &variables, || {
        let folder = std::env::var("METAL_BRIDGE_CACHE").unwrap();
        let ops = metal();
        ops.enable_metrics(true);
        assert_eq!(ops.choice(), Choice::Measured);
        for _ in 0..2 {
            multiply(&ops, 128);
            convolve_much(&ops);
        }
        let metrics = ops.metrics();
        assert_eq!(metrics.operations().len(), 2, "{metrics}");
        for operation in metrics.operations() {
            assert_eq!((operation.variant, operation.calls), (None, 2));
        }
        assert_eq!(choices(Path::new(&folder)), "");
    });
}

#[test]
fn the_error_of_mps_names_the_package() {
    let test = "without_onednn::the_error_of_mps_names_the_package";
    in_child_with(test, &[NO_LIBRARY], || {
        let ops = metal();
        ops.set_choice(Choice::Mps);
        let [a, b, y] = [1.0f32, 2.0, 0.0].map(|value| buffer(&[value; 64]));
        let (images, weight) = (tensor(&a, &[1, 2, 4, 4]), tensor(&b, &[1, 2, 2, 2]));
        let plain = Convolution::<2>::default();
        let of_y = tensor(&y, &[1, 1, 3, 3]);
        for done in [
            ops.matmul(&a, &b, &y, 8, 8, 8),
            ops.convolution(images, weight, None, &plain, of_y),
        ] {
            let error: Error = done.expect_err("the library is missing");
            let text = error.to_string();
            assert!(
                text.contains("apt-get install libdnnl") && text.contains(NO_LIBRARY.1),
                "{text}"
            );
        }
        assert_eq!(*y.wait_read::<f32>().expect("readable"), [0.0; 64]);
        // All else is computed.
        ops.set_choice(Choice::Kernels);
        multiply(&ops, 8);
    });
}

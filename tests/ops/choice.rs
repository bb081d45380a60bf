//! Who computes products and convolutions: as set, as the environment says, or as measured, and what is kept of that.

use std::fs;
use std::path::Path;

use approx::relative_eq;
use half::f16;
use metal_bridge::ops::{Binary, Convolution, Element, Matmul, Tensor, Unary};
use metal_bridge::{Buffer, Choice, Device, Error, MetalOps, ObjectKind};
use metal_bridge_test_support::{count_objects, in_child, in_child_with};

use crate::steady::assert_steady;
use crate::support::{buffer, device, metal};

pub fn tensor<'a>(buffer: &'a Buffer, shape: &[usize]) -> Tensor<'a> {
    Tensor::of::<f32>(buffer, shape).expect("a tensor")
}

/// Kernels of Metal Performance Shaders that `work` makes. No other test may run in the process.
fn made(work: impl FnOnce()) -> u64 {
    let made = || Device::live_objects().made(ObjectKind::MpsKernel);
    let before = made();
    work();
    made() - before
}

/// `size` x `size` ones by twos.
pub fn multiply(ops: &MetalOps, size: usize) {
    let [a, b, y] = [1.0f32, 2.0, f32::NAN].map(|value| buffer(&vec![value; size * size]));
    ops.matmul(&a, &b, &y, size, size, size)
        .expect("multiplies");
    let y = y.wait_read::<f32>().expect("readable");
    assert!(y.iter().all(|value| *value == 2.0 * size as f32));
}

/// `size` x `size` ones by twos, whose columns lie side by side.
fn multiply_with<T: Element + PartialEq>(
    ops: &MetalOps,
    size: usize,
    [one, two, exact]: [T; 3],
    is_transposed: bool,
) {
    let [a, b, y] = [one, two, one].map(|value| buffer(&vec![value; size * size]));
    let [a_tensor, mut b_tensor, y_tensor] =
        [&a, &b, &y].map(|buffer| Tensor::of::<T>(buffer, &[size, size]).expect("a tensor"));
    if is_transposed {
        b_tensor = b_tensor.permute(&[1, 0]).expect("two dimensions");
    }
    let done = ops.matmul_with(Matmul::default(), a_tensor, b_tensor, y_tensor);
    done.expect("multiplies");
    assert!(
        y.wait_read::<T>()
            .expect("readable")
            .iter()
            .all(|value| *value == exact)
    );
}

/// A convolution of ones with a bias, of more operations than are left to the kernels unmeasured.
pub fn convolve_much(ops: &MetalOps) {
    let [x, w, bias, y] =
        [16 * 18 * 18, 32 * 16 * 9, 32, 32 * 16 * 16].map(|count| buffer(&vec![1.0f32; count]));
    let (images, weight) = (tensor(&x, &[1, 16, 18, 18]), tensor(&w, &[32, 16, 3, 3]));
    let bias = Some(tensor(&bias, &[32]));
    let of_y = tensor(&y, &[1, 32, 16, 16]);
    let done = ops.convolution(images, weight, bias, &Convolution::<2>::default(), of_y);
    done.expect("convolves");
    assert!(
        y.wait_read::<f32>()
            .expect("readable")
            .iter()
            .all(|value| *value == 145.0)
    );
}

fn convolve(ops: &MetalOps) {
    let (x, w, y) = (
        buffer(&[1.0f32; 32]),
        buffer(&[1.0f32; 8]),
        buffer(&[0.0f32; 9]),
    );
    let (x, w) = (tensor(&x, &[1, 2, 4, 4]), tensor(&w, &[1, 2, 2, 2]));
    let of_y = tensor(&y, &[1, 1, 3, 3]);
    let done = ops.convolution(x, w, None, &Convolution::<2>::default(), of_y);
    done.expect("convolves");
    assert_eq!(*y.wait_read::<f32>().expect("readable"), [8.0; 9]);
}

#[test]
fn a_choice_is_followed() {
    in_child("choice::a_choice_is_followed", || {
        let ops = metal();
        ops.set_choice(Choice::Kernels);
        assert_eq!(
            (ops.choice(), ops.clone().choice()),
            (Choice::Kernels, Choice::Kernels)
        );
        assert_eq!(made(|| multiply(&ops, 128)), 0);
        assert_eq!(made(|| convolve(&ops)), 0);
        ops.set_choice(Choice::Mps);
        // The second time the kernel is there.
        assert_eq!(
            [made(|| multiply(&ops, 8)), made(|| multiply(&ops, 8))],
            [1, 0]
        );
        assert_eq!([made(|| convolve(&ops)), made(|| convolve(&ops))], [1, 0]);
        // What they cannot compute, the kernels do.
        let (a, b) = (buffer(&[1.0f32, -2.0]), buffer(&[3.0f32]));
        let y = buffer(&[0.0f32; 2]);
        let options = Matmul {
            activation: Some(Unary::Relu),
            ..Matmul::default()
        };
        let none = made(|| {
            let done = ops.matmul_with(
                options,
                tensor(&a, &[2, 1]),
                tensor(&b, &[1, 1]),
                tensor(&y, &[2, 1]),
            );
            done.expect("multiplies");
        });
        assert_eq!(
            (none, &*y.wait_read::<f32>().unwrap()),
            (0, &[3.0f32, 0.0][..])
        );
    });
}

#[test]
fn errors_are_those_of_the_kernels() {
    let ops = metal();
    let (a, b) = (buffer(&[1.0f32; 16]), buffer(&[1.0f32; 16]));
    let square = |of| tensor(of, &[4, 4]);
    let messages = [Choice::Kernels, Choice::Mps].map(|choice| {
        ops.set_choice(choice);
        let wrong = [
            ops.matmul_with(Matmul::default(), square(&a), square(&b), square(&a)),
            ops.matmul_with(
                Matmul::default(),
                square(&a),
                tensor(&b, &[2, 4]),
                square(&a),
            ),
            ops.matmul_with(
                Matmul::default(),
                square(&a),
                square(&b),
                tensor(&a, &[2, 8]),
            ),
            ops.matmul(&a, &b, &a, 4, 8, 4),
        ];
        wrong.map(|error: Result<(), Error>| error.expect_err("wrong").to_string())
    });
    assert_eq!(messages[0], messages[1]);
    assert_eq!(*a.wait_read::<f32>().unwrap(), [1.0; 16]);
}

#[test]
fn products_of_a_batch_keep_their_position() {
    let ops = metal();
    ops.set_choice(Choice::Mps);
    let [a, b, y] = [1.0f32, 2.0, 0.0].map(|value| buffer(&[value; 64]));
    let square = |of| tensor(of, &[8, 8]);
    let mut batch = ops.batch();
    for _ in 0..3 {
        batch
            .binary(Binary::Add, square(&a), square(&b), square(&a))
            .unwrap();
        batch
            .matmul(Matmul::default(), square(&a), square(&b), square(&y))
            .unwrap();
        batch.unary(Unary::Sqrt, square(&y), square(&b)).unwrap();
    }
    batch.commit().unwrap().wait().unwrap();
    let (mut left, mut right, mut product) = (1.0f32, 2.0f32, 0.0);
    for _ in 0..3 {
        left += right;
        product = 8.0 * left * right;
        right = product.sqrt();
    }
    for value in y.wait_read::<f32>().unwrap().iter() {
        assert!(
            relative_eq!(*value, product, max_relative = 1e-5),
            "{value} for {product}"
        );
    }
}

#[test]
fn metrics_count_what_mps_compute() {
    let ops = metal();
    let spans = [Choice::Kernels, Choice::Mps].map(|choice| {
        ops.set_choice(choice);
        ops.reset_metrics();
        ops.enable_metrics(true);
        multiply(&ops, 16);
        convolve(&ops);
        let metrics = ops.metrics();
        let mut rows: Vec<_> = metrics
            .operations()
            .iter()
            .map(|row| {
                (
                    row.operation,
                    row.data_type,
                    row.calls,
                    row.flops,
                    row.bytes,
                )
            })
            .collect();
        rows.sort_unstable();
        rows
    });
    assert_eq!(spans[0].len(), 2);
    assert_eq!(spans[0], spans[1]);
}

pub fn choices(folder: &Path) -> String {
    fs::read_to_string(folder.join("choices.json")).unwrap_or_default()
}

#[test]
fn measurements_are_kept_in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("below").to_string_lossy().into_owned();
    let variables = [("METAL_BRIDGE_CACHE", &*path), ("METAL_BRIDGE_CHOICE", "")];
    in_child_with(
        "choice::measurements_are_kept_in_a_file",
        &variables,
        || {
            let folder = std::env::var("METAL_BRIDGE_CACHE").unwrap();
            let folder = Path::new(&folder);
            assert_eq!(metal().choice(), Choice::Measured);
            // Too few operations to be worth a measurement.
            multiply(&metal(), 64);
            assert_eq!(choices(folder), "");
            let ops = metal();
            assert!(made(|| multiply(&ops, 128)) > 0, "nothing was measured");
            let kept = choices(folder);
            let class = "\"matmul f32 nn [0, 7, 7, 7]\": \"";
            assert!(kept.contains(class), "{kept}");
            assert!(
                kept.contains(device().name()) && kept.contains(env!("CARGO_PKG_VERSION")),
                "{kept}"
            );
            multiply_with(&ops, 128, [1.0f32, 2.0, 256.0], true);
            multiply_with(&ops, 128, [1.0, 2.0, 256.0].map(f16::from_f32), false);
            convolve_much(&ops);
            let kept = choices(folder);
            for class in [
                "matmul f32 nt [0, 7, 7, 7]",
                "matmul f16 nn [0, 7, 7, 7]",
                "convolution f32 Nchw Oihw [0, 4, 5, 0] [5, 5] by [3, 3] stride [1, 1] dilation [1, 1]",
            ] {
                assert!(
                    kept.contains(&format!("\"{class}\": \"")),
                    "{class}: {kept}"
                );
            }
            // Sizes up to the next power of two are of the same class.
            assert!(made(|| multiply(&ops, 101)) <= 1);
            assert_eq!(choices(folder), kept);
            // A later process does what the file says, and measures what the file does not know.
            for (who, kernels) in [("kernels", 0), ("mps", 1)] {
                let (before, after) = kept.split_once(class).unwrap();
                let (_, after) = after.split_once('"').unwrap();
                let changed = format!("{before}{class}{who}\"{after}");
                fs::write(folder.join("choices.json"), &changed).unwrap();
                assert_eq!(made(|| multiply(&metal(), 128)), kernels, "{who}");
                assert_eq!(choices(folder), changed);
            }
            fs::write(folder.join("choices.json"), "{\"not\": a choice").unwrap();
            multiply(&metal(), 128);
            assert!(choices(folder).contains(class));
        },
    );
}

#[test]
fn the_environment_sets_the_choice() {
    let test = "choice::the_environment_sets_the_choice";
    in_child_with(test, &[("METAL_BRIDGE_CHOICE", "mps")], || {
        assert_eq!(metal().choice(), Choice::Mps);
        assert_eq!(made(|| multiply(&metal(), 4)), 1);
    });
}

#[test]
fn a_steady_loop_of_mps_makes_nothing() {
    in_child("choice::a_steady_loop_of_mps_makes_nothing", || {
        count_objects();
        let ops = metal();
        ops.set_choice(Choice::Mps);
        let [a, b, y] = [1.0f32, 2.0, 0.0].map(|value| buffer(&[value; 64]));
        let (images, weight, bias) = (
            tensor(&a, &[1, 2, 4, 4]),
            tensor(&b, &[1, 2, 2, 2]),
            tensor(&a, &[1]),
        );
        let of_y = tensor(&y, &[1, 1, 3, 3]);
        assert_steady(|| {
            ops.matmul(&a, &b, &y, 8, 8, 8)?;
            let plain = Convolution::<2>::default();
            ops.convolution(images, weight, Some(bias), &plain, of_y)
        });
    });
}

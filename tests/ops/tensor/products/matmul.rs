//! Products of matrices of floats against float64, with the bound that the call documents.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{Matmul, Tensor, Unary};
use rand::Rng;
use rand::rngs::SmallRng;

use super::{ACTIVATIONS, Case, Operand, small};
use crate::chosen::everyone;
use crate::support::{buffer, refused, rng, run};
use crate::tensor::rows::both;
use crate::tensor::values::{Sample, read, room};

/// Shapes that fill no tile, more than one tile, several steps of k, batches, in every layout and with every option.
fn random_products<T: Sample, Y: Sample>(seed: u64, rounds: usize) {
    let mut rng = rng(seed);
    for round in 0..rounds {
        let size = |rng: &mut SmallRng| match rng.random_range(0..5) {
            0 => rng.random_range(1..3),
            1 => rng.random_range(30..36),
            2 => rng.random_range(62..67),
            _ => rng.random_range(1..20),
        };
        let [m, n] = [(); 2].map(|()| size(&mut rng));
        let k = if round % 5 == 0 {
            150 + size(&mut rng) * 2
        } else {
            size(&mut rng)
        };
        let batches: Vec<usize> = (0..rng.random_range(0..3))
            .map(|_| rng.random_range(1..4))
            .collect();
        let operand = |rng: &mut SmallRng, matrix: [usize; 2]| {
            let skipped = rng.random_range(0..=batches.len());
            let own = batches[skipped..]
                .iter()
                .map(|size| if rng.random_bool(0.3) { 1 } else { *size });
            let shape: Vec<usize> = own.chain(matrix).collect();
            Operand::<T>::new(rng, &shape, small)
        };
        let (a, b) = (operand(&mut rng, [m, k]), operand(&mut rng, [k, n]));
        let shape = [&batches[..], &[m, n]].concat();
        let y = Operand::<Y>::new(&mut rng, &shape, |_| Y::nearest(f64::NAN));
        let c = rng.random_bool(0.4).then(|| {
            let shape = if rng.random_bool(0.5) {
                &shape[..]
            } else {
                &shape[shape.len() - 1..]
            };
            Operand::new(&mut rng, shape, small)
        });
        let columns = if rng.random_bool(0.8) { n } else { 1 };
        let bias = rng
            .random_bool(0.4)
            .then(|| Operand::new(&mut rng, &[columns], small));
        let case = Case {
            a,
            b,
            c,
            bias,
            y,
            alpha: [1.0, -0.75, 3.0][rng.random_range(0..3)],
            beta: [1.0, 0.5, 0.0][rng.random_range(0..3)],
            // Metal Performance Shaders have none.
            activation: match round % 2 {
                0 => None,
                _ => ACTIVATIONS[round / 2 % ACTIVATIONS.len()],
            },
        };
        case.run(everyone()[round % 3]);
        case.check(&format!(
            "round {round} of {} to {}",
            T::DATA_TYPE.name(),
            Y::DATA_TYPE.name()
        ));
    }
}

#[test]
fn random_products_agree_with_float64() {
    random_products::<f32, f32>(300, 60);
    random_products::<f16, f16>(301, 22);
    random_products::<f16, f32>(302, 22);
    random_products::<bf16, bf16>(303, 22);
    random_products::<bf16, f32>(304, 22);
}

/// Sizes around those of tiles, blocks, panels and steps, for each order of both matrices.
#[test]
fn sizes_around_those_of_tiles_agree_with_float64() {
    let mut rng = rng(310);
    for (m, n, k) in [
        (128, 128, 192),
        (129, 31, 193),
        (8, 129, 384),
        (7, 33, 400),
        (65, 64, 16),
        (1, 257, 33),
        (257, 1, 97),
        (4, 300, 530),
        (150, 3, 530),
    ] {
        for (round, ops) in [0, 1, 2, 3]
            .into_iter()
            .flat_map(|round| everyone().map(|ops| (round, ops)))
        {
            let strides =
                |is_turned: bool, rows, columns| if is_turned { [1, rows] } else { [columns, 1] };
            let case = Case::<f32, f32> {
                a: Operand::strided(&mut rng, &[m, k], &strides(round & 1 != 0, m, k), small),
                b: Operand::strided(&mut rng, &[k, n], &strides(round & 2 != 0, k, n), small),
                c: None,
                bias: None,
                y: Operand::strided(&mut rng, &[m, n], &strides(false, m, n), |_| f32::NAN),
                alpha: 1.0,
                beta: 1.0,
                activation: None,
            };
            case.run(ops);
            case.check(&format!("layout {round}"));
        }
    }
}

#[test]
fn results_may_be_added_in_place() {
    let mut rng = rng(311);
    for by in everyone() {
        let mut case = Case::<f32, f32> {
            a: Operand::new(&mut rng, &[2, 37, 50], small),
            b: Operand::new(&mut rng, &[50, 41], small),
            c: None,
            bias: None,
            y: Operand::new(&mut rng, &[2, 37, 41], small),
            alpha: 0.5,
            beta: -2.0,
            activation: None,
        };
        let options = Matmul {
            c: Some(case.y.tensor()),
            ..case.options()
        };
        case.run_with(options, by);
        let values = case.y.values.clone();
        case.c = Some(Operand::strided(
            &mut rng,
            &[2, 37, 41],
            &[37 * 41, 41, 1],
            small,
        ));
        case.c.as_mut().unwrap().values = values;
        case.check("in place");
    }
}

#[test]
fn factors_of_zero_read_nothing() {
    let (x_buffer, nan_buffer) = (buffer(&[1.0f32; 12]), buffer(&[f32::NAN; 12]));
    let y_buffer = room::<f32>(9);
    let ones = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let nan = |shape: &[usize]| Tensor::of::<f32>(&nan_buffer, shape).unwrap();
    let y = Tensor::of::<f32>(&y_buffer, &[3, 3]).unwrap();
    let none = Matmul::default();
    for ops in both() {
        let product = |options, a: Tensor<'_>, b: Tensor<'_>, y: Tensor<'_>| {
            run(|encoder| ops.matmul(encoder, options, a, b, y));
            read::<f32>(&y_buffer)
        };
        let c = Matmul {
            beta: 0.0,
            c: Some(nan(&[3, 3])),
            ..none
        };
        assert_eq!(product(c, ones(&[3, 4]), ones(&[4, 3]), y), [4.0; 9]);
        // Without elements of k, or with alpha 0, the rest is left.
        let bias = Matmul {
            bias: Some(ones(&[3])),
            ..none
        };
        assert_eq!(product(bias, nan(&[3, 0]), nan(&[0, 3]), y), [1.0; 9]);
        let both = Matmul {
            alpha: 0.0,
            c: Some(y),
            beta: 2.0,
            ..bias
        };
        assert_eq!(product(both, nan(&[3, 4]), nan(&[4, 3]), y), [3.0; 9]);
        product(none, nan(&[0, 4]), nan(&[4, 3]), nan(&[0, 3]));
        product(none, nan(&[3, 4]), nan(&[4, 0]), nan(&[3, 0]));
    }
}

#[test]
fn what_is_not_finite_stays_in_its_row() {
    for m in [3, 9] {
        let mut x = vec![1.0f32; m * 4];
        (x[4], x[8]) = (f32::NAN, f32::INFINITY);
        let (x_buffer, y_buffer) = (buffer(&x), room::<f32>(m * 5));
        let x = Tensor::of::<f32>(&x_buffer, &[m, 4]).unwrap();
        let ones = x.narrow(0, 0, 1).unwrap().narrow(1, 0, 1).unwrap();
        let ones = ones.broadcast_to(&[4, 5]).unwrap();
        let y = Tensor::of::<f32>(&y_buffer, &[m, 5]).unwrap();
        for ops in both() {
            run(|encoder| ops.matmul(encoder, Matmul::default(), x, ones, y));
            let found = read::<f32>(&y_buffer);
            assert!(found[5..10].iter().all(|y| y.is_nan()), "{found:?}");
            assert_eq!(found[10..15], [f32::INFINITY; 5]);
            let others = found[..5].iter().chain(&found[15..]);
            assert!(others.into_iter().all(|y| *y == 4.0), "{found:?}");
        }
    }
}

#[test]
fn bad_products_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 32]), buffer(&[0.0f32; 32]));
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let none = Matmul::default();
    let says =
        |options: Matmul<'_>, a: Tensor<'_>, b: Tensor<'_>, y: Tensor<'_>, text: &str| -> Error {
            let error = refused(|encoder| crate::support::ops().matmul(encoder, options, a, b, y));
            assert!(error.to_string().contains(text), "{error}");
            error
        };
    says(
        none,
        x(&[4]),
        x(&[4, 2]),
        y(&[4, 2]),
        "a of shape [4] is not a matrix",
    );
    says(
        none,
        x(&[2, 4]),
        x(&[3, 2]),
        y(&[2, 2]),
        "a has 4 columns, but b has 3 rows",
    );
    says(
        none,
        x(&[2, 4]),
        x(&[4, 3]),
        y(&[3, 2]),
        "y has matrices of [3, 2], but the product has [2, 3]",
    );
    says(
        none,
        x(&[3, 2, 1]),
        x(&[1, 2]),
        y(&[2, 2]),
        "a of shape [3, 2, 1] does not broadcast to [2, 1]",
    );
    says(none, x(&[2, 4]), x(&[4, 2]), x(&[2, 2]), "a and y overlap");
    let c = Matmul {
        c: Some(y(&[2, 1])),
        ..none
    };
    says(c, x(&[2, 4]), x(&[4, 2]), y(&[2, 2]), "c and y overlap");
    let turned = Matmul {
        c: Some(y(&[2, 2]).permute(&[1, 0]).unwrap()),
        ..none
    };
    says(
        turned,
        x(&[2, 4]),
        x(&[4, 2]),
        y(&[2, 2]),
        "c and y overlap",
    );
    let bias = Matmul {
        bias: Some(x(&[3])),
        ..none
    };
    says(
        bias,
        x(&[2, 4]),
        x(&[4, 2]),
        y(&[2, 2]),
        "bias of shape [3] does not broadcast to [2]",
    );
    says(
        none,
        x(&[2, 17]),
        x(&[17, 2]),
        y(&[2, 2]),
        "a takes 136 bytes",
    );
    let shared = y(&[1, 2]).broadcast_to(&[3, 2]).unwrap();
    says(
        none,
        x(&[3, 1]),
        x(&[1, 2]),
        shared,
        "several positions may share an element",
    );
    let options = Matmul {
        alpha: f32::NAN,
        ..none
    };
    says(
        options,
        x(&[2, 2]),
        x(&[2, 2]),
        y(&[2, 2]),
        "alpha is NaN: it must be finite",
    );
    let half = Tensor::of::<f16>(&x_buffer, &[2, 2]).unwrap();
    let error = says(
        none,
        x(&[2, 2]),
        half,
        y(&[2, 2]),
        "a of type f32 cannot be multiplied by b of type f16",
    );
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    says(
        none,
        half,
        half,
        Tensor::of::<bf16>(&y_buffer, &[2, 2]).unwrap(),
        "cannot be written to y of type bf16",
    );
    let options = Matmul {
        activation: Some(Unary::Exp),
        ..none
    };
    says(
        options,
        x(&[2, 2]),
        x(&[2, 2]),
        y(&[2, 2]),
        "Exp cannot be a product's activation",
    );
    let options = Matmul {
        scale_a: Some(x(&[2])),
        ..none
    };
    says(
        options,
        x(&[2, 2]),
        x(&[2, 2]),
        y(&[2, 2]),
        "scale_a is for products of integers, but a has elements of type f32",
    );
    let huge = x(&[1, 1]).broadcast_to(&[1 << 31, 1]).unwrap();
    says(
        none,
        huge,
        x(&[1, 2]),
        y(&[2, 2]),
        "y has matrices of [2, 2]",
    );
    assert_eq!(read::<f32>(&y_buffer), [0.0; 32]);
}

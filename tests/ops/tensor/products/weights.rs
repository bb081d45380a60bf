//! Products of tensors with weights: in every form, what the engine's call on plain views gives.

use metal_bridge::ops::{DataType, Matmul, Tensor, Unary, View, Weight, WeightType};
use metal_bridge::{Error, Result};

use crate::support::{
    Guarded, THOROUGH, assert_close, buffer, matrix, metal, ops, refused, rng, run, uniform,
};
use crate::tensor::values::read;

const K: usize = 64;
const N: usize = 9;

/// A product through each form; `y` is full of `before` when each begins.
fn all_forms(weight: &Weight, shape: &[usize], x: &[f32], add: bool) -> Result<[Vec<f32>; 4]> {
    let metal = metal();
    let backend = metal.backend();
    let y_shape = [&shape[..shape.len() - 1], &[N]].concat();
    let count = y_shape.iter().product();
    let x_buffer = buffer(&[&[f32::NAN][..], x].concat());
    // Behind an element that is not its own.
    let x_tensor = Tensor::of::<f32>(View::new(&x_buffer, 4), shape)?;
    let before = vec![0.5f32; count];
    let guarded = [(); 3].map(|()| Guarded::holding(&before));
    let y = |index: usize| Tensor::of::<f32>(guarded[index].view(), &y_shape).unwrap();
    let mut batch = metal.batch();
    if add {
        run(|encoder| ops().matmul_weights_add(encoder, weight, x_tensor, y(0)));
        batch.matmul_weights_add(weight, x_tensor, y(1))?;
        metal.matmul_weights_add(weight, x_tensor, y(2))?;
    } else {
        run(|encoder| ops().matmul_weights(encoder, weight, x_tensor, y(0)));
        batch.matmul_weights(weight, x_tensor, y(1))?;
        metal.matmul_weights(weight, x_tensor, y(2))?;
    }
    batch.commit()?.wait()?;

    // One element more: an allocation has at least a byte.
    let bytes = 4 * (x.len() + count + 1);
    let memory = backend.allocate(bytes)?;
    let address: *mut f32 = memory.address.as_ptr().cast();
    // SAFETY: the memory was allocated for as many elements, and nothing is computed while this lives.
    let all = unsafe { std::slice::from_raw_parts_mut(address, x.len() + count) };
    all[..x.len()].copy_from_slice(x);
    all[x.len()..].copy_from_slice(&before);
    let x_there = backend.tensor_at(address.cast_const(), shape)?;
    let y_there = backend.tensor_at(address.wrapping_add(x.len()).cast_const(), &y_shape)?;
    match add {
        true => metal.matmul_weights_add(weight, &x_there, &y_there)?,
        false => metal.matmul_weights(weight, &x_there, &y_there)?,
    }
    // SAFETY: as above; the call has returned.
    let there = unsafe { std::slice::from_raw_parts(address, x.len() + count) }[x.len()..].to_vec();
    backend.deallocate(memory.address.as_ptr(), bytes)?;
    let [a, b, c] = guarded.map(|y| y.read::<f32>());
    Ok([a, b, c, there])
}

#[test]
fn weights_multiply_tensors_in_every_form() -> Result<()> {
    let mut rng = rng(31);
    for kind in THOROUGH {
        let weight = matrix(&mut rng, kind, N, K, 0.1, 0).weight;
        for shape in [vec![K], vec![3, K], vec![2, 1, 5, K], vec![0, K]] {
            let m = shape[..shape.len() - 1].iter().product();
            let x = uniform(&mut rng, m * K);
            for add in [false, true] {
                let (x_buffer, y) = (
                    buffer(&[&x[..], &[0.0]].concat()),
                    Guarded::holding(&vec![0.5; m * N]),
                );
                run(|encoder| match add {
                    true => ops().linear_add(encoder, &weight, &x_buffer, y.view(), m),
                    false => ops().linear(encoder, &weight, &x_buffer, y.view(), m),
                });
                let exact = y.read::<f32>();
                for (form, got) in all_forms(&weight, &shape, &x, add)?.iter().enumerate() {
                    assert_eq!(*got, exact, "{kind:?} {shape:?} add {add}, form {form}");
                }
            }
        }
    }
    Ok(())
}

/// Decoded weights are a tensor as any other: here `relu(2 W^T x + 3 c + bias)`, with W transposed.
#[test]
fn decoded_weights_are_factors_of_general_products() {
    let mut rng = rng(34);
    let (ids, rows) = ((0..N as u32).collect::<Vec<_>>(), 5);
    for kind in THOROUGH {
        let matrix = matrix(&mut rng, kind, N, K, 0.1, 0);
        let [x, c, bias] = [N * rows, K * rows, rows].map(|count| uniform(&mut rng, count));
        let (decoded, y) = (
            Guarded::holding(&[0.0; N * K]),
            Guarded::holding(&[0.0; K * 5]),
        );
        let [x_buffer, c_buffer, bias_buffer] = [&x, &c, &bias].map(|values| buffer(values));
        let ids = buffer(&ids);
        run(|encoder| {
            ops().embed(encoder, &matrix.weight, &ids, decoded.view(), N)?;
            let options = Matmul {
                alpha: 2.0,
                beta: 3.0,
                c: Some(Tensor::of::<f32>(&c_buffer, &[K, rows])?),
                bias: Some(Tensor::of::<f32>(&bias_buffer, &[rows])?),
                activation: Some(Unary::Relu),
                ..Matmul::default()
            };
            let w = Tensor::of::<f32>(decoded.view(), &[N, K])?.permute(&[1, 0])?;
            let x = Tensor::of::<f32>(&x_buffer, &[N, rows])?;
            ops().matmul(
                encoder,
                options,
                w,
                x,
                Tensor::of::<f32>(y.view(), &[K, rows])?,
            )
        });
        let exact = (0..K * rows).map(|i| {
            let (row, column) = (i / rows, i % rows);
            let products =
                (0..N).map(|k| 2.0 * matrix.exact[k * K + row] * f64::from(x[k * rows + column]));
            let start = 3.0 * f64::from(c[i]) + f64::from(bias[column]);
            let (sum, magnitude) = products.fold((start, 4.0), |(sum, magnitude), product| {
                (sum + product, magnitude + product.abs())
            });
            (
                sum.max(0.0),
                magnitude * (N as f64 + 4.0) * f64::from(f32::EPSILON),
            )
        });
        assert_close(&format!("{kind:?}"), &y.read::<f32>(), exact);
    }
}

#[test]
fn strides_that_lead_nowhere_are_no_gaps() {
    let weight = matrix(&mut rng(33), WeightType::F32, N, K, 0.1, 0).weight;
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 2 * K]), buffer(&[0.0f32; 2 * N]));
    let one = |buffer, columns| {
        let rows = Tensor::of::<f32>(buffer, &[2, columns]).unwrap();
        rows.step(0, 2).unwrap()
    };
    let none = |buffer, columns| {
        let turned = Tensor::of::<f32>(buffer, &[columns, 2]).unwrap();
        turned.permute(&[1, 0]).unwrap().narrow(0, 0, 0).unwrap()
    };
    assert_eq!(one(&x_buffer, K).strides(), [2 * K, 1]);
    assert_eq!(none(&x_buffer, K).strides(), [1, 2]);
    run(|encoder| {
        ops().matmul_weights(encoder, &weight, none(&x_buffer, K), none(&y_buffer, N))?;
        ops().matmul_weights(encoder, &weight, one(&x_buffer, K), one(&y_buffer, N))
    });
    let y = read::<f32>(&y_buffer);
    assert!(y[..N].iter().all(|value| *value != 0.0) && y[N..] == [0.0; N]);
}

#[test]
fn bad_products_with_weights_are_refused() {
    let weight = matrix(&mut rng(32), WeightType::Q8_0, N, K, 0.1, 0).weight;
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 4 * K]), buffer(&[0.0f32; 4 * N]));
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let says = |x: Tensor<'_>, y: Tensor<'_>, text: &str| {
        let error = refused(|encoder| ops().matmul_weights(encoder, &weight, x, y));
        let said = error.to_string();
        assert!(
            said.contains("(in Ops::matmul_weights)") && said.contains(text),
            "{said}"
        );
        let add = refused(|encoder| ops().matmul_weights_add(encoder, &weight, x, y)).to_string();
        assert!(
            add.contains("Ops::matmul_weights_add") && add.contains(text),
            "{add}"
        );
        error
    };
    let half = Tensor::new(&x_buffer, DataType::F16, &[2, K]).unwrap();
    let error = says(half, y(&[2, N]), "x has elements of type f16");
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let ints = Tensor::new(&y_buffer, DataType::I32, &[2, N]).unwrap();
    let error = says(x(&[2, K]), ints, "y has elements of type i32");
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let needs = "x has the shape [2, 63], but weights of 9 rows and 64 columns need [.., 64]";
    says(x(&[2, K - 1]), y(&[2, N]), needs);
    says(x(&[]), y(&[2, N]), "x has the shape []");
    says(x(&[2, K]), y(&[2, K]), "y has the shape [2, 64]");
    says(
        x(&[2, K]),
        y(&[3, N]),
        "y has the shape [3, 9], but x of shape [2, 64]",
    );
    // As many rows, in other dimensions.
    says(
        x(&[4, K]),
        y(&[2, 2, N]),
        "y has the shape [2, 2, 9], but x of shape [4, 64]",
    );
    let gaps = x(&[4, K]).step(0, 2).unwrap();
    says(gaps, y(&[2, N]), "x has the strides [128, 1]");
    let column = y(&[N, 2]).permute(&[1, 0]).unwrap();
    says(x(&[2, K]), column, "y has the strides [1, 2]");
    let error = says(
        x(&[5, K]),
        y(&[5, N]),
        "x takes 1280 bytes at offset 0 of a buffer of 1024",
    );
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    says(
        x(&[2, K]),
        x(&[2, N]),
        "x and y overlap in their buffer: bytes 0..512 and 0..72",
    );
    assert_eq!(read::<f32>(&y_buffer), [0.0; 4 * N]);
}

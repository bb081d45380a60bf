//! Triangles of matrices, and rows with a one at an index.

use half::{bf16, f16};
use metal_bridge::ops::Tensor;
use rand::Rng;

use super::rows::both;
use super::spread::{Spread, positions, shape_of_rank, small};
use super::values::{Sample, room};
use crate::support::{buffer, ops, refused, rng, run};

fn triangles<T: Sample>(seed: u64, rounds: usize) {
    let mut rng = rng(seed);
    for round in 0..rounds {
        let rank = rng.random_range(2..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let values: Vec<T> = small(&mut rng, shape.iter().product());
        let (x, y) = (
            Spread::of(&mut rng, &shape, &values),
            Spread::room::<T>(&mut rng, &shape),
        );
        let diagonal = match rng.random_range(0..8) {
            0 => i64::MIN,
            1 => i64::MAX,
            _ => rng.random_range(-5..6),
        };
        let is_upper = rng.random_bool(0.5);
        // In place, now and then.
        let to = if round % 3 == 0 { &x } else { &y };
        let (x_tensor, y_tensor) = (x.tensor::<T>(), to.tensor::<T>());
        run(|encoder| match is_upper {
            true => both()[round % 2].triu(encoder, x_tensor, diagonal, y_tensor),
            false => both()[round % 2].tril(encoder, x_tensor, diagonal, y_tensor),
        });
        let exact: Vec<T> = positions(&shape)
            .iter()
            .zip(&values)
            .map(|(position, value)| {
                let right = position[rank - 1] as i64 - position[rank - 2] as i64;
                let keeps = if is_upper {
                    right >= diagonal
                } else {
                    right <= diagonal
                };
                if keeps { *value } else { T::nearest(0.0) }
            })
            .collect();
        assert_eq!(to.read::<T>(), exact, "{shape:?} {diagonal} {is_upper}");
    }
}

#[test]
fn triangles_stay() {
    triangles::<f32>(310, 40);
    triangles::<i64>(311, 10);
    triangles::<f16>(312, 10);
    triangles::<u8>(313, 10);
}

/// A causal mask: long rows without gaps.
#[test]
fn long_rows_have_triangles() {
    let x_buffer = buffer(&vec![-f32::INFINITY; 3 * 1031]);
    let y_buffer = room::<f32>(3 * 1031);
    let tensor = |buffer| Tensor::of::<f32>(buffer, &[3, 1031]).unwrap();
    for ops in both() {
        run(|encoder| ops.triu(encoder, tensor(&x_buffer), 300, tensor(&y_buffer)));
        let y = y_buffer.wait_read::<f32>().unwrap().to_vec();
        for (index, y) in y.iter().enumerate() {
            let is_kept = index % 1031 >= index / 1031 + 300;
            assert_eq!(*y, if is_kept { -f32::INFINITY } else { 0.0 }, "{index}");
        }
    }
}

fn one_hots<T: Sample, I: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for round in 0..10 {
        let rank = rng.random_range(0..=3);
        let shape = shape_of_rank(&mut rng, rank);
        let classes = rng.random_range(1..600);
        let index: Vec<f64> = (0..shape.iter().product::<usize>())
            .map(|_| f64::from(rng.random_range(-2..classes + 2)))
            .collect();
        let elements: Vec<I> = index.iter().map(|index| I::nearest(*index)).collect();
        let index_tensor = Spread::of(&mut rng, &shape, &elements);
        let whole = [shape.as_slice(), &[classes as usize]].concat();
        let y = Spread::room::<T>(&mut rng, &whole);
        let tensors = (index_tensor.tensor::<I>(), y.tensor::<T>());
        run(|encoder| both()[round % 2].one_hot(encoder, tensors.0, tensors.1));
        let exact: Vec<T> = elements
            .iter()
            .flat_map(|index| {
                (0..classes).map(|c| f64::from(u8::from(index.exact() == f64::from(c))))
            })
            .map(T::nearest)
            .collect();
        assert_eq!(y.read::<T>(), exact, "{shape:?}");
    }
}

#[test]
fn rows_have_a_one_at_the_index() {
    one_hots::<f32, i32>(314);
    one_hots::<bf16, u32>(315);
    one_hots::<u8, i64>(316);
    one_hots::<i64, i64>(317);
}

#[test]
fn bad_masks_are_refused_by_name() {
    let (x_buffer, y_buffer) = (buffer(&[1i32; 16]), buffer(&[0i32; 16]));
    let of = |buffer, shape: &[usize]| Tensor::of::<i32>(buffer, shape).unwrap();
    let error = refused(|encoder| ops().triu(encoder, of(&x_buffer, &[4]), 0, of(&y_buffer, &[4])));
    assert!(
        error
            .to_string()
            .contains("y of shape [4] does not have two axes"),
        "{error}"
    );
    let error =
        refused(|encoder| ops().one_hot(encoder, of(&x_buffer, &[4]), of(&y_buffer, &[3, 4])));
    let text = "index has the shape [4], but y of shape [3, 4] needs [3]";
    assert!(error.to_string().contains(text), "{error}");
    let error = refused(|encoder| ops().one_hot(encoder, of(&x_buffer, &[]), of(&y_buffer, &[])));
    assert!(
        error
            .to_string()
            .contains("does not have an axis for the classes"),
        "{error}"
    );
    let floats = Tensor::of::<f32>(&x_buffer, &[3]).unwrap();
    let error = refused(|encoder| ops().one_hot(encoder, floats, of(&y_buffer, &[3, 4])));
    let text = "index has elements of type f32, but this operation needs i32, u32 or i64";
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(*y_buffer.wait_read::<i32>().unwrap(), [0; 16]);
}

//! The index of the largest element: ties, NaN, infinities, all lengths.

use crate::support::{Guarded, buffer, ops, refused, rng, run, uniform};
use metal_bridge::Error;

/// The definition: the first of the largest, NaN below everything.
fn reference(row: &[f32]) -> u32 {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] || (row[best].is_nan() && !value.is_nan()) {
            best = index;
        }
    }
    best as u32
}

fn check(what: &str, x: &[f32], columns: usize) {
    let rows = x.len() / columns;
    let y = Guarded::new(rows);
    let x_buffer = buffer(x);
    run(|encoder| ops().argmax(encoder, &x_buffer, y.view(), rows, columns));
    let exact: Vec<u32> = x.chunks(columns).map(reference).collect();
    assert_eq!(y.read::<u32>(), exact, "{what}, {columns} columns");
}

#[test]
fn the_greatest_of_random_rows_is_found() {
    let mut rng = rng(50);
    for columns in [
        1, 2, 31, 32, 33, 64, 1000, 1023, 1024, 1025, 32_000, 128_256,
    ] {
        let rows = if columns > 2000 { 2 } else { 5 };
        check("random", &uniform(&mut rng, rows * columns), columns);
    }
}

#[test]
fn the_first_of_equals_is_found() {
    let mut rng = rng(51);
    for columns in [3, 40, 1500, 4000] {
        check("all equal", &vec![0.25; columns], columns);
        check("all the lowest", &vec![f32::NEG_INFINITY; columns], columns);
        let few: Vec<f32> = uniform(&mut rng, columns * 3)
            .iter()
            .map(|value| (value * 3.0).round())
            .collect();
        check("many ties", &few, columns);
        let zeros: Vec<f32> = (0..columns)
            .map(|index| if index % 2 == 0 { -0.0 } else { 0.0 })
            .collect();
        check("zeros of both signs", &zeros, columns);
    }
}

#[test]
fn what_is_not_a_number_loses() {
    for columns in [4, 100, 2000] {
        let mut row = vec![-3.0; columns];
        row[0] = f32::NAN;
        row[columns - 1] = -2.0;
        check("a NaN first", &row, columns);
        row[columns / 2] = f32::INFINITY;
        check("an infinity", &row, columns);
        row.fill(f32::NEG_INFINITY);
        row[columns - 2] = f32::MIN;
        row[1] = -f32::NAN;
        check("the lowest finite", &row, columns);
        check("nothing but NaN", &vec![f32::NAN; columns], columns);
    }
}

#[test]
fn bad_shapes_are_refused() {
    let (x, y) = (buffer(&[0.0f32; 8]), buffer(&[0u32; 1]));
    let argmax = |rows, columns| refused(|encoder| ops().argmax(encoder, &x, &y, rows, columns));
    assert!(matches!(argmax(1, 0), Error::InvalidArgument(_)));
    assert!(matches!(argmax(1, 9), Error::OutOfRange(_)));
    assert!(matches!(argmax(2, 4), Error::OutOfRange(_)));
}

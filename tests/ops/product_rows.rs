//! What a row of a product is does not depend on the rows beside it.

use crate::support::{Guarded, buffer, matrix, ops, rng, run, uniform};
use metal_bridge::ops::{Ops, ProductKernels, View, WeightType};

/// Rows of the largest product.
const ROWS: usize = 33;
const N: usize = 37;

/// The bits of the products of the first `m` rows of x.
fn bits(ops: &Ops, weight: &metal_bridge::ops::Weight, x: View<'_>, m: usize) -> Vec<u32> {
    let y = Guarded::new(m * weight.rows());
    run(|encoder| ops.linear(encoder, weight, x, y.view(), m));
    y.read::<f32>()
        .iter()
        .map(|value| value.to_bits())
        .collect()
}

#[test]
fn rows_of_matrix_kernels_do_not_depend_on_their_number() {
    let ops = ops().with_product_kernels(ProductKernels::Matrix);
    assert_eq!(ops.product_kernels(), ProductKernels::Matrix);
    let mut rng = rng(21);
    let (weights, x) = (
        matrix(&mut rng, WeightType::Q8_0, N, 256, 1.0, 0),
        buffer(&uniform(&mut rng, ROWS * 256)),
    );
    let all = bits(&ops, &weights.weight, View::new(&x, 0), ROWS);
    for m in [1, 2, 8, 9, 17] {
        let some = bits(&ops, &weights.weight, View::new(&x, 0), m);
        assert_eq!(some, all[..m * N], "{m} rows");
    }
}

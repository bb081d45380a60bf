//! What a row of a product is does not depend on the rows beside it, nor on how many they are: not by a bit.

use crate::support::both;
use crate::support::{Guarded, Matrix, THOROUGH, buffer, matrix, rng, run, uniform};
use metal_bridge::ops::{Epilogue, Ops, ProductKernels, View, WeightType};

/// Rows of the largest product: more than any kernel takes at a time.
const ROWS: usize = 33;
const N: usize = 7;

/// A product with all that a kernel can add to it, and only with what `epilogue` says.
struct Case {
    weight: Matrix,
    x: Vec<f32>,
    start: Vec<f32>,
    bias: Vec<f32>,
}

impl Case {
    fn new(kind: WeightType, k: usize) -> Case {
        let mut rng = rng(k as u64);
        Case {
            weight: matrix(&mut rng, kind, N, k, 1.0, 0),
            x: uniform(&mut rng, ROWS * k),
            start: uniform(&mut rng, ROWS * N),
            bias: uniform(&mut rng, N),
        }
    }

    /// The bits of the products of the rows `first` to `first + m - 1` of x.
    fn bits(&self, ops: &Ops, first: usize, m: usize, is_plain: bool) -> Vec<u32> {
        let (x, bias) = (buffer(&self.x), buffer(&self.bias));
        let y = Guarded::holding(&self.start[first * N..(first + m) * N]);
        let epilogue = match is_plain {
            true => Epilogue::default(),
            false => Epilogue {
                bias: Some(View::new(&bias, 0)),
                scale: 0.3,
                accumulate: true,
            },
        };
        let weight = &self.weight.weight;
        let x = View::new(&x, first * weight.columns() * 4);
        run(|encoder| ops.linear_with(encoder, weight, x, y.view(), m, &epilogue));
        y.read::<f32>()
            .iter()
            .map(|value| value.to_bits())
            .collect()
    }

    /// Compares products of `counts` rows with those of one row each.
    fn check(&self, what: &str, ops: &Ops, counts: &[usize], is_plain: bool) {
        let alone: Vec<u32> = (0..ROWS)
            .flat_map(|row| self.bits(ops, row, 1, is_plain))
            .collect();
        for &m in counts {
            let together = self.bits(ops, 0, m, is_plain);
            assert_eq!(together, alone[..m * N], "{what}, {m} rows");
        }
    }
}

/// Columns that fill no step of a kernel, and no block of a format that allows it.
fn columns(kind: WeightType) -> usize {
    match kind.block_elements() {
        1 => 512 + 45,
        32 => 512 + 96,
        elements => 3 * elements,
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_among_others() {
    for kind in WeightType::ALL {
        let case = Case::new(kind, columns(kind));
        // Each kernel takes some tenths of a second to compile, and those for lockstep are like each other.
        let [lockstep, in_turn] = both();
        let others = THOROUGH.contains(&kind).then_some(lockstep);
        for ops in others.into_iter().chain([in_turn]) {
            let ops = ops.with_product_kernels(ProductKernels::Vector);
            let what = format!("{kind:?}, {ops:?}");
            case.check(&what, &ops, &[2, 3, 4, 5, 6, 7, 8, 9, 17, 33], true);
        }
    }
}

#[test]
fn rows_of_matrix_kernels_do_not_depend_on_their_number() {
    let ops = both()[0].with_product_kernels(ProductKernels::Matrix);
    for kind in [WeightType::F32, WeightType::Q8_0] {
        let case = Case::new(kind, columns(kind));
        case.check(&format!("{kind:?}"), &ops, &[8, 33], true);
    }
}

#[test]
fn what_is_added_has_the_same_bits_too() {
    for kernels in [ProductKernels::Vector, ProductKernels::Matrix] {
        let case = Case::new(WeightType::Q8_0, columns(WeightType::Q8_0));
        for ops in both() {
            let ops = ops.with_product_kernels(kernels);
            assert_eq!(ops.product_kernels(), kernels);
            case.check(&format!("{ops:?}"), &ops, &[4, 33], false);
        }
    }
}

//! What is refused because of its size, and what is not though 32 bits do not count it: such calls are encoded and not run.

use half::f16;
use metal_bridge::ops::{
    ArgReduction, Attention, Convolution, DataType, Interpolation, Matmul, Norm, Ops, Pooling,
    Reduction, ScanOrder, SortOrder, Tensor, Unary, Windows,
};
use metal_bridge::{ComputeEncoder, DispatchType, Error, Result};

use super::{holding, over, repeated, sparse, with_large_buffers};
use crate::support::{queue, refused};
use crate::tensor::rows::both;

/// Encodes a call, which must not be refused, for both forms of lanes.
fn accepted(encode: impl Fn(&Ops, &mut ComputeEncoder<'_>) -> Result<()>) {
    for ops in both() {
        let mut commands = queue().command_buffer().expect("a command buffer");
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .expect("an encoder");
        encode(ops, &mut encoder).expect("encodes");
        encoder.end_encoding().expect("ends");
    }
}

fn out_of_range(encode: impl Fn(&Ops, &mut ComputeEncoder<'_>) -> Result<()>) {
    for ops in both() {
        let error = refused(|encoder| encode(ops, encoder));
        assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    }
}

#[test]
fn more_threads_than_32_bits_count_are_divided_otherwise() {
    let test = "limits::more_threads_than_32_bits_count_are_divided_otherwise";
    with_large_buffers(test, || {
        let (x, y) = (holding(&[0u8; 64]), over(sparse(1 << 42)));
        let new = |shape: &[usize]| Tensor::of::<f16>(&y, shape).unwrap();
        let x = |shape: &[usize]| repeated::<f16>(&x, shape);
        // Rows, and a row with gaps.
        let rows = Tensor::of::<f16>(&y, &[(1 << 32) + 1, 1]).unwrap();
        accepted(|ops, e| ops.unary(e, Unary::Neg, x(&[2]), new(&[(1 << 32) + 1, 2])));
        accepted(|ops, e| ops.concat(e, &[rows], 1, new(&[(1 << 32) + 1, 1])));
        let gaps = Tensor::strided(&y, DataType::F16, &[1 << 33], &[2]).unwrap();
        accepted(|ops, e| ops.unary(e, Unary::Neg, x(&[1]), gaps));
        for results in [1 << 25, (1 << 27) + 1, (1 << 32) - 1] {
            let (x, y) = (x(&[results, 256]), new(&[results]));
            accepted(|ops, e| ops.reduce(e, Reduction::Sum, x, &[1], y));
            let y = new(&[results, 256]);
            accepted(|ops, e| ops.softmax(e, x, 1, y));
            accepted(|ops, e| ops.cumsum(e, x, 1, ScanOrder::default(), y));
            accepted(|ops, e| ops.layer_norm(e, x, &[1], &Norm::default(), y));
        }
        let (q, all) = (x(&[1, 1, (1 << 27) + 1, 1]), Attention::default());
        let new_rows = new(&[1, 1, (1 << 27) + 1, 1]);
        accepted(|ops, e| {
            let k = x(&[1, 1, 2, 1]);
            ops.scaled_dot_product_attention(e, q, k, k, &all, new_rows)
        });
        let (a, b, row) = (x(&[1, 1]), x(&[1, 1 << 28]), new(&[1, 1 << 28]));
        accepted(|ops, e| ops.matmul(e, Matmul::default(), a, b, row));
        let image = [1, 1, 1 << 17, 1 << 16];
        accepted(|ops, e| {
            let plain = Convolution::<2>::default();
            ops.convolution(e, x(&image), x(&[1; 4]), None, &plain, new(&image))
        });
        // Two elements are sorted without it.
        let scratch = holding(&[0u32]);
        let (order, shape) = (SortOrder::default(), [2, (1 << 31) + 1]);
        let indices = Tensor::of::<u32>(&y, &shape).unwrap();
        accepted(|ops, e| ops.argsort(e, order, x(&shape), indices, &scratch));
    });
}

#[test]
fn sizes_beyond_a_limit_are_out_of_range() {
    let (x, y) = (holding(&[0u8; 64]), holding(&[0u8; 64]));
    let long = 1 << 31;
    let x = |shape: &[usize]| repeated::<f32>(&x, shape);
    let new = |shape: &[usize]| Tensor::of::<f32>(&y, shape).unwrap();
    let indices = |shape: &[usize]| Tensor::of::<u32>(&y, shape).unwrap();
    // Every second dimension repeats, so that no two are one.
    let many = [32; 8];
    let others = x(&[32, 1, 32, 1, 32, 1, 32, 1]);
    out_of_range(|ops, e| ops.unary(e, Unary::Neg, others, new(&many)));
    out_of_range(|ops, e| ops.reduce(e, Reduction::Sum, x(&[1 << 32, 2]), &[1], new(&[1 << 32])));
    out_of_range(|ops, e| ops.softmax(e, x(&[1 << 32, 2]), 1, new(&[1 << 32, 2])));
    out_of_range(|ops, e| {
        ops.layer_norm(
            e,
            x(&[1 << 32, 2]),
            &[1],
            &Norm::default(),
            new(&[1 << 32, 2]),
        )
    });
    let least = ArgReduction::Min;
    out_of_range(|ops, e| ops.arg_reduce(e, least, x(&[1 << 32]), 0, indices(&[])));
    let order = SortOrder::default();
    out_of_range(|ops, e| ops.argsort(e, order, x(&[long]), indices(&[long]), &y));
    for [m, k, n] in [[long, 1, 1], [1, long, 1], [1, 1, long]] {
        let plain = Matmul::default();
        out_of_range(|ops, e| ops.matmul(e, plain, x(&[m, k]), x(&[k, n]), new(&[m, n])));
    }
    let all = Attention::default();
    out_of_range(|ops, e| {
        let (q, k) = (x(&[1, 1, 1, 4]), x(&[1, 1, long, 4]));
        ops.scaled_dot_product_attention(e, q, k, k, &all, new(&[1, 1, 1, 4]))
    });
    let sequence = [1, 1, long];
    out_of_range(|ops, e| {
        let windows = Windows::of([long - 1]);
        ops.pool(e, Pooling::Max, x(&sequence), &windows, new(&[1, 1, 1]))
    });
    out_of_range(|ops, e| ops.resample(e, Interpolation::Nearest, x(&[1, 1, 1]), new(&sequence)));
    // Terms of a sum.
    out_of_range(|ops, e| {
        let (x, weight) = (x(&[1, 1 << 16, 1 << 15]), x(&[1, 1 << 16, 1 << 15]));
        let plain = Convolution::<1>::default();
        ops.convolution(e, x, weight, None, &plain, new(&[1, 1, 1]))
    });
}

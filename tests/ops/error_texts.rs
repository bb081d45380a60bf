//! Each kind of refusal names the operation, the operand and the value that is wrong.

use half::f16;
use metal_bridge::ops::{
    ArgReduction, Attention, Binary, Comparison, Convolution, DataType, Interpolation, KeyLengths,
    Matmul, Norm, Pooling, Random, Reduction, RunningStatistics, ScanOrder, SortOrder, Tensor,
    Unary, View, Windows,
};
use metal_bridge::{ComputeEncoder, Error, Result};

use crate::support::{buffer, metal, ops, run};
use crate::tensor::values::read;

type Call<'a> = Box<dyn FnOnce(&mut ComputeEncoder<'_>) -> Result<()> + 'a>;

/// A method, a call of it, and what its error has to say besides the method: the operand, the value.
type Row<'a> = (&'static str, Call<'a>, [&'static str; 2]);

macro_rules! table {
    ($($name:ident($($argument:expr),* $(,)?): $($part:literal),+;)*) => {
        vec![$({
            let call: Call<'_> = Box::new(|encoder| ops().$name(encoder, $($argument),*));
            (concat!("Ops::", stringify!($name)), call, [$($part),+])
        }),*]
    };
}

fn assert_said(rows: Vec<Row<'_>>) {
    let mut missing = Vec::new();
    for (operation, call, parts) in rows {
        let mut error = String::from("nothing");
        run(|encoder| {
            if let Err(refusal) = call(encoder) {
                error = refusal.to_string();
            }
            Ok(())
        });
        // The name ends there: `Ops::scatter` is not said by `Ops::scatter_add`.
        let name = format!("(in {operation})");
        let unsaid = [name.as_str()].into_iter().chain(parts);
        let unsaid = unsaid.filter(|part| !error.contains(part));
        missing.extend(unsaid.map(|part| format!("{operation} says `{error}`, not `{part}`")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn refusals_name_operation_operand_and_value() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 64]), buffer(&[0.0f32; 64]));
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let typed = |data_type| Tensor::new(&x_buffer, data_type, &[2, 2]).unwrap();
    let ints = typed(DataType::I32);
    let (alpha, beta) = (f32::NAN, f32::NEG_INFINITY);
    let norm = Norm::default;
    let square = x(&[2, 2]);
    let rows: Vec<Row<'_>> = table! {
        // Numbers that are not finite, or out of range.
        matmul(Matmul { alpha, ..Matmul::default() }, square, square, y(&[2, 2])): "alpha", "NaN";
        matmul(Matmul { beta, ..Matmul::default() }, square, square, y(&[2, 2])): "beta", "-inf";
        unary(Unary::Elu(f32::INFINITY), square, y(&[2, 2])): "Elu(inf)", "must be finite";
        layer_norm(square, &[1], &Norm { epsilon: -1.0, ..norm() }, y(&[2, 2])): "epsilon", "-1";
        uniform(Random::default(), f32::NAN, 1.0, y(&[4])): "low", "NaN";
        normal(Random::default(), 0.0, -2.0, y(&[4])): "deviation", "-2";
        scaled_dot_product_attention(
            x(&[1, 1, 2, 4]), x(&[1, 1, 2, 4]), x(&[1, 1, 2, 4]),
            &Attention { scale: Some(f32::INFINITY), ..Attention::default() }, y(&[1, 1, 2, 4]),
        ): "scale", "inf";
        batch_norm_training(
            x(&[2, 2, 2]),
            Some(RunningStatistics { mean: y(&[2]), variance: x(&[2]), momentum: 1.5 }),
            &norm(), y(&[2, 2, 2]),
        ): "momentum", "1.5";
        // Types.
        unary(Unary::Exp, ints, ints): "x has elements of type i32", "Exp";
        unary(Unary::Abs, ints, y(&[2, 2])): "x has elements of type i32", "f32";
        reduce(Reduction::Mean, ints, &[1], typed(DataType::I32)): "x has elements of type i32", "Mean";
        softmax(ints, 1, typed(DataType::I32)): "x has elements of type i32", "f32, f16 or bf16";
        layer_norm(ints, &[1], &norm(), typed(DataType::I32)): "x has elements of type i32", "f32, f16 or bf16";
        scaled_dot_product_attention(ints, ints, ints, &Attention::default(), ints):
            "q has elements of type i32", "f32, f16 or bf16";
        matmul(Matmul::default(), square, ints, y(&[2, 2])): "a of type f32", "b of type i32";
        gather(square, 0, square, y(&[2, 2])): "index has elements of type f32", "u32";
        uniform(Random::default(), 0.0, 1.0, ints): "y has elements of type i32", "i32";
        // Shapes and axes.
        unary(Unary::Neg, x(&[3]), y(&[4])): "x of shape [3]", "[4]";
        matmul(Matmul::default(), x(&[2, 3]), square, y(&[2, 2])): "a has 3 columns", "b has 2 rows";
        softmax(square, 2, y(&[2, 2])): "x of shape [2, 2]", "axis 2";
        reduce(Reduction::Sum, square, &[1, 1], y(&[2])): "axis 1 of x", "twice";
        concat(&[square, x(&[3])], 0, y(&[5, 2])): "x[1] of shape [3]", "[5, 2]";
        convolution(x(&[1, 2, 4]), x(&[2, 3, 1]), None, &Convolution::<1>::default(), y(&[1, 2, 4])):
            "weight of shape [2, 3, 1]", "x of shape [1, 2, 4]";
        pool(Pooling::Max, square, &Windows::of([2]), y(&[2, 1])): "x of shape [2, 2]", "2 dimensions";
        scaled_dot_product_attention(
            x(&[2, 1, 2, 4]), x(&[2, 1, 2, 4]), x(&[2, 1, 2, 4]),
            &Attention {
                lengths: KeyLengths::Each(Tensor::of::<u32>(&x_buffer, &[3]).unwrap()),
                ..Attention::default()
            },
            y(&[2, 1, 2, 4]),
        ): "lengths has the shape [3]", "[2]";
        // No elements where some are needed.
        reduce(Reduction::Max, x(&[2, 0]), &[1], y(&[2])): "x of shape [2, 0]", "no elements along the axes [1]";
        // Places.
        unary(Unary::Neg, x(&[65]), y(&[65])): "y takes 260 bytes at offset 0", "a buffer of 256";
        unary(Unary::Neg, x(&[4]), Tensor::of::<f32>(View::new(&y_buffer, 2), &[4]).unwrap()):
            "y at offset 2", "a multiple of 4";
        unary(Unary::Neg, x(&[4]), Tensor::strided(&y_buffer, DataType::F32, &[4], &[usize::MAX / 2]).unwrap()):
            "y of shape [4]", "strides [9223372036854775807]";
        unary(Unary::Neg, x(&[4]), y(&[1]).broadcast_to(&[4]).unwrap()): "y has the strides [0]", "the shape [4]";
        unary(Unary::Neg, y(&[6]), Tensor::of::<f32>(View::new(&y_buffer, 8), &[6]).unwrap()):
            "x and y", "bytes 0..24 and 8..32";
        reduce(Reduction::Sum, y(&[4, 2]), &[1], y(&[4])): "x and y", "bytes 0..32 and 0..16";
        sort(SortOrder::default(), x(&[4]), y(&[4]), Tensor::of::<u32>(View::new(&y_buffer, 12), &[4]).unwrap(), &x_buffer):
            "indices and y", "bytes 12..28 and 0..16";
    };
    assert_eq!(rows.len(), 33);
    assert_said(rows);
    assert_eq!(read::<f32>(&y_buffer), [0.0; 64]);
}

/// Methods that share their launchers must not say each other's names.
#[test]
fn refusals_of_the_other_methods_name_them() {
    let (x_buffer, y_buffer) = (buffer(&[1.0f32; 64]), buffer(&[0.0f32; 64]));
    let x = |shape: &[usize]| Tensor::of::<f32>(&x_buffer, shape).unwrap();
    let y = |shape: &[usize]| Tensor::of::<f32>(&y_buffer, shape).unwrap();
    let typed = |data_type, shape: &[usize]| Tensor::new(&x_buffer, data_type, shape).unwrap();
    let index = |shape: &[usize]| typed(DataType::U32, shape);
    let bytes = |shape: &[usize]| Tensor::new(&y_buffer, DataType::U8, shape).unwrap();
    let (order, scan, norm) = (SortOrder::default(), ScanOrder::default(), Norm::default());
    let square = x(&[2, 2]);
    let rows: Vec<Row<'_>> = table! {
        binary(Binary::Add, x(&[3]), x(&[3]), y(&[4])): "a of shape [3]", "[4]";
        compare(Comparison::Less, x(&[4]), x(&[4]), y(&[4])): "y has elements of type f32", "u8";
        compare(Comparison::Less, x(&[4]), index(&[4]), bytes(&[4])): "b has elements of type u32", "f32";
        compare(Comparison::Less, x(&[3]), x(&[4]), bytes(&[4])): "a of shape [3]", "[4]";
        select(square, square, square, y(&[2, 2])): "condition has elements of type f32", "u8";
        select(typed(DataType::U8, &[3]), x(&[4]), x(&[4]), y(&[4])): "condition of shape [3]", "[4]";
        convert(x(&[3]), y(&[4])): "x of shape [3]", "[4]";
        convert(x(&[4]), y(&[1]).broadcast_to(&[4]).unwrap()): "y has the strides [0]", "the shape [4]";
        convert(y(&[6]), Tensor::of::<f32>(View::new(&y_buffer, 8), &[6]).unwrap()): "x and y", "bytes 0..24 and 8..32";
        convert(x(&[65]), y(&[65])): "takes 260 bytes", "a buffer of 256";
        fill(1u8, y(&[4])): "y has elements of type f32", "u8";
        fill(1.0f32, y(&[65])): "y takes 260 bytes", "a buffer of 256";
        pad(x(&[4]), &[[1, 0]], 0.0f32, y(&[4])): "y of shape [4]", "[[1, 0]]";
        tile(x(&[4]), &[2], y(&[7])): "y of shape [7]", "repeated [2] times";
        repeat(x(&[4]), 1, 2, y(&[8])): "x of shape [4]", "axis 1";
        index_select(square, 2, index(&[2]), y(&[2, 2])): "x of shape [2, 2]", "axis 2";
        embedding(square, x(&[2]), y(&[2, 2])): "index has elements of type f32", "u32";
        scatter(square, 2, index(&[2, 2]), y(&[2, 2])): "shape [2, 2]", "axis 2";
        scatter_add(square, 2, index(&[2, 2]), y(&[2, 2])): "shape [2, 2]", "axis 2";
        triu(x(&[4]), 0, y(&[4])): "y of shape [4]", "two axes";
        tril(x(&[4]), 0, y(&[4])): "y of shape [4]", "two axes";
        tril(square, 0, bytes(&[2, 2])): "x has elements of type f32", "u8";
        one_hot(square, y(&[2, 2, 3])): "index has elements of type f32", "u32";
        cumsum(square, 2, scan, y(&[2, 2])): "x of shape [2, 2]", "axis 2";
        cumprod(square, 2, scan, y(&[2, 2])): "x of shape [2, 2]", "axis 2";
        log_softmax(square, 2, y(&[2, 2])): "x of shape [2, 2]", "axis 2";
        arg_reduce(ArgReduction::Max, square, 1, y(&[2])): "y has elements of type f32", "u32";
        argsort(SortOrder { axis: 2, ..order }, square, index(&[2, 2]), &y_buffer): "x of shape [2, 2]", "axis 2";
        top_k(SortOrder { axis: 2, ..order }, square, y(&[2, 2]), index(&[2, 2]), &y_buffer): "x of shape [2, 2]", "axis 2";
        rms_norm_along(square, &[2], &norm, y(&[2, 2])): "x of shape [2, 2]", "axis 2";
        group_norm(square, 3, &norm, y(&[2, 2])): "2 channels", "3 groups";
        batch_norm(square, x(&[3]), x(&[2]), &norm, y(&[2, 2])): "mean has the shape [3]", "[2]";
        batch_norm(square, x(&[2]), x(&[3]), &norm, y(&[2, 2])): "variance has the shape [3]", "[2]";
        batch_norm(square, x(&[2]), index(&[2]), &norm, y(&[2, 2])): "variance has elements of type u32", "f32";
        batch_norm(x(&[4]), x(&[2]), x(&[2]), &norm, y(&[4])): "x of shape [4]", "channels";
        batch_norm(square, y(&[2]), x(&[2]), &norm, y(&[2, 2])): "mean and y", "bytes 0..8 and 0..16";
        transposed_convolution(x(&[1, 2, 4]), x(&[3, 2, 1]), None, &Convolution::<1>::default(), y(&[1, 2, 4])):
            "weight of shape [3, 2, 1]", "x of shape [1, 2, 4]";
        adaptive_pool(Pooling::Max, square, y(&[2, 1])): "x of shape [2, 2]", "2 dimensions";
        resample(Interpolation::Nearest, square, y(&[2, 4])): "x of shape [2, 2]", "2 dimensions";
        random_bits(Random::default(), y(&[4])): "y has elements of type f32", "f32";
    };
    assert_said(rows);
    assert_eq!(read::<f32>(&y_buffer), [0.0; 64]);
}

#[test]
fn bad_addresses_are_named_with_their_operand() {
    let metal = metal();
    let own = [f16::ONE; 4];
    let (nobodys, null) = (own.as_ptr(), std::ptr::null_mut());
    let error = metal.add_ptr(nobodys, nobodys, null, 4).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let text = error.to_string();
    for part in ["MetalOps::add_ptr", "a (", &format!("{nobodys:p}")] {
        assert!(text.contains(part), "{text}: {part}");
    }
}

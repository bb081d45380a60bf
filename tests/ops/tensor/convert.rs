//! Conversions between all types, copies, and choices between two tensors.

use half::{bf16, f16};
use metal_bridge::ops::{DataType, Tensor};
use rand::Rng;

use super::values::{Sample, read, room, samples};
use crate::support::{buffer, ops, refused, rng, run};

/// Converts with the kernel; `expected` says what Rust makes of an element.
fn converts<T: Sample, U: Sample>(expected: impl Fn(T) -> U) {
    let x: Vec<T> = samples(&mut rng(80), 1037);
    let (x_buffer, y_buffer) = (buffer(&x), room::<U>(x.len()));
    let x_tensor = Tensor::of::<T>(&x_buffer, &[x.len()]).unwrap();
    let y_tensor = Tensor::of::<U>(&y_buffer, &[x.len()]).unwrap();
    run(|encoder| ops().convert(encoder, x_tensor, y_tensor));
    for (x, y) in x.iter().zip(read::<U>(&y_buffer)) {
        let expected = expected(*x);
        let is_right = y == expected || (y.exact().is_nan() && expected.exact().is_nan());
        let names = (T::DATA_TYPE.name(), U::DATA_TYPE.name());
        assert!(is_right, "{x:?} from {names:?}: {y:?} is not {expected:?}");
    }
}

macro_rules! from_float {
    ($from:ty) => {
        from_float!($from => i8, u8, i32, u32, i64);
        converts::<$from, f32>(|x| x.into());
    };
    ($from:ty => $($to:ty),*) => {
        $(converts::<$from, $to>(|x| f32::from(x) as $to);)*
    };
}

macro_rules! from_integer {
    ($($from:ty),*) => {
        $(
            from_integer!($from => i8, u8, i32, u32, i64, f32);
            converts::<$from, f16>(|x| f16::from_f32(x as f32));
            converts::<$from, bf16>(|x| bf16::from_f32(x as f32));
        )*
    };
    ($from:ty => $($to:ty),*) => {
        $(converts::<$from, $to>(|x| x as $to);)*
    };
}

#[test]
fn conversions_are_those_of_rust() {
    from_float!(f32);
    from_float!(f16);
    from_float!(bf16);
    converts::<f32, f16>(f16::from_f32);
    converts::<bf16, f16>(|x| f16::from_f32(x.into()));
    converts::<f32, bf16>(bf16::from_f32);
    converts::<f16, bf16>(|x| bf16::from_f32(x.into()));
    from_integer!(i8, u8, i32, u32, i64);
}

#[test]
fn every_half_keeps_its_value() {
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let x_buffer = buffer(&all);
    let (wide, back) = (room::<f32>(all.len()), room::<f16>(all.len()));
    for data_type in [DataType::F16, DataType::BF16] {
        let half = |buffer| Tensor::new(buffer, data_type, &[all.len()]).unwrap();
        let whole = Tensor::of::<f32>(&wide, &[all.len()]).unwrap();
        run(|encoder| {
            ops().convert(encoder, half(&x_buffer), whole)?;
            ops().convert(encoder, whole, half(&back))
        });
        let back = back.wait_read::<u16>().unwrap();
        for (x, y) in all.iter().zip(&*back) {
            let is_nan = |bits: u16| match data_type {
                DataType::F16 => f16::from_bits(bits).is_nan(),
                _ => bf16::from_bits(bits).is_nan(),
            };
            assert!(
                x == y || (is_nan(*x) && is_nan(*y)),
                "{data_type:?}: {x:#x} became {y:#x}"
            );
        }
    }
}

#[test]
fn copies_in_one_type_keep_every_bit() {
    let bits: Vec<u64> = (0..999u64)
        .map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    let x_buffer = buffer(&bits);
    for data_type in DataType::ALL {
        let count = 999 * 8 / data_type.size();
        let y_buffer = room::<i64>(999);
        let x = Tensor::new(&x_buffer, data_type, &[count]).unwrap();
        let y = Tensor::new(&y_buffer, data_type, &[count]).unwrap();
        run(|encoder| ops().convert(encoder, x, y));
        assert_eq!(
            *y_buffer.wait_read::<u64>().unwrap(),
            *bits,
            "{data_type:?}"
        );
    }
}

#[test]
fn select_takes_a_where_the_condition_holds() {
    let mut rng = rng(81);
    let condition: Vec<u8> = (0..3 * 5).map(|_| rng.random_range(0..3)).collect();
    let a: Vec<i64> = (0..5).collect();
    let b: Vec<i64> = (100..115).collect();
    let (condition_buffer, a_buffer, b_buffer) = (buffer(&condition), buffer(&a), buffer(&b));
    let y_buffer = room::<i64>(15);
    let condition_tensor = Tensor::of::<u8>(&condition_buffer, &[3, 5]).unwrap();
    let a_tensor = Tensor::of::<i64>(&a_buffer, &[5]).unwrap();
    let of_all = |buffer| Tensor::of::<i64>(buffer, &[3, 5]).unwrap();
    let (b_tensor, y_tensor) = (of_all(&b_buffer), of_all(&y_buffer));
    run(|encoder| ops().select(encoder, condition_tensor, a_tensor, b_tensor, y_tensor));
    let exact: Vec<i64> = (0..15)
        .map(|i| if condition[i] != 0 { a[i % 5] } else { b[i] })
        .collect();
    assert_eq!(read::<i64>(&y_buffer), exact);
    let error = refused(|encoder| ops().select(encoder, b_tensor, a_tensor, b_tensor, y_tensor));
    assert!(
        error
            .to_string()
            .contains("condition has elements of type i64"),
        "{error}"
    );
}

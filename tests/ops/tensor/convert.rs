//! Conversions between all types, copies, and choices between two tensors.

use half::{bf16, f16};
use metal_bridge::ops::{DataType, Tensor};
use rand::Rng;

use super::rows::both;
use super::spread::{Spread, layouts_agree, positions, repeated, shape_of_rank, small};
use super::values::{Sample, read, room, samples};
use crate::support::{buffer, ops, refused, rng, run};

/// Converts with the kernel; `expected` says what Rust makes of an element.
fn converts<T: Sample, U: Sample>(expected: impl Fn(T) -> U) {
    let x: Vec<T> = samples(&mut rng(80), 1037);
    let x_buffer = buffer(&x);
    let x_tensor = Tensor::of::<T>(&x_buffer, &[x.len()]).unwrap();
    let results = both().map(|ops| {
        let y_buffer = room::<U>(x.len());
        let y_tensor = Tensor::of::<U>(&y_buffer, &[x.len()]).unwrap();
        run(|encoder| ops.convert(encoder, x_tensor, y_tensor));
        read::<U>(&y_buffer)
    });
    for (x, y) in x.iter().cycle().zip(results.concat()) {
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
        let x = Tensor::new(&x_buffer, data_type, &[count]).unwrap();
        for ops in both() {
            let y_buffer = room::<i64>(999);
            let y = Tensor::new(&y_buffer, data_type, &[count]).unwrap();
            run(|encoder| ops.convert(encoder, x, y));
            assert_eq!(
                *y_buffer.wait_read::<u64>().unwrap(),
                *bits,
                "{data_type:?}"
            );
        }
    }
}

/// A conversion in every layout.
fn spreads<T: Sample, U: Sample>(expected: impl Fn(T) -> U) {
    layouts_agree(
        89,
        |ops, encoder, [x, _], y| ops.convert(encoder, x, y),
        |x, _: T| expected(x),
    );
}

#[test]
fn conversions_take_every_layout() {
    spreads::<f32, i64>(|x| x as i64);
    spreads::<f16, f32>(f32::from);
    spreads::<bf16, u8>(|x| f32::from(x) as u8);
    spreads::<i8, f16>(|x| f16::from_f32(x.into()));
    spreads::<u8, u32>(u32::from);
    spreads::<i32, bf16>(|x| bf16::from_f32(x as f32));
    spreads::<u32, i8>(|x| x as i8);
    // Copies.
    spreads::<i64, i64>(|x| x);
    spreads::<f16, f16>(|x| x);
}

/// Choices by elements of every layout, where any operand may repeat along any axis.
fn selects<T: Sample>(seed: u64) {
    let mut rng = rng(seed);
    for round in 0..20 {
        let rank = rng.random_range(0..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let mut own = || -> Vec<usize> {
            let size = |size: &usize| if rng.random_bool(0.3) { 1 } else { *size };
            shape.iter().map(size).collect()
        };
        let [c_shape, a_shape, b_shape] = [(); 3].map(|()| own());
        let count = |shape: &[usize]| shape.iter().product();
        let condition: Vec<u8> = (0..count(&c_shape))
            .map(|_| [0, 0, 1, 255][rng.random_range(0..4)])
            .collect();
        let [a, b]: [Vec<T>; 2] = [&a_shape, &b_shape].map(|shape| small(&mut rng, count(shape)));
        let [a_in, b_in] = [(&a_shape, &a), (&b_shape, &b)]
            .map(|(shape, values)| Spread::of(&mut rng, shape, values));
        let c_in = Spread::of(&mut rng, &c_shape, &condition);
        let y = Spread::room::<T>(&mut rng, &shape);
        let inputs = (c_in.tensor::<u8>(), a_in.tensor::<T>(), b_in.tensor::<T>());
        let to = y.tensor::<T>();
        run(|encoder| both()[round % 2].select(encoder, inputs.0, inputs.1, inputs.2, to));
        let exact = positions(&shape).into_iter().map(|position| {
            let index = |own: &[usize]| repeated(own, &position);
            match condition[index(&c_shape)] {
                0 => b[index(&b_shape)],
                _ => a[index(&a_shape)],
            }
        });
        let exact: Vec<T> = exact.collect();
        assert_eq!(
            y.read::<T>(),
            exact,
            "{shape:?} {c_shape:?} {a_shape:?} {b_shape:?}"
        );
    }
}

#[test]
fn select_takes_a_where_the_condition_holds() {
    selects::<f32>(81);
    selects::<f16>(82);
    selects::<bf16>(83);
    selects::<i8>(84);
    selects::<u8>(85);
    selects::<i32>(86);
    selects::<u32>(87);
    selects::<i64>(88);
    let y_buffer = room::<i64>(4);
    let y = Tensor::of::<i64>(&y_buffer, &[4]).unwrap();
    let error = refused(|encoder| ops().select(encoder, y, y, y, y));
    let text = "condition has elements of type i64";
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn choices_of_what_has_no_gaps_may_leave_some() {
    let condition_buffer = buffer(&[1u8, 0].repeat(150));
    let condition = Tensor::of::<u8>(&condition_buffer, &[300]).unwrap();
    let [ones, twos] = [1.0f32, 2.0].map(|value| buffer(&[value; 300]));
    let [a, b] = [&ones, &twos].map(|buffer| Tensor::of::<f32>(buffer, &[300]).unwrap());
    for ops in both() {
        let y_buffer = buffer(&[0.0f32; 600]);
        let whole = Tensor::of::<f32>(&y_buffer, &[600]).unwrap();
        let y = whole.step(0, 2).unwrap();
        run(|encoder| ops.select(encoder, condition, a, b, y));
        assert_eq!(read::<f32>(&y_buffer), [1.0, 0.0, 2.0, 0.0].repeat(150));
    }
}

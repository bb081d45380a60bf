//! Views of every n-th element.

use metal_bridge::Error;
use metal_bridge::ops::{Tensor, Unary};

use super::values::{read, room};
use crate::support::{buffer, ops, run};

#[test]
fn steps_take_every_nth_element() {
    let numbers: Vec<i32> = (0..35).collect();
    let (x_buffer, y_buffer) = (buffer(&numbers), room::<i32>(35));
    let x = Tensor::of::<i32>(&x_buffer, &[5, 7]).unwrap();
    for (start, step) in [(0, 1), (0, 2), (1, 2), (1, 3), (3, 4), (0, 7), (2, 100)] {
        let from = x.narrow(1, start, 7 - start).unwrap();
        let part = from.step(0, 2).unwrap().step(1, step).unwrap();
        let exact: Vec<i32> = (0..5)
            .step_by(2)
            .flat_map(|row| {
                (start..7)
                    .step_by(step)
                    .map(move |j| -((row * 7 + j) as i32))
            })
            .collect();
        assert_eq!(part.count(), exact.len());
        let y = Tensor::of::<i32>(&y_buffer, part.shape()).unwrap();
        run(|encoder| ops().unary(encoder, Unary::Neg, part, y));
        assert_eq!(read::<i32>(&y_buffer)[..exact.len()], exact);
    }
}

#[test]
fn steps_can_be_written_and_end_inside() {
    let (x_buffer, y_buffer) = (buffer(&[1i32, 2, 3]), buffer(&[9i32; 5]));
    let x = Tensor::of::<i32>(&x_buffer, &[3]).unwrap();
    // The last element of five is the last of the buffer: a step beyond it is not asked for.
    let odd = Tensor::of::<i32>(&y_buffer, &[5]).unwrap().step(0, 2);
    run(|encoder| ops().convert(encoder, x, odd.unwrap()));
    assert_eq!(read::<i32>(&y_buffer), [1, 9, 2, 9, 3]);
    let far = x.step(0, usize::MAX).unwrap().step(0, usize::MAX).unwrap();
    let one = Tensor::of::<i32>(&y_buffer, &[1]).unwrap();
    run(|encoder| ops().convert(encoder, far, one));
    assert_eq!(read::<i32>(&y_buffer)[0], 1);
    let none = x.narrow(0, 3, 0).unwrap().step(0, 2).unwrap();
    assert_eq!((none.shape(), none.count()), (&[0][..], 0));
}

#[test]
fn bad_steps_are_refused_by_name() {
    let x_buffer = buffer(&[0i32; 6]);
    let x = Tensor::of::<i32>(&x_buffer, &[2, 3]).unwrap();
    let error = x.step(1, 0).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let text = "the step along axis 1 must be at least 1, not 0";
    assert!(error.to_string().contains(text), "{error}");
    let error = x.step(2, 1).unwrap_err();
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let text = "the shape [2, 3] does not have an axis 2";
    assert!(error.to_string().contains(text), "{error}");
}

//! Memory that the backend knows by its address, and operations on it.

use metal_bridge::ops::{DataType, Reduction, Unary};
use metal_bridge::{Allocation, Error};

use crate::support::metal;

/// The elements at an address of the backend.
fn elements<'a, T: bytemuck::Pod>(allocation: Allocation, count: usize) -> &'a mut [T] {
    // SAFETY: each test takes as many as it has allocated, and computes while it holds none.
    unsafe { std::slice::from_raw_parts_mut(allocation.address.as_ptr().cast(), count) }
}

#[test]
fn operations_take_addresses_of_the_backend() {
    let metal = metal();
    let backend = metal.backend();
    let allocation = backend.allocate(3 * 4 * 100).expect("memory");
    let base: *mut i32 = allocation.address.as_ptr().cast();
    assert_eq!(elements::<i32>(allocation, 300), [0; 300]);
    for (i, element) in elements::<i32>(allocation, 200).iter_mut().enumerate() {
        *element = i as i32;
    }
    let at = |index: usize| base.wrapping_add(index);
    metal.add_ptr(at(0), at(100), at(200), 100).expect("adds");
    metal
        .mul_ptr(at(3), at(3), at(3), 2)
        .expect("multiplies in place");
    let seen = elements::<i32>(allocation, 300);
    assert!((0..100).all(|i| seen[200 + i] == 100 + 2 * i as i32));
    assert_eq!(seen[2..6], [2, 9, 16, 5]);

    let error = metal
        .add_ptr(at(0), at(100), at(201), 100)
        .expect_err("one too many");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("y of shape [100] takes 400 bytes"),
        "{error}"
    );
    let error = metal
        .add_ptr(at(0), at(100), at(200), usize::MAX)
        .expect_err("too many");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let own = [0i32; 4];
    let error = metal
        .add_ptr(own.as_ptr(), at(0), at(8), 4)
        .expect_err("memory of nobody's");
    assert!(
        error.to_string().contains("is not memory of this backend"),
        "{error}"
    );
    let error = metal
        .add_ptr(std::ptr::null(), at(0), at(8), 4)
        .expect_err("no memory");
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let odd = at(0).wrapping_byte_add(2);
    let error = metal
        .add_ptr(odd, at(100), at(200), 4)
        .expect_err("between elements");
    assert!(matches!(error, Error::Misaligned(_)), "{error}");

    let address = allocation.address.as_ptr();
    let error = backend.deallocate(address, 8).expect_err("another length");
    assert!(
        error.to_string().contains("has 1200 bytes, not 8"),
        "{error}"
    );
    assert!(backend.deallocate(address.wrapping_add(4), 1196).is_err());
    backend.deallocate(address, 1200).expect("gives it back");
    assert!(backend.deallocate(address, 1200).is_err());
    let error = metal
        .add_ptr(at(0), at(100), at(200), 100)
        .expect_err("freed");
    assert!(
        error.to_string().contains("or has been deallocated"),
        "{error}"
    );
    let next = backend.allocate(16).expect("memory");
    assert_ne!(next.id, allocation.id);
    backend
        .deallocate(next.address.as_ptr(), 16)
        .expect("gives it back");
}

#[test]
fn operations_take_tensors_at_addresses() {
    let metal = metal();
    let backend = metal.backend();
    let allocation = backend.allocate(64 * 4).expect("memory");
    let base: *mut f32 = allocation.address.as_ptr().cast();
    elements::<f32>(allocation, 6).copy_from_slice(&[3.0, -1.0, 2.0, 0.5, 0.0, -4.0]);
    let at = |index: usize, shape: &[usize]| {
        let tensor = backend.tensor_at(base.wrapping_add(index).cast_const(), shape);
        tensor.expect("is inside")
    };
    let (x, sorted, sums) = (at(0, &[2, 3]), at(8, &[3, 2]), at(16, &[2]));
    let columns = x.tensor().permute(&[1, 0]).expect("two dimensions");
    let mut batch = metal.batch();
    batch.unary(Unary::Abs, columns, &sorted).expect("queues");
    batch
        .reduce(Reduction::Sum, &sorted, &[0], &sums)
        .expect("queues after the first");
    assert_eq!(
        batch.barriers(),
        1,
        "the second reads what the first writes"
    );
    batch.commit().expect("commits").wait().expect("computes");
    let seen = elements::<f32>(allocation, 64);
    assert_eq!(seen[8..14], [3.0, 0.5, 1.0, 0.0, 2.0, 4.0]);
    assert_eq!(seen[16..18], [6.0, 4.5]);

    let halves: *const half::f16 = base.wrapping_add(20).cast();
    let half = backend.tensor_at(halves, &[2, 3]).expect("is inside");
    metal.convert(&x, &half).expect("converts");
    assert_eq!(half.tensor().data_type(), DataType::F16);
    assert_eq!(
        elements::<u16>(allocation, 128)[40..43],
        [0x4200, 0xbc00, 0x4000]
    );

    let error = backend
        .tensor_at(base.cast_const(), &[5, 13])
        .expect_err("too many");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let error = backend
        .tensor_at(base.cast_const(), &[1; 9])
        .expect_err("9 dimensions");
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    let error = backend
        .tensor_at(base.cast_const(), &[1 << 62, 2])
        .expect_err("more than can be counted");
    assert!(
        error.to_string().contains("more than 2^64 bytes"),
        "{error}"
    );
    let end = base.wrapping_add(64).cast_const();
    let nothing = backend.tensor_at(end, &[0, 7]).expect("no elements");
    metal
        .unary(Unary::Abs, &nothing, &nothing)
        .expect("nothing to do");
    let error = backend.tensor_at(end, &[1]).expect_err("past the end");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let odd = backend.tensor_at(base.wrapping_byte_add(2).cast_const(), &[2]);
    let error = metal
        .unary(Unary::Abs, &odd.expect("is inside"), &sums)
        .expect_err("between elements");
    assert!(matches!(error, Error::Misaligned(_)), "{error}");

    // A tensor keeps its memory.
    let address = allocation.address.as_ptr();
    backend.deallocate(address, 256).expect("gives it back");
    assert!(backend.tensor_at(base.cast_const(), &[1]).is_err());
    metal.unary(Unary::Neg, &sums, &sums).expect("computes");
    let kept = sums.tensor().view().buffer().wait_read_range::<f32>(16..18);
    assert_eq!(*kept.expect("readable"), [-6.0, -4.5]);
}

#[test]
fn threads_that_allocate_do_not_see_each_other() {
    let metal = metal();
    std::thread::scope(|scope| {
        for thread in 0..8i32 {
            let metal = &metal;
            scope.spawn(move || {
                for round in 0..20 {
                    let allocation = metal.backend().allocate(400).expect("memory");
                    elements::<i32>(allocation, 100).fill(thread * 1000 + round);
                    let base: *mut i32 = allocation.address.as_ptr().cast();
                    metal.add_ptr(base, base, base, 100).expect("adds");
                    let expected = [2 * (thread * 1000 + round); 100];
                    assert_eq!(elements::<i32>(allocation, 100), expected);
                    let address = allocation.address.as_ptr();
                    metal
                        .backend()
                        .deallocate(address, 400)
                        .expect("gives it back");
                }
            });
        }
    });
}

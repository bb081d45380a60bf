//! Functions of two operands on plain buffers and on addresses, by the names that `MetalOps` has for them.

use half::{bf16, f16};
use metal_bridge::ops::Binary;
use metal_bridge::{Buffer, MetalOps, Result};

use super::binary::{Arithmetic, pairs};
use super::values::{read, room};
use crate::support::{buffer, metal};

#[test]
fn named_functions_agree_on_buffers() {
    type Call = fn(&MetalOps, &Buffer, &Buffer, &Buffer, usize) -> Result<()>;
    let calls: [(Binary, Call); 8] = [
        (Binary::Add, MetalOps::add),
        (Binary::Sub, MetalOps::sub),
        (Binary::Mul, MetalOps::mul),
        (Binary::Div, MetalOps::div),
        (Binary::Min, MetalOps::min),
        (Binary::Max, MetalOps::max),
        (Binary::Pow, MetalOps::pow),
        (Binary::Mod, MetalOps::modulo),
    ];
    let metal = metal();
    let (a, b) = pairs::<f32>(65);
    let (a_buffer, b_buffer) = (buffer(&a), buffer(&b));
    let count = a.len() - 1;
    for (operation, call) in calls {
        let y_buffer = room::<f32>(a.len());
        call(&metal, &a_buffer, &b_buffer, &y_buffer, count).expect("computes");
        let y = read::<f32>(&y_buffer);
        for i in 0..count {
            f32::assert_right(operation, a[i], b[i], y[i]);
        }
        assert_eq!(y[count].to_bits(), 0xA5A5_A5A5, "beyond the count");
    }
}

fn on_addresses<T: Arithmetic>(metal: &MetalOps) {
    type Call<T> = fn(&MetalOps, *const T, *const T, *mut T, usize) -> Result<()>;
    let calls: [(Binary, Call<T>); 8] = [
        (Binary::Add, MetalOps::add_ptr),
        (Binary::Sub, MetalOps::sub_ptr),
        (Binary::Mul, MetalOps::mul_ptr),
        (Binary::Div, MetalOps::div_ptr),
        (Binary::Min, MetalOps::min_ptr),
        (Binary::Max, MetalOps::max_ptr),
        (Binary::Pow, MetalOps::pow_ptr),
        (Binary::Mod, MetalOps::modulo_ptr),
    ];
    let (a, b) = pairs::<T>(66);
    let count = a.len();
    let bytes = 3 * count * size_of::<T>();
    let allocation = metal.backend().allocate(bytes).expect("memory");
    let base: *mut T = allocation.address.as_ptr().cast();
    // SAFETY: as many elements as were allocated, and none is used while something computes.
    let elements = || unsafe { std::slice::from_raw_parts_mut(base, 3 * count) };
    elements()[..count].copy_from_slice(&a);
    elements()[count..2 * count].copy_from_slice(&b);
    let at = |index: usize| base.wrapping_add(index);
    for (operation, call) in calls {
        // The last element is nobody's result.
        elements()[3 * count - 1] = T::nearest(77.0);
        call(metal, at(0), at(count), at(2 * count), count - 1).expect("computes");
        for i in 0..count - 1 {
            T::assert_right(operation, a[i], b[i], elements()[2 * count + i]);
        }
        assert_eq!(elements()[3 * count - 1], T::nearest(77.0));
    }
    let address = allocation.address.as_ptr();
    let freed = metal.backend().deallocate(address, bytes);
    freed.expect("gives it back");
}

#[test]
fn named_functions_agree_on_addresses_of_each_type() {
    let metal = metal();
    on_addresses::<f32>(&metal);
    on_addresses::<f16>(&metal);
    on_addresses::<bf16>(&metal);
    on_addresses::<i8>(&metal);
    on_addresses::<u8>(&metal);
    on_addresses::<i32>(&metal);
    on_addresses::<u32>(&metal);
    on_addresses::<i64>(&metal);
}

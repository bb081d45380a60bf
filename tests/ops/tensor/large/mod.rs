//! Elements more than 2^32 elements from one another, and more of them than 31 and 32 bits count. The memory is sparse: of what
//! is mapped only the pages that something is written to are there.

/// A call of `ops` with the tensors `t`, the operands in their order.
macro_rules! call {
    ($name:literal, [$($operand:expr),* $(,)?], |$ops:ident, $encoder:ident, $t:ident| $call:expr) => {
        $crate::tensor::large::views::Call {
            name: $name,
            operands: &[$($operand),*],
            encode: |$ops, $encoder, $t| $call,
        }
    };
}

mod calls;
mod counts;
mod engine;
mod layers;
mod limits;
mod products;
mod sampled;
mod views;
mod walks;

use memmap2::{MmapMut, MmapOptions};
use metal_bridge::ops::{DataType, Element, Tensor};
use metal_bridge::{Buffer, StorageMode, page_size};
use metal_bridge_test_support::in_child_with;

use super::values::Sample;
use crate::support::device;

/// Bytes of address space, all zeros.
fn sparse(bytes: usize) -> MmapMut {
    MmapOptions::new()
        .len(bytes.next_multiple_of(page_size()))
        .no_reserve_swap()
        .map_anon()
        .expect("addresses")
}

fn over(memory: MmapMut) -> Buffer {
    device()
        .new_buffer_no_copy(memory, StorageMode::Shared)
        .expect("a buffer")
}

/// A buffer with so many elements, all 0 but those that are given with their offset.
fn marked<T: Element>(count: usize, marks: &[(usize, T)]) -> Buffer {
    let mut memory = sparse(count * size_of::<T>());
    for (offset, mark) in marks {
        put(
            &mut memory,
            offset * size_of::<T>(),
            bytemuck::bytes_of(mark),
        );
    }
    over(memory)
}

/// A buffer that begins with these elements. The software Metal would not give memory of its own beside sparse buffers, which
/// it counts as if all of them were there.
fn holding<T: Element>(values: &[T]) -> Buffer {
    let marks = values.iter().copied().enumerate();
    marked(values.len(), &Vec::from_iter(marks))
}

fn put(memory: &mut [u8], at: usize, element: &[u8]) {
    memory[at..at + element.len()].copy_from_slice(element);
}

/// The nearest element of a type.
fn element(data_type: DataType, value: f64) -> Vec<u8> {
    fn of<T: Sample>(value: f64) -> Vec<u8> {
        bytemuck::bytes_of(&T::nearest(value)).to_vec()
    }
    match data_type {
        DataType::F32 => of::<f32>(value),
        DataType::F16 => of::<half::f16>(value),
        DataType::BF16 => of::<half::bf16>(value),
        DataType::I8 => of::<i8>(value),
        DataType::U8 => of::<u8>(value),
        DataType::I32 => of::<i32>(value),
        DataType::U32 => of::<u32>(value),
        DataType::I64 => of::<i64>(value),
    }
}

/// One element in this shape.
fn repeated<'a, T: Element>(buffer: &'a Buffer, shape: &[usize]) -> Tensor<'a> {
    let one = Tensor::of::<T>(buffer, &[]).unwrap();
    one.broadcast_to(shape).unwrap()
}

/// Runs `scenario` where buffers may be larger than a machine's memory.
fn with_large_buffers(test: &str, scenario: impl FnOnce()) {
    let test = format!("tensor::large::{test}");
    let variables = [("SOFTWARE_METAL_MAX_BUFFER_LENGTH", "0x100000000000")];
    in_child_with(&test, &variables, scenario);
}

//! Where the tensors of a call may lie: in a buffer, or at an address of the backend.

use metal_bridge::ops::{Tensor, View};
use metal_bridge::{AllocatedTensor, Buffer, MetalOps};

use super::values::Sample;
use crate::support::buffer;

#[derive(Debug, Clone, Copy)]
pub enum Place {
    Buffer,
    /// Inside of an allocation, which is found by the address.
    Address,
}

/// Bytes of an allocation before the first element.
const BEFORE: usize = 64;

/// Elements in one of the places.
pub enum Memory {
    Buffer(Buffer),
    Address(AllocatedTensor),
}

impl Place {
    pub const ALL: [Place; 2] = [Place::Buffer, Place::Address];

    pub fn holding<T: Sample>(self, metal: &MetalOps, values: &[T]) -> Memory {
        let Place::Address = self else {
            return Memory::Buffer(buffer(values));
        };
        let bytes = BEFORE + size_of_val(values);
        let allocation = metal.backend().allocate(bytes).expect("memory");
        let first = allocation.address.as_ptr().wrapping_add(BEFORE).cast::<T>();
        let found = metal
            .backend()
            .tensor_at(first.cast_const(), &[values.len()]);
        // The tensor keeps it.
        let freed = metal
            .backend()
            .deallocate(allocation.address.as_ptr(), bytes);
        freed.expect("gives it back");
        let memory = Memory::Address(found.expect("is inside"));
        assert_eq!(memory.view().offset(), BEFORE);
        memory.write(values);
        memory
    }
}

impl Memory {
    /// The first elements, as they are passed to a call.
    pub fn of<T: Sample>(&self, shape: &[usize]) -> Tensor<'_> {
        Tensor::of::<T>(self.view(), shape).expect("a shape")
    }

    pub fn view(&self) -> View<'_> {
        match self {
            Memory::Buffer(buffer) => buffer.into(),
            Memory::Address(allocated) => allocated.tensor().view(),
        }
    }

    pub fn write<T: Sample>(&self, values: &[T]) {
        let first = self.view().offset() / size_of::<T>();
        let all = self.view().buffer().wait_write::<T>();
        all.expect("writable")[first..][..values.len()].copy_from_slice(values);
    }

    /// All elements.
    pub fn read<T: Sample>(&self) -> Vec<T> {
        let first = self.view().offset() / size_of::<T>();
        let all = self.view().buffer().wait_read::<T>();
        all.expect("readable")[first..].to_vec()
    }
}

//! Shared memory that a backend knows by its address.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use crate::backend::allocated_tensor::AllocatedTensor;
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::ops::{Element, MAX_RANK, Tensor};

/// Shared memory that [`MetalBackend::allocate`](crate::MetalBackend::allocate) has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// Its first byte. Host and GPU see the same bytes; nothing orders their accesses but the wait of each call.
    pub address: NonNull<u8>,
    /// Never the same again in this backend, although the address may be.
    pub id: u64,
}

// SAFETY: the address is a number here; whoever reads or writes there has to order that.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

#[derive(Debug, Default)]
struct Known {
    /// By the address of the first byte.
    buffers: BTreeMap<usize, Buffer>,
    last_id: u64,
}

/// All memory of a backend that is allocated.
#[derive(Debug, Default)]
pub(super) struct Allocations(Mutex<Known>);

impl Allocations {
    /// Remembers a shared buffer.
    pub(super) fn add(&self, buffer: Buffer) -> Option<Allocation> {
        let address = buffer.address()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.last_id += 1;
        known.buffers.insert(address.as_ptr() as usize, buffer);
        Some(Allocation {
            address,
            id: known.last_id,
        })
    }

    /// Forgets the memory of `bytes` bytes at `address`. Work of the GPU that still uses it keeps it until it is done.
    pub(super) fn remove(
        &self,
        function: &'static str,
        address: *const u8,
        bytes: usize,
    ) -> Result<()> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let length = known.buffers.get(&(address as usize)).map(Buffer::len);
        match length {
            Some(length) if length == bytes => {
                known.buffers.remove(&(address as usize));
                Ok(())
            }
            Some(length) => {
                let message = format!("the memory at {address:p} has {length} bytes, not {bytes}");
                Err(Error::InvalidArgument(Failure::new(function, message)))
            }
            None => Err(unknown(function, "the address", address)),
        }
    }

    /// The elements of this shape at `address`, which may be inside an allocation. `name` is the argument's.
    pub(super) fn tensor<T: Element>(
        &self,
        function: &'static str,
        name: &str,
        address: *const T,
        shape: &[usize],
    ) -> Result<AllocatedTensor> {
        let layout = Tensor::layout_of(function, shape);
        let bytes = layout
            .as_ref()
            .ok()
            .and_then(|layout| layout.count().checked_mul(size_of::<T>()));
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let below = known.buffers.range(..=address as usize).next_back();
        let found = below.map(|(start, buffer)| (address as usize - start, buffer));
        match found {
            // No elements may lie at the end of an allocation.
            Some((offset, buffer)) if offset <= buffer.len() => {
                let rest = buffer.len() - offset;
                if bytes.is_none_or(|bytes| bytes > rest) && shape.len() <= MAX_RANK {
                    let message = format!(
                        "{name} of shape {shape:?} takes {} bytes at {address:p}, but only {rest} are left of its allocation",
                        bytes.map_or("more than 2^64".to_owned(), |bytes| bytes.to_string())
                    );
                    return Err(Error::OutOfRange(Failure::new(function, message)));
                }
                Ok(AllocatedTensor {
                    buffer: buffer.clone(),
                    offset,
                    data_type: T::DATA_TYPE,
                    layout: layout?,
                })
            }
            _ => Err(unknown(function, name, address.cast())),
        }
    }
}

fn unknown(function: &'static str, name: &str, address: *const u8) -> Error {
    let message = format!(
        "{name} ({address:p}) is not memory of this backend: it never was, or has been deallocated"
    );
    Error::InvalidArgument(Failure::new(function, message))
}

//! [`Scratch`]: buffers that calls on slices copy from and to, kept for the next call.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::error::Result;
use crate::metal::buffer::{Buffer, StorageMode};
use crate::metal::device::Device;
use crate::ops::View;

/// Buffers that are kept, and bytes of the largest.
const MOST: usize = 16;
const LARGEST: usize = 64 << 20;
/// Bytes of the smallest: short slices share it.
const SMALLEST: usize = 256;

/// Shared buffers that nobody uses at the moment, those first that were given back first.
#[derive(Debug, Default)]
pub(super) struct Scratch(Mutex<Vec<Buffer>>);

impl Scratch {
    /// A buffer of at least `bytes` bytes, of any content.
    pub(super) fn take(&self, device: &Device, bytes: usize) -> Result<Lent<'_>> {
        // Few sizes, so that a buffer serves slices of many lengths.
        let rounded = bytes.max(SMALLEST).checked_next_power_of_two();
        let length = rounded.filter(|length| *length <= LARGEST).unwrap_or(bytes);
        let kept = self.with(|kept| {
            let index = kept.iter().position(|buffer| buffer.len() == length)?;
            Some(kept.remove(index))
        });
        let buffer = match kept {
            Some(buffer) => buffer,
            None => device.new_buffer(length, StorageMode::Shared)?,
        };
        Ok(Lent {
            scratch: self,
            buffer,
        })
    }

    /// A buffer that begins with `values`.
    pub(super) fn holding<T: Pod>(&self, device: &Device, values: &[T]) -> Result<Lent<'_>> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let lent = self.take(device, bytes.len())?;
        lent.wait_write_range::<u8>(0..bytes.len())?
            .copy_from_slice(bytes);
        Ok(lent)
    }

    fn give_back(&self, buffer: Buffer) {
        if buffer.len() > LARGEST {
            return;
        }
        let oldest = self.with(|kept| {
            kept.push(buffer);
            (kept.len() > MOST).then(|| kept.remove(0))
        });
        drop(oldest);
    }

    fn with<T>(&self, look: impl FnOnce(&mut Vec<Buffer>) -> T) -> T {
        // The list is whole even after a panic.
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A buffer that goes back when this is dropped. Work of the GPU may still use it then: whoever gets it next waits.
#[derive(Debug)]
pub(super) struct Lent<'a> {
    scratch: &'a Scratch,
    buffer: Buffer,
}

impl Deref for Lent<'_> {
    type Target = Buffer;

    fn deref(&self) -> &Buffer {
        &self.buffer
    }
}

impl<'a> From<&'a Lent<'_>> for View<'a> {
    fn from(lent: &'a Lent<'_>) -> View<'a> {
        View::from(&lent.buffer)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.scratch.give_back(self.buffer.clone());
    }
}

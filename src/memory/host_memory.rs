//! Host memory that transfers own until they have completed.

use std::mem;

use bytemuck::Pod;

use crate::error::{Error, Result};
use crate::metal::lent_owner::LentOwner;
use crate::metal::slots::QueuePosition;
use crate::metal::submission::Submission;
use crate::sys::contain_panic;

/// Memory that a transfer reads or writes, at an address that stays the same. A drop means that the transfer
/// will never run.
pub(super) trait HostMemory: Send {
    /// The transfer is about to be committed at its position.
    fn start(&self, _position: &QueuePosition) {}

    /// The transfer has ended, and nothing of it touches the memory any more.
    fn finish(self: Box<Self>, result: &Result<()>);

    /// Nobody knows whether the transfer runs: the memory is never dropped.
    fn leak(self: Box<Self>, error: &Error);
}

/// The host memory of a batch.
#[derive(Default)]
pub(super) struct HostMemories(Vec<Box<dyn HostMemory>>);

impl HostMemories {
    pub(super) fn keep(&mut self, memory: Option<Box<dyn HostMemory>>) {
        self.0.extend(memory);
    }

    pub(super) fn start(&self, position: &QueuePosition) {
        for memory in &self.0 {
            memory.start(position);
        }
    }

    /// What is left to do when the batch has ended with `result`. Owners and receivers are code of the caller's, whose
    /// panics end here.
    pub(super) fn finish(self, result: &Result<()>) {
        for memory in self.0 {
            contain_panic(|| memory.finish(result));
        }
    }

    /// [`finish`](HostMemories::finish), when `submission` has ended.
    pub(super) fn finish_with(self, submission: &Submission) {
        if !self.0.is_empty() {
            submission.on_completed(move |completed| self.finish(&completed.result()));
        }
    }

    /// Never drops the memory, and gives `error` to those who wait for it.
    pub(super) fn leak(self, error: &Error) {
        for memory in self.0 {
            contain_panic(|| memory.leak(error));
        }
    }
}

/// Values that an upload reads.
impl<O: Send> HostMemory for LentOwner<O> {
    fn finish(self: Box<Self>, _result: &Result<()>) {}

    fn leak(self: Box<Self>, _error: &Error) {
        mem::forget(self);
    }
}

/// The values behind `owner`, which stay there, borrowed, until it is dropped.
pub(super) fn lent_values<T: Pod, O: AsRef<[T]>>(owner: &LentOwner<O>) -> (*mut T, usize) {
    // SAFETY: the owner is live, and nobody but its own other references touches it until it is dropped: the shared
    // borrow lasts until then, and whatever gives safe access meanwhile can only read.
    let values = unsafe { (*owner.as_ptr()).as_ref() };
    (values.as_ptr().cast_mut(), values.len())
}

/// The values behind `owner`, exclusively borrowed until it comes back.
pub(super) fn lent_values_mut<T: Pod, O: AsMut<[T]>>(owner: &LentOwner<O>) -> (*mut T, usize) {
    // SAFETY: the owner is live, ours alone, and not touched until it comes back.
    let values = unsafe { (*owner.as_ptr()).as_mut() };
    (values.as_mut_ptr(), values.len())
}

/// Memory that a download fills.
pub(super) trait Received: Send {
    /// What the caller gets.
    type Values: Send;

    /// The memory as values.
    ///
    /// # Safety
    ///
    /// Every byte of it has been written.
    unsafe fn into_values(self) -> Self::Values;
}

impl<O: Send> Received for LentOwner<O> {
    type Values = O;

    unsafe fn into_values(self) -> O {
        self.into_inner()
    }
}

/// Memory for values that are still to be written.
pub(super) struct Unwritten<T> {
    /// Empty, with the capacity.
    values: Vec<T>,
    count: usize,
}

impl<T: Pod> Unwritten<T> {
    /// Memory for `count` values, or `None` if the host has no memory for them.
    pub(super) fn new(count: usize) -> Option<Unwritten<T>> {
        let mut values = Vec::new();
        values.try_reserve_exact(count).ok()?;
        Some(Unwritten { values, count })
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        self.values.as_mut_ptr()
    }
}

impl<T: Pod + Send> Received for Unwritten<T> {
    type Values = Vec<T>;

    unsafe fn into_values(mut self) -> Vec<T> {
        // SAFETY: the capacity is there; the bytes are written, as promised by the caller, and any bytes are a `T:
        // Pod`.
        unsafe { self.values.set_len(self.count) };
        self.values
    }
}

//! Host memory as the source or the destination of a transfer, where it is not simply borrowed.

use std::marker::PhantomData;

use crate::metal::lent_owner::LentOwner;

/// Host memory that the transfer owns until it has completed: a `Vec<T>`, a `Box<[T]>`, an `Arc<[T]>`, an array or any other
/// type that lends a slice.
///
/// As a source, the transfer reads all of `AsRef<[T]>` and then drops it. As a destination, the transfer writes all of
/// `AsMut<[T]>`. The memory comes back with the [`Download`](super::Download), or is dropped if the transfer fails.
pub struct Owned<O, T> {
    pub(super) owner: LentOwner<O>,
    values: PhantomData<fn() -> T>,
}

impl<O, T> Owned<O, T> {
    /// Gives `values` to a transfer.
    pub fn new(values: O) -> Owned<O, T> {
        Owned {
            owner: LentOwner::new(values),
            values: PhantomData,
        }
    }
}

/// A source that the call copies, so that the caller may change or drop it at once.
#[derive(Debug, Clone, Copy)]
pub struct Staged<'v, T>(pub &'v [T]);

/// A destination of new values, which [`Transfer::run`](super::Transfer::run) or the [`Download`](super::Download) returns.
pub struct Values<T> {
    pub(super) count: usize,
    values: PhantomData<fn() -> T>,
}

impl<T> Values<T> {
    /// A destination of `count` values. The memory for them is made when the transfer is recorded.
    pub fn new(count: usize) -> Values<T> {
        Values {
            count,
            values: PhantomData,
        }
    }
}

/// Rows in host memory, which begin `pitch` bytes apart: as many and as wide as the other end of the copy has them. What lies
/// between the rows is neither read nor written.
/// Slices, [`Owned`] and [`Staged`] memory can have rows. [`Values`] take rows only without gaps between them.
#[derive(Debug, Clone, Copy)]
pub struct Rows<E> {
    pub(super) memory: E,
    pub(super) pitch: usize,
}

impl<E> Rows<E> {
    /// Rows in `memory`, `pitch` bytes apart.
    pub fn new(memory: E, pitch: usize) -> Rows<E> {
        Rows { memory, pitch }
    }
}

/// Host memory that [`Rows`] can be in: all of it is initialised, between the rows too.
#[diagnostic::on_unimplemented(
    message = "`Rows` cannot be in `{Self}`",
    note = "borrowed slices, vectors and arrays, `Staged` and `Owned` can have rows"
)]
pub trait HasRows {}

impl<T: ?Sized> HasRows for &T {}
impl<T: ?Sized> HasRows for &mut T {}
impl<O, T> HasRows for Owned<O, T> {}
impl<T> HasRows for Staged<'_, T> {}

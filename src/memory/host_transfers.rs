//! The transfers of a [`Batch`] that have host memory at one end.

use bytemuck::Pod;

use super::batch::Batch;
use super::download::{Download, Receiver};
use super::host_memory::{Unwritten, lent_values, lent_values_mut};
use super::place::{Place, Rectangle};
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::metal::lent_owner::LentOwner;
use crate::sys;

impl<'h> Batch<'h> {
    /// Adds a copy of `values` to the byte at `offset` of `buffer`.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard for CPU access lives, [`Error::ReadOnly`], [`Error::OutOfRange`],
    /// [`Error::OutOfMemory`]. The batch stays as it was.
    pub fn upload<T: Pod>(
        &mut self,
        values: &'h [T],
        buffer: &Buffer,
        offset: usize,
    ) -> Result<()> {
        let rectangle = Rectangle::row(offset, size_of_val(values));
        self.upload_rows("Batch::upload", values, rectangle.width, buffer, rectangle)
    }

    /// Adds a copy of rows of `values`, `pitch` bytes apart, to the rows of `buffer` at `rectangle`.
    ///
    /// # Errors
    ///
    /// As [`upload`](Batch::upload), and [`Error::InvalidArgument`] for a pitch smaller than the width.
    pub fn upload_2d<T: Pod>(
        &mut self,
        values: &'h [T],
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()> {
        self.upload_rows("Batch::upload_2d", values, pitch, buffer, rectangle)
    }

    fn upload_rows<T: Pod>(
        &mut self,
        function: &'static str,
        values: &'h [T],
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()> {
        let source = Place::source(values, pitch, rectangle.width, rectangle.height);
        let destination = Place::Buffer(buffer, rectangle);
        // SAFETY: the values stay borrowed for 'h, which a batch that is run does not outlive, and which is 'static
        // where one is committed.
        unsafe { self.add_copy(function, source, destination, sys::MTB_HOST_BORROWED) }
    }

    /// [`upload`](Batch::upload) of values that the batch owns until it has completed.
    ///
    /// # Errors
    ///
    /// As [`upload`](Batch::upload).
    pub fn upload_owned<T: Pod, O>(
        &mut self,
        values: O,
        buffer: &Buffer,
        offset: usize,
    ) -> Result<()>
    where
        O: AsRef<[T]> + Send + 'static,
    {
        self.upload_rows_owned("Batch::upload_owned", values, buffer, |length| {
            (length, Rectangle::row(offset, length))
        })
    }

    /// [`upload_2d`](Batch::upload_2d) of values that the batch owns until it has completed.
    ///
    /// # Errors
    ///
    /// As [`upload_2d`](Batch::upload_2d).
    pub fn upload_2d_owned<T: Pod, O>(
        &mut self,
        values: O,
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()>
    where
        O: AsRef<[T]> + Send + 'static,
    {
        self.upload_rows_owned("Batch::upload_2d_owned", values, buffer, |_| {
            (pitch, rectangle)
        })
    }

    /// The pitch and the rows in the buffer are what `place` makes of the bytes that there are.
    fn upload_rows_owned<T: Pod, O>(
        &mut self,
        function: &'static str,
        values: O,
        buffer: &Buffer,
        place: impl FnOnce(usize) -> (usize, Rectangle),
    ) -> Result<()>
    where
        O: AsRef<[T]> + Send + 'static,
    {
        let owner = LentOwner::new(values);
        let (values, count) = lent_values::<T, O>(&owner);
        let (pitch, rectangle) = place(count * size_of::<T>());
        let source = Place::host(values, count, pitch, rectangle.width, rectangle.height);
        let destination = Place::Buffer(buffer, rectangle);
        // SAFETY: the owner keeps the values as they are until the batch has completed or is dropped.
        unsafe { self.add_copy(function, source, destination, sys::MTB_HOST_BORROWED) }?;
        self.host_memories.push(owner);
        Ok(())
    }

    /// [`upload`](Batch::upload) of values that are copied at the call.
    ///
    /// # Errors
    ///
    /// As [`upload`](Batch::upload).
    pub fn upload_staged<T: Pod>(
        &mut self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
    ) -> Result<()> {
        let rectangle = Rectangle::row(offset, size_of_val(values));
        let source = Place::source(values, rectangle.width, rectangle.width, 1);
        let destination = Place::Buffer(buffer, rectangle);
        // SAFETY: the values are borrowed for the call, which copies them.
        unsafe {
            self.add_copy(
                "Batch::upload_staged",
                source,
                destination,
                sys::MTB_HOST_COPIED,
            )
        }
    }

    /// Adds a copy from the byte at `offset` of `buffer` to `values`.
    ///
    /// # Errors
    ///
    /// [`Error::InUse`] while a guard that writes the buffer lives, [`Error::OutOfRange`], [`Error::OutOfMemory`]. The
    /// batch stays as it was.
    pub fn download<T: Pod>(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        values: &'h mut [T],
    ) -> Result<()> {
        let rectangle = Rectangle::row(offset, size_of_val(values));
        self.download_rows(
            "Batch::download",
            buffer,
            rectangle,
            values,
            rectangle.width,
        )
    }

    /// Adds a copy of the rows of `buffer` at `rectangle` to rows of `values`, `pitch` bytes apart. The values between
    /// the rows stay as they are.
    ///
    /// # Errors
    ///
    /// As [`download`](Batch::download), and [`Error::InvalidArgument`] for a pitch smaller than the width.
    pub fn download_2d<T: Pod>(
        &mut self,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: &'h mut [T],
        pitch: usize,
    ) -> Result<()> {
        self.download_rows("Batch::download_2d", buffer, rectangle, values, pitch)
    }

    fn download_rows<T: Pod>(
        &mut self,
        function: &'static str,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: &'h mut [T],
        pitch: usize,
    ) -> Result<()> {
        let source = Place::Buffer(buffer, rectangle);
        let destination = Place::destination(values, pitch, rectangle.width, rectangle.height);
        // SAFETY: the values stay borrowed for 'h, which a batch that is run does not outlive, and which is 'static
        // where one is committed.
        unsafe { self.add_copy(function, source, destination, sys::MTB_HOST_BORROWED) }
    }

    /// Adds a copy of `count` values from the byte at `offset` of `buffer`, which come when the batch has completed.
    ///
    /// # Errors
    ///
    /// As [`download`](Batch::download).
    pub fn download_owned<T: Pod + Send>(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        count: usize,
    ) -> Result<Download<Vec<T>>> {
        const FUNCTION: &str = "Batch::download_owned";
        let Some(length) = count.checked_mul(size_of::<T>()) else {
            let message = format!("{count} values are more than there is memory");
            return Err(Error::OutOfRange(Failure::new(FUNCTION, message)));
        };
        let source = Place::Buffer(buffer, Rectangle::row(offset, length));
        // Before there is memory for it: nobody asks the host for more than a buffer can have.
        source.check(FUNCTION)?;
        let Some(mut values) = Unwritten::new(count) else {
            let message = format!("the host has no memory for {length} bytes");
            return Err(Error::OutOfMemory(Failure::new(FUNCTION, message)));
        };
        let destination = Place::host(values.as_mut_ptr(), count, length, length, 1);
        // SAFETY: the memory stays where it is until the batch has completed or is dropped.
        unsafe { self.add_copy(FUNCTION, source, destination, sys::MTB_HOST_BORROWED) }?;
        let (receiver, download) = Receiver::new(values);
        self.host_memories.push(receiver);
        Ok(download)
    }

    /// Adds a copy from the byte at `offset` of `buffer` to all of `values`, which come back when the batch has
    /// completed. Where it fails they are dropped.
    ///
    /// # Errors
    ///
    /// As [`download`](Batch::download).
    pub fn download_into<T: Pod, O>(
        &mut self,
        buffer: &Buffer,
        offset: usize,
        values: O,
    ) -> Result<Download<O>>
    where
        O: AsMut<[T]> + Send + 'static,
    {
        self.download_rows_into("Batch::download_into", buffer, values, |length| {
            (length, Rectangle::row(offset, length))
        })
    }

    /// [`download_2d`](Batch::download_2d) to `values` that come back when the batch has completed. Where it fails they are
    /// dropped.
    ///
    /// # Errors
    ///
    /// As [`download_2d`](Batch::download_2d).
    pub fn download_2d_into<T: Pod, O>(
        &mut self,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: O,
        pitch: usize,
    ) -> Result<Download<O>>
    where
        O: AsMut<[T]> + Send + 'static,
    {
        self.download_rows_into("Batch::download_2d_into", buffer, values, |_| {
            (pitch, rectangle)
        })
    }

    /// The pitch and the rows in the buffer are what `place` makes of the bytes that fit.
    fn download_rows_into<T: Pod, O>(
        &mut self,
        function: &'static str,
        buffer: &Buffer,
        values: O,
        place: impl FnOnce(usize) -> (usize, Rectangle),
    ) -> Result<Download<O>>
    where
        O: AsMut<[T]> + Send + 'static,
    {
        let owner = LentOwner::new(values);
        let (values, count) = lent_values_mut::<T, O>(&owner);
        let (pitch, rectangle) = place(count * size_of::<T>());
        let source = Place::Buffer(buffer, rectangle);
        let destination = Place::host(values, count, pitch, rectangle.width, rectangle.height);
        // SAFETY: the owner keeps the values where they are, for nobody else, until the batch has completed or is
        // dropped.
        unsafe { self.add_copy(function, source, destination, sys::MTB_HOST_BORROWED) }?;
        let (receiver, download) = Receiver::new(owner);
        self.host_memories.push(receiver);
        Ok(download)
    }
}

//! Transfers of a [`TransferQueue`] from and to host memory.

use std::time::Duration;

use bytemuck::Pod;

use super::download::Download;
use super::place::Rectangle;
use super::queue::TransferQueue;
use crate::error::Result;
use crate::metal::buffer::Buffer;
use crate::metal::submission::Submission;

impl TransferQueue {
    /// Copies `values` to the byte at `offset` of `buffer`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload`](super::Batch::upload) and [`Batch::commit_and_wait`](super::Batch::commit_and_wait).
    pub fn upload_and_wait<T: Pod>(
        &self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
    ) -> Result<()> {
        self.run(|batch| batch.upload(values, buffer, offset))
    }

    /// [`upload_and_wait`](TransferQueue::upload_and_wait) that waits no longer than `timeout`. The values are copied at
    /// the call.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_staged`](super::Batch::upload_staged),
    /// [`Batch::commit_timeout`](super::Batch::commit_timeout) and [`Submission::wait_timeout`].
    pub fn upload_timeout<T: Pod>(
        &self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
        timeout: Duration,
    ) -> Result<()> {
        self.run_within(timeout, |batch| batch.upload_staged(values, buffer, offset))
    }

    /// Copies rows of `values`, `pitch` bytes apart, to the rows of `buffer` at `rectangle`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_2d`](super::Batch::upload_2d) and [`Batch::commit_and_wait`](super::Batch::commit_and_wait).
    pub fn upload_2d_and_wait<T: Pod>(
        &self,
        values: &[T],
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<()> {
        self.run(|batch| batch.upload_2d(values, pitch, buffer, rectangle))
    }

    /// Copies `values` to the byte at `offset` of `buffer`, without a wait. The transfer owns them until it has
    /// completed.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_owned`](super::Batch::upload_owned) and [`Batch::commit`](super::Batch::commit).
    pub fn upload_async<T: Pod, O: AsRef<[T]> + Send + 'static>(
        &self,
        values: O,
        buffer: &Buffer,
        offset: usize,
    ) -> Result<Submission> {
        self.submit(|batch| batch.upload_owned(values, buffer, offset))
    }

    /// [`upload_2d_and_wait`](TransferQueue::upload_2d_and_wait) without a wait, of values that the transfer owns
    /// until it has completed.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_2d_owned`](super::Batch::upload_2d_owned) and [`Batch::commit`](super::Batch::commit).
    pub fn upload_2d_async<T: Pod, O: AsRef<[T]> + Send + 'static>(
        &self,
        values: O,
        pitch: usize,
        buffer: &Buffer,
        rectangle: Rectangle,
    ) -> Result<Submission> {
        self.submit(|batch| batch.upload_2d_owned(values, pitch, buffer, rectangle))
    }

    /// Copies `values` to the byte at `offset` of `buffer`, without a wait. The values are copied at the call.
    ///
    /// # Errors
    ///
    /// As [`Batch::upload_staged`](super::Batch::upload_staged) and [`Batch::commit`](super::Batch::commit).
    pub fn upload_staged<T: Pod>(
        &self,
        values: &[T],
        buffer: &Buffer,
        offset: usize,
    ) -> Result<Submission> {
        self.submit(|batch| batch.upload_staged(values, buffer, offset))
    }

    /// Copies from the byte at `offset` of `buffer` to `values`, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::download`](super::Batch::download) and [`Batch::commit_and_wait`](super::Batch::commit_and_wait).
    pub fn download_and_wait<T: Pod>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: &mut [T],
    ) -> Result<()> {
        self.run(|batch| batch.download(buffer, offset, values))
    }

    /// [`download_and_wait`](TransferQueue::download_and_wait) that waits no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`Batch::download_owned`](super::Batch::download_owned),
    /// [`Batch::commit_timeout`](super::Batch::commit_timeout) and [`Submission::wait_timeout`]. After
    /// [`Error::Timeout`](crate::Error::Timeout) `values` stay as they were: a transfer that goes on has memory of its own.
    pub fn download_timeout<T: Pod + Send>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: &mut [T],
        timeout: Duration,
    ) -> Result<()> {
        let count = values.len();
        let download =
            self.run_within(timeout, |batch| batch.download_owned(buffer, offset, count));
        values.copy_from_slice(&download?.wait()?);
        Ok(())
    }

    /// Copies the rows of `buffer` at `rectangle` to rows of `values`, `pitch` bytes apart, and waits.
    ///
    /// # Errors
    ///
    /// As [`Batch::download_2d`](super::Batch::download_2d) and [`Batch::commit_and_wait`](super::Batch::commit_and_wait).
    pub fn download_2d_and_wait<T: Pod>(
        &self,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: &mut [T],
        pitch: usize,
    ) -> Result<()> {
        self.run(|batch| batch.download_2d(buffer, rectangle, values, pitch))
    }

    /// Copies `count` values from the byte at `offset` of `buffer`, without a wait.
    ///
    /// # Errors
    ///
    /// As [`Batch::download_owned`](super::Batch::download_owned) and [`Batch::commit`](super::Batch::commit).
    pub fn download_async<T: Pod + Send>(
        &self,
        buffer: &Buffer,
        offset: usize,
        count: usize,
    ) -> Result<Download<Vec<T>>> {
        self.begin(|batch| batch.download_owned(buffer, offset, count))
    }

    /// Copies from the byte at `offset` of `buffer` to all of `values`, without a wait. They come back with the
    /// [`Download`].
    ///
    /// # Errors
    ///
    /// As [`Batch::download_into`](super::Batch::download_into) and [`Batch::commit`](super::Batch::commit).
    pub fn download_into<T: Pod, O: AsMut<[T]> + Send + 'static>(
        &self,
        buffer: &Buffer,
        offset: usize,
        values: O,
    ) -> Result<Download<O>> {
        self.begin(|batch| batch.download_into(buffer, offset, values))
    }

    /// [`download_2d_and_wait`](TransferQueue::download_2d_and_wait) without a wait, to `values` that come back with
    /// the [`Download`].
    ///
    /// # Errors
    ///
    /// As [`Batch::download_2d_into`](super::Batch::download_2d_into) and [`Batch::commit`](super::Batch::commit).
    pub fn download_2d_into<T: Pod, O: AsMut<[T]> + Send + 'static>(
        &self,
        buffer: &Buffer,
        rectangle: Rectangle,
        values: O,
        pitch: usize,
    ) -> Result<Download<O>> {
        self.begin(|batch| batch.download_2d_into(buffer, rectangle, values, pitch))
    }
}

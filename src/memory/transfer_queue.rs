//! [`TransferQueue`]: transfers in the order of a queue.

use std::fmt;

use bytemuck::Pod;

use super::Memory;
use super::batch::Batch;
use super::buffer_place::BufferPlace;
use super::destination::Destination;
use super::source::Source;
use super::transfer::Transfer;
use crate::error::{Error, Failure, Result};
use crate::metal::queue::CommandQueue;

/// Transfers in the order of a [`CommandQueue`], by way of a [`Memory`]. Clones share both.
///
/// [`copy`](TransferQueue::copy) and [`fill`](TransferQueue::fill) record a [`Transfer`]; a [`batch`](TransferQueue::batch) records
/// many. Nothing happens before they are run or committed:
///
/// - [`run`](Transfer::run) waits as long as it takes, for the queue's earlier work and then for the transfer, since host memory
///   may be borrowed until the end.
/// - [`run_timeout`](Transfer::run_timeout) returns after its timeout at the latest with
///   [`Error::Timeout`](crate::Error::Timeout), whatever it waits for: the transfer goes on, or the queue had no free slot and
///   nothing was committed, which the message says.
/// - [`commit`](Transfer::commit) does not wait for the transfer. If the queue has a thousand transfers that have not completed,
///   `commit` first waits for a slot: ten minutes at most, and then it fails with
///   [`Error::Timeout`](crate::Error::Timeout).
///
/// The queue's later work waits for its completion handlers and host functions, so each of these calls that would wait there
/// returns [`Error::Deadlock`](crate::Error::Deadlock).
#[derive(Clone)]
pub struct TransferQueue {
    memory: Memory,
    queue: CommandQueue,
}

impl Memory {
    /// Transfers in the order of `queue`.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] for a queue of another device.
    pub fn transfer_queue(&self, queue: &CommandQueue) -> Result<TransferQueue> {
        if queue.device() != self.device() {
            let message = format!(
                "the queue belongs to {}, the memory to {}",
                queue.device().name(),
                self.device().name()
            );
            let function = "Memory::transfer_queue";
            return Err(Error::WrongDevice(Failure::new(function, message)));
        }
        Ok(TransferQueue {
            memory: self.clone(),
            queue: queue.clone(),
        })
    }

    /// Transfers on a queue of their own, from the pool.
    ///
    /// # Errors
    ///
    /// As [`acquire_queue`](Memory::acquire_queue).
    pub fn new_transfer_queue(&self) -> Result<TransferQueue> {
        let queue = self.acquire_queue()?;
        Ok(TransferQueue {
            memory: self.clone(),
            queue,
        })
    }
}

impl TransferQueue {
    /// The memory that the transfers go through.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The queue whose order the transfers keep.
    pub fn command_queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// Begins to record transfers for one command buffer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn batch<'h>(&self) -> Result<Batch<'h>> {
        Batch::new(&self.memory, &self.queue)
    }

    /// Records a copy of all bytes of `source` to `destination`, as [`Batch::copy`] does.
    ///
    /// ```
    /// use metal_bridge::memory::{Memory, Owned, Rectangle, Rows, Staged, Values};
    /// use metal_bridge::{Device, StorageMode};
    ///
    /// # if !metal_bridge::is_available() { return Ok(()); }
    /// let device = Device::system_default()?;
    /// let transfers = Memory::new(&device)?.new_transfer_queue()?;
    /// let a = device.new_buffer(64, StorageMode::Private)?;
    /// let b = device.new_buffer(64, StorageMode::Private)?;
    /// let values = vec![1.0f32, 2.0, 3.0, 4.0];
    ///
    /// transfers.copy(&values, a.at(0)).run()?;
    /// transfers.copy(Staged(&values), a.at(16)).commit()?;
    /// transfers.copy(Owned::new(values), a.at(32)).commit()?;
    /// transfers.copy(a.range(8..24), b.at(0)).commit()?;
    /// let column = Rectangle { offset: 4, pitch: 16, width: 4, height: 3 };
    /// transfers.copy(a.rows(column), Rows::new(Owned::new(vec![0.0f32; 6]), 8)).commit()?;
    ///
    /// let values: Vec<f32> = transfers.copy(b.at(0), Values::new(4)).run()?;
    /// assert_eq!(values, [3.0, 4.0, 1.0, 2.0]);
    /// let download = transfers.copy(a.rows(column), Values::<f32>::new(3)).commit()?;
    /// assert_eq!(download.wait()?, [2.0, 2.0, 2.0]);
    /// # Ok::<(), metal_bridge::Error>(())
    /// ```
    pub fn copy<'h, D: Destination<'h>>(
        &self,
        source: impl Source<'h>,
        destination: D,
    ) -> Transfer<'h, D::Output> {
        self.record(|batch| batch.add_copy("TransferQueue::copy", source, destination))
    }

    /// Records a fill of a range or of rows with `value`, as [`Batch::fill`] does.
    pub fn fill<T: Pod>(&self, destination: BufferPlace<'_>, value: T) -> Transfer<'static, ()> {
        self.record(|batch| batch.add_fill("TransferQueue::fill", destination, value))
    }

    fn record<'h, V>(&self, add: impl FnOnce(&mut Batch<'h>) -> Result<V>) -> Transfer<'h, V> {
        let recorded = self.batch().and_then(|mut batch| {
            let output = add(&mut batch)?;
            Ok((batch, output))
        });
        Transfer::new(recorded)
    }
}

impl fmt::Debug for TransferQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransferQueue")
            .field("memory", &self.memory)
            .field("queue", &self.queue)
            .finish()
    }
}

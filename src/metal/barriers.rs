//! The barriers between the dispatches of a [`ComputeEncoder`]: the caller's, and those that an encoder places itself.

use super::buffer::Buffer;
use super::compute::ComputeEncoder;
use super::dispatches::Work;
use super::handle::check;
use super::hazards::Reach;
use crate::error::Result;
use crate::sys;

impl ComputeEncoder<'_> {
    /// Says what the next dispatch does, and that it reaches no more than `reaches`. If the encoder places the barriers itself, and
    /// the dispatch needs one, it goes here.
    #[inline]
    pub(crate) fn note<'b>(
        &mut self,
        work: Work,
        reaches: impl Iterator<Item = Reach<'b>> + Clone,
    ) -> Result<()> {
        let is_met = match &self.dispatches {
            Some(dispatches) => dispatches.hazards.is_met_by(reaches.clone()),
            None => return Ok(()),
        };
        if is_met {
            self.memory_barrier()?;
        }
        if let Some(dispatches) = &mut self.dispatches {
            dispatches.hazards.add(reaches);
            dispatches.is_next_noted = true;
            dispatches.add(work);
        }
        Ok(())
    }

    /// Comes before each dispatch: one that was not noted may reach anything.
    #[inline]
    pub(super) fn order_dispatch(&mut self) -> Result<()> {
        let Some(dispatches) = &mut self.dispatches else {
            return Ok(());
        };
        if std::mem::take(&mut dispatches.is_next_noted) {
            return Ok(());
        }
        if dispatches.hazards.is_met_by_unknown() {
            self.memory_barrier()?;
        }
        if let Some(dispatches) = &mut self.dispatches {
            dispatches.hazards.add_unknown();
            dispatches.work.get_or_insert(Work::OTHER);
        }
        Ok(())
    }

    /// Lets later dispatches see what earlier ones wrote to any buffer (`memoryBarrierWithScope:`).
    ///
    /// # Errors
    ///
    /// [`Error::Internal`](crate::Error::Internal).
    pub fn memory_barrier(&mut self) -> Result<()> {
        // SAFETY: the encoder is live.
        unsafe { check(|error| sys::mtb_compute_encoder_memory_barrier(self.as_ptr(), error)) }?;
        if let Some(dispatches) = &mut self.dispatches {
            dispatches.hazards.barrier();
        }
        Ok(())
    }

    /// [`memory_barrier`](ComputeEncoder::memory_barrier) between two dispatches of one operation; none if the encoder places
    /// the barriers itself.
    pub(crate) fn barrier_between_passes(&mut self) -> Result<()> {
        match self.dispatches {
            Some(_) => Ok(()),
            None => self.memory_barrier(),
        }
    }

    /// Lets later dispatches see what earlier ones wrote to these buffers (`memoryBarrierWithResources:count:`).
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) for no buffers,
    /// [`Error::WrongDevice`](crate::Error::WrongDevice).
    pub fn memory_barrier_buffers(&mut self, buffers: &[&Buffer]) -> Result<()> {
        let raw: Vec<_> = buffers.iter().map(|buffer| buffer.as_ptr()).collect();
        // SAFETY: the encoder and the buffers are live.
        unsafe {
            check(|error| {
                sys::mtb_compute_encoder_memory_barrier_buffers(
                    self.as_ptr(),
                    raw.as_ptr(),
                    raw.len(),
                    error,
                )
            })
        }
    }
}

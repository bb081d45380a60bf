//! The same launches by the CPU: it looks at the queue after each level.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::launch::{HEADER_BYTES, LAUNCH_BYTES, NestedLaunch, QueueHeader, saturated};
use super::program::{FIRST_BUFFER, NestedKernels, RANGE_BYTES};
use super::run::{NestedRun, gpu_time};
use crate::error::{Error, Result};
use crate::metal::buffer::Buffer;
use crate::metal::compute::{ComputeEncoder, DispatchType};
use crate::metal::pipeline::ComputePipeline;
use crate::metal::queue::CommandQueue;

impl NestedKernels {
    /// [`run`](NestedKernels::run) with launches by the CPU, which waits for each level and then dispatches the next one: to
    /// see what the GPU's own launches save.
    ///
    /// # Errors
    ///
    /// As [`run`](NestedKernels::run).
    ///
    /// # Safety
    ///
    /// As [`encode`](NestedKernels::encode).
    pub unsafe fn run_by_cpu(
        &self,
        queue: &CommandQueue,
        roots: &[NestedLaunch],
        buffers: &[&Buffer],
    ) -> Result<NestedRun> {
        let begin = Instant::now();
        let _turn = self.take_turn("NestedKernels::run_by_cpu")?;
        let outcome = self.begin(roots, buffers)?;
        // SAFETY: the caller's promise, and it is this thread's turn.
        let took = unsafe { self.run_levels(queue, buffers) };
        // Nobody else has the place.
        let _ = outcome.set(took.as_ref().map(|_| ()).map_err(Error::clone));
        let (on_gpu, waited) = took?;
        let elapsed = begin.elapsed();
        Ok(NestedRun {
            cpu_time: elapsed - waited,
            gpu_time: on_gpu,
            elapsed,
            ..self.outcome()?
        })
    }

    /// Dispatches level after level. Gives the time on the GPU and that of the waits.
    ///
    /// # Safety
    ///
    /// As [`encode`](NestedKernels::encode), by the thread whose turn it is.
    unsafe fn run_levels(
        &self,
        queue: &CommandQueue,
        buffers: &[&Buffer],
    ) -> Result<(Duration, Duration)> {
        let (mut on_gpu, mut waited) = (Duration::ZERO, Duration::ZERO);
        let mut first = 0;
        for level in 0..self.limits.levels {
            let appended = self.header()?.appended as usize;
            let end = appended.min(self.limits.launches).max(first);
            self.ranges.wait_copy_from_slice(
                RANGE_BYTES * level,
                &[saturated(first), saturated(end - first)],
            )?;
            if first == end {
                break;
            }
            let launches = self.take_level(level, first..end)?;
            let mut command_buffer = queue.command_buffer()?;
            let mut encoder = command_buffer.compute_command_encoder(DispatchType::Concurrent)?;
            // SAFETY: the caller's promise.
            unsafe { self.dispatch_level(&mut encoder, &launches, buffers)? };
            encoder.end_encoding()?;
            let submission = command_buffer.commit()?;
            let committed = Instant::now();
            submission.wait()?;
            waited += committed.elapsed();
            on_gpu += gpu_time(&submission);
            first = end;
        }
        Ok((on_gpu, waited))
    }

    /// The launches at these places of the queue, each with its offset, less those that cannot run: those of a function or
    /// of threadgroups that there cannot be are counted.
    fn take_level(&self, level: usize, places: Range<usize>) -> Result<Vec<(usize, NestedLaunch)>> {
        const HEADER_WORDS: usize = HEADER_BYTES / 4;
        let mut words = self.queue.wait_write::<u32>()?;
        let (header, launches) = words.split_at_mut(HEADER_WORDS);
        let header: &mut QueueHeader = bytemuck::from_bytes_mut(bytemuck::cast_slice_mut(header));
        let launches: &mut [NestedLaunch] = bytemuck::cast_slice_mut(launches);
        let mut taken = Vec::with_capacity(places.len());
        for place in places {
            let launch = &mut launches[place];
            *launch = launch.at_level(level);
            if launch.is_empty() {
                continue;
            }
            let function = self.functions.get(launch.function());
            let most = function.map_or(0, ComputePipeline::max_total_threads_per_threadgroup);
            match launch.fits(most) {
                true => taken.push((HEADER_BYTES + LAUNCH_BYTES * place, *launch)),
                false => header.refused += 1,
            }
        }
        Ok(taken)
    }

    /// # Safety
    ///
    /// As [`encode`](NestedKernels::encode).
    unsafe fn dispatch_level(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        launches: &[(usize, NestedLaunch)],
        buffers: &[&Buffer],
    ) -> Result<()> {
        for (index, buffer) in buffers.iter().enumerate() {
            encoder.set_buffer(buffer, 0, FIRST_BUFFER + index)?;
        }
        encoder.set_buffer(&self.queue, 0, 0)?;
        for (offset, launch) in launches {
            encoder.set_compute_pipeline_state(&self.functions[launch.function()])?;
            encoder.set_buffer(&self.queue, *offset, 1)?;
            // SAFETY: the caller's promise.
            unsafe {
                encoder.dispatch_threads(launch.threads(), launch.threads_per_threadgroup())?;
            }
        }
        Ok(())
    }
}

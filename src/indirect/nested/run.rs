//! [`NestedRun`]: how a run of nested kernels ended, and what it took.

use std::time::{Duration, Instant};

use super::launch::{HEADER_BYTES, NestedLaunch, QueueHeader};
use super::program::{NestedKernels, out_of_range};
use crate::error::{Error, Failure, Result};
use crate::metal::buffer::Buffer;
use crate::metal::queue::CommandQueue;
use crate::metal::submission::Submission;

/// What a run of nested kernels took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct NestedRun {
    /// The levels that had launches.
    pub levels: usize,
    /// The launches of all levels.
    pub launches: usize,
    /// The CPU's time to encode and commit the run, and to look at its queue; without its waits.
    pub cpu_time: Duration,
    /// The time of the command buffers on the GPU.
    pub gpu_time: Duration,
    /// From the first call to the end of the last wait.
    pub elapsed: Duration,
}

pub(super) fn gpu_time(submission: &Submission) -> Duration {
    let times = submission.times();
    times.map_or(Duration::ZERO, |times| {
        Duration::from_secs_f64((times.gpu_end - times.gpu_start).max(0.0))
    })
}

impl NestedKernels {
    /// Runs the launches `roots` and all that they launch, and waits for the end.
    ///
    /// # Errors
    ///
    /// Those of [`encode`](NestedKernels::encode) and of [`outcome`](NestedKernels::outcome),
    /// [`Error::CommandBuffer`] if the GPU failed.
    ///
    /// # Safety
    ///
    /// As [`encode`](NestedKernels::encode).
    pub unsafe fn run(
        &self,
        queue: &CommandQueue,
        roots: &[NestedLaunch],
        buffers: &[&Buffer],
    ) -> Result<NestedRun> {
        let begin = Instant::now();
        let _turn = self.take_turn("NestedKernels::run")?;
        let mut command_buffer = queue.command_buffer()?;
        // SAFETY: the caller's promise, and it is this thread's turn.
        unsafe { self.encode_run(&mut command_buffer, roots, buffers)? };
        let submission = command_buffer.commit()?;
        let cpu_time = begin.elapsed();
        submission.wait()?;
        let elapsed = begin.elapsed();
        Ok(NestedRun {
            cpu_time,
            gpu_time: gpu_time(&submission),
            elapsed,
            ..self.outcome()?
        })
    }

    /// Waits for the end of the run that was encoded last, and says how many levels and launches there were. The times are
    /// zero.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if launches found no place in the queue, or if launches are left after the last level;
    /// [`Error::InvalidArgument`] if launches named a function or a threadgroup that there cannot be. Such launches have
    /// not run; all others have. [`Error::CommandBuffer`] if the GPU failed: nobody knows which launches have run.
    /// [`Error::InvalidState`] before a run was encoded, and if the run's command buffer was dropped or its commit failed:
    /// none has run. Those of a wait for a buffer.
    pub fn outcome(&self) -> Result<NestedRun> {
        const FUNCTION: &str = "NestedKernels::outcome";
        let invalid_state = |message| Error::InvalidState(Failure::new(FUNCTION, message));
        // Both guards live to the end: all that is read is of one run.
        let header = self.queue.wait_read_range::<u8>(0..HEADER_BYTES)?;
        let ranges = self.ranges.wait_read::<[u32; 2]>()?;
        let last = self
            .last()
            .ok_or_else(|| invalid_state("no run was encoded"))?;
        let ended = last
            .get()
            .ok_or_else(|| invalid_state("the run was not committed"))?;
        ended.clone()?;
        let header: QueueHeader = bytemuck::pod_read_unaligned(&header);
        let launches = self.limits.launches;
        if header.dropped > 0 {
            let dropped = header.dropped;
            let message = format!(
                "the queue has places for {launches} launches: {dropped} more were dropped"
            );
            return Err(out_of_range(FUNCTION, message));
        }
        if header.refused > 0 {
            let message = format!(
                "{} launches were refused: there is no such function, or its threadgroups cannot be so large",
                header.refused
            );
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let run: usize = ranges.iter().map(|[_, count]| *count as usize).sum();
        let left = (header.appended as usize).min(launches).saturating_sub(run);
        if left > 0 {
            let message = format!("{left} launches are left after {} levels", ranges.len());
            return Err(out_of_range(FUNCTION, message));
        }
        Ok(NestedRun {
            levels: ranges.iter().filter(|[_, count]| *count > 0).count(),
            launches: run,
            ..Default::default()
        })
    }

    pub(super) fn header(&self) -> Result<QueueHeader> {
        let bytes = self.queue.wait_read_range::<u8>(0..HEADER_BYTES)?;
        Ok(bytemuck::pod_read_unaligned(&bytes))
    }
}

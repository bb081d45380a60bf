//! A kernel that computes as fast as the device does.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::launch::{Cost, Grid, Launch, Operand};
use crate::ops::pipelines::KernelName;
use crate::ops::shader::Shader;
use crate::ops::{Ops, View};

/// As in `shaders/peak.metal`.
const SUMS: usize = 64;

impl Ops {
    /// `steps` multiply-adds of each of 64 sums that do not wait for one another, in each of `threads` threads: the fastest that
    /// the device computes in `f32`. `y` gets a float of each thread. Kernel `multiply_add`.
    pub(crate) fn multiply_add(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        y: View<'_>,
        threads: usize,
        steps: u32,
    ) -> Result<()> {
        let kernel = KernelName::new(Shader::Peak, "multiply_add");
        let launch = Launch {
            function: "Ops::multiply_add",
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: steps,
            operands: &[Operand::write("y", y, threads * size_of::<f32>(), 4)],
            cost: Cost::new("f32", [2, SUMS, threads, steps as usize]),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: threads.into(),
                threadgroup: threads.min(256).into(),
            },
        };
        // SAFETY: each of the threads writes its float.
        unsafe { launch.encode(encoder) }
    }
}

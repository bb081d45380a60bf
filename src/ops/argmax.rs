//! The largest element of each row.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    columns: u32,
}

impl Ops {
    /// `y[r]` = the index of the largest element of `x[r, :]`, the first one if several are equal: `x` is
    /// `[rows, columns]` of f32, `y` is `[rows]` of u32. NaN counts as the smallest, the zeros of both signs as equal.
    /// Kernel `argmax`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for no columns; otherwise as for [`Ops::linear`].
    pub fn argmax<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        rows: usize,
        columns: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::argmax";
        if columns == 0 {
            return Err(Error::InvalidArgument(Failure::new(
                FUNCTION,
                "a row without columns does not have a largest element",
            )));
        }
        let operands = [
            Operand::read("x", x.into(), bytes4(FUNCTION, "x", &[rows, columns])?, 4),
            Operand::write("y", y.into(), bytes4(FUNCTION, "y", &[rows])?, 4),
        ];
        if rows == 0 {
            return Ok(());
        }
        let pipeline = self
            .pipelines
            .pipeline(KernelName::new(Shader::Argmax, "argmax"))?;
        let most = pipeline.max_total_threads_per_threadgroup() / SIMD_WIDTH * SIMD_WIDTH;
        let launch = Launch {
            function: FUNCTION,
            pipeline: &pipeline,
            arguments: Arguments {
                columns: columns as u32,
            },
            operands: &operands,
            cost: Cost::new("f32", [rows, columns]),
            threadgroup_memory: 0,
            grid: Grid::Threadgroups {
                groups: rows.into(),
                threadgroup: columns.next_multiple_of(SIMD_WIDTH).min(most).into(),
            },
        };
        // SAFETY: the kernel reads rows below `rows` of `columns` elements and writes one index a row.
        unsafe { launch.encode(target) }
    }
}

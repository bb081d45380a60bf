//! The gate of a feed-forward layer.

use crate::error::Result;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::KernelName;
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View};

/// Threads of a threadgroup: each takes four elements.
const THREADS: usize = 256;

impl Ops {
    /// `y = a / (1 + exp(-a)) * b`, the gate of SwiGLU (Shazeer 2020, arXiv:2002.05202), for `count` f32 elements. Where `exp(-a)`
    /// overflows, also if `a` is -infinity, `y` is `0 * b`. `y` may be `a` or `b`. Kernel `silu_multiply`.
    ///
    /// # Errors
    ///
    /// As for [`Ops::linear`].
    pub fn silu_multiply<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        a: impl Into<View<'a>>,
        b: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::silu_multiply";
        let bytes = bytes4(FUNCTION, "y", &[count])?;
        let operands = [
            Operand::read("a", a.into(), bytes, 4),
            Operand::read("b", b.into(), bytes, 4),
            Operand::write("y", y.into(), bytes, 4).in_place(),
        ];
        if count == 0 {
            return Ok(());
        }
        let kernel = KernelName::new(Shader::Gate, "silu_multiply");
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: count as u32,
            operands: &operands,
            cost: Cost::new("f32", [count]),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: count.div_ceil(4).into(),
                threadgroup: THREADS.into(),
            },
        };
        // SAFETY: the kernel reads and writes `count` elements.
        unsafe { launch.encode(target) }
    }
}

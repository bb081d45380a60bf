//! The gates of feed-forward layers, and soft caps.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View};

/// Threads of a threadgroup: each takes four elements.
const THREADS: usize = 256;

/// The activation of [`Ops::gate`]. NaN, of `a` or of `b`, gives NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// `a / (1 + exp(-a))`, of SwiGLU. Where `exp(-a)` overflows, also if `a` is -infinity, it is 0.
    Silu,
    /// `a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 * a^3)))`, of GeGLU: GELU's approximation (Hendrycks and Gimpel 2016,
    /// arXiv:1606.08415). Beyond -10 and 10 it is 0 and `a`.
    GeluTanh,
    /// `min(a, 7) / (1 + exp(-1.702 * min(a, 7)))`, and `b` is not what it is multiplied by, but `1 + b`, with `b` clamped to -7
    /// and 7: the gate of gpt-oss.
    Clamped,
}

impl Gate {
    /// As `gate.metal` numbers it.
    const fn code(self) -> u32 {
        match self {
            Gate::Silu => 0,
            Gate::GeluTanh => 1,
            Gate::Clamped => 2,
        }
    }
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CapArguments {
    count: u32,
    cap: f32,
}

impl Ops {
    /// `y = activation(a) * b`, the gate of a feed-forward layer (Shazeer 2020, arXiv:2002.05202), for `count` f32 elements.
    /// `y` may be `a` or `b`. Kernel `gate_multiply`.
    ///
    /// # Errors
    ///
    /// As for [`Ops::linear`].
    pub fn gate<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        gate: Gate,
        a: impl Into<View<'a>>,
        b: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        self.gate_of(
            target,
            "Ops::gate",
            gate,
            [a.into(), b.into(), y.into()],
            count,
        )
    }

    /// `y = a / (1 + exp(-a)) * b`: [`Ops::gate`] with [`Gate::Silu`].
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
        let views = [a.into(), b.into(), y.into()];
        self.gate_of(target, "Ops::silu_multiply", Gate::Silu, views, count)
    }

    fn gate_of(
        &self,
        target: &mut dyn LaunchTarget,
        function: &'static str,
        gate: Gate,
        [a, b, y]: [View<'_>; 3],
        count: usize,
    ) -> Result<()> {
        let bytes = bytes4(function, "y", &[count])?;
        let operands = [
            Operand::read("a", a, bytes, 4),
            Operand::read("b", b, bytes, 4),
            Operand::write("y", y, bytes, 4).in_place(),
        ];
        if count == 0 {
            return Ok(());
        }
        let kernel =
            KernelName::new(Shader::Gate, "gate_multiply").with(Constant::Uint(0, gate.code()));
        let launch = Launch {
            function,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: count as u32,
            operands: &operands,
            cost: Cost::new("f32", [count]),
            threadgroup_memory: 0,
            grid: quads(count),
        };
        // SAFETY: the kernel reads and writes `count` elements.
        unsafe { launch.encode(target) }
    }

    /// `x = cap * tanh(x / cap)` in place, for `count` f32 elements: nothing is left beyond -cap and cap. NaN stays NaN. Kernel `soft_cap`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the cap is not positive and finite; otherwise as for [`Ops::linear`].
    pub fn soft_cap<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        x: impl Into<View<'a>>,
        count: usize,
        cap: f32,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::soft_cap";
        check_cap(FUNCTION, cap)?;
        let bytes = bytes4(FUNCTION, "x", &[count])?;
        let operands = [Operand::write("x", x.into(), bytes, 4)];
        if count == 0 {
            return Ok(());
        }
        let kernel = KernelName::new(Shader::Gate, "soft_cap");
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: CapArguments {
                count: count as u32,
                cap,
            },
            operands: &operands,
            cost: Cost::new("f32", [3, count]),
            threadgroup_memory: 0,
            grid: quads(count),
        };
        // SAFETY: the kernel reads and writes `count` elements.
        unsafe { launch.encode(target) }
    }
}

/// A thread for each four elements.
fn quads(count: usize) -> Grid {
    Grid::Threads {
        grid: count.div_ceil(4).into(),
        threadgroup: THREADS.into(),
    }
}

/// Checks what soft caps are of.
pub(super) fn check_cap(function: &'static str, cap: f32) -> Result<()> {
    if cap > 0.0 && cap.is_finite() {
        return Ok(());
    }
    let message = format!("the soft cap ({cap}) must be positive and finite");
    Err(Error::InvalidArgument(Failure::new(function, message)))
}

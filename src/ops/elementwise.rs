//! Element by element: SiLU gate, addition, scaling, copy.

use bytemuck::{Pod, Zeroable};

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::launch::{Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::KernelName;
use crate::ops::shader::Shader;
use crate::ops::{Ops, View};

/// Threads of a threadgroup: each takes four elements.
const THREADS: usize = 256;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    count: u32,
    factor: f32,
}

impl Ops {
    /// `y = a / (1 + exp(-a)) * b`, the gate of SwiGLU (Shazeer 2020, arXiv:2002.05202), for `count` f32 elements. `y` may be
    /// `a` or `b`. Kernel `silu_multiply`.
    ///
    /// # Errors
    ///
    /// As for [`Ops::matmul`].
    pub fn silu_multiply<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        a: impl Into<View<'a>>,
        b: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        let inputs = [("a", a.into()), ("b", b.into())];
        self.elementwise(
            encoder,
            "Ops::silu_multiply",
            "silu_multiply",
            &inputs,
            y.into(),
            count,
            1.0,
        )
    }

    /// `y = a + b` for `count` f32 elements. `y` may be `a` or `b`. Kernel `add`.
    ///
    /// # Errors
    ///
    /// As for [`Ops::matmul`].
    pub fn add<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        a: impl Into<View<'a>>,
        b: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        let inputs = [("a", a.into()), ("b", b.into())];
        self.elementwise(encoder, "Ops::add", "add", &inputs, y.into(), count, 1.0)
    }

    /// `y = x * factor` for `count` f32 elements. `y` may be `x`. Kernel `scale`.
    ///
    /// # Errors
    ///
    /// As for [`Ops::matmul`].
    pub fn scale<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<View<'a>>,
        factor: f32,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        self.elementwise(
            encoder,
            "Ops::scale",
            "scale",
            &[("x", x.into())],
            y.into(),
            count,
            factor,
        )
    }

    /// `y = x` for `count` 32-bit elements, bit by bit: a copy within a compute encoder. Kernel `copy`.
    ///
    /// # Errors
    ///
    /// As for [`Ops::matmul`].
    pub fn copy<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        self.elementwise(
            encoder,
            "Ops::copy",
            "copy",
            &[("x", x.into())],
            y.into(),
            count,
            1.0,
        )
    }

    #[allow(clippy::too_many_arguments)]
    fn elementwise(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        function: &'static str,
        kernel: &'static str,
        inputs: &[(&'static str, View<'_>)],
        y: View<'_>,
        count: usize,
        factor: f32,
    ) -> Result<()> {
        let bytes = bytes4(function, "y", &[count])?;
        let mut operands: Vec<Operand<'_>> = inputs
            .iter()
            .map(|&(name, view)| Operand::read(name, view, bytes, 4))
            .collect();
        operands.push(Operand::write("y", y, bytes, 4).in_place());
        if count == 0 {
            return Ok(());
        }
        let launch = Launch {
            function,
            pipeline: &self
                .pipelines
                .pipeline(KernelName::new(Shader::Elementwise, kernel))?,
            arguments: Arguments {
                count: count as u32,
                factor,
            },
            operands: &operands,
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: count.div_ceil(4).into(),
                threadgroup: THREADS.into(),
            },
        };
        // SAFETY: the kernels read and write `count` elements.
        unsafe { launch.encode(encoder) }
    }
}

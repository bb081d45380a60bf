//! Embedding rows.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{LaunchTarget, Ops, View, Weight};

/// Elements that a thread unpacks.
const CHUNK_ELEMENTS: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    rows: u32,
    k: u32,
    scale: f32,
}

impl Ops {
    /// `y[i, :] = table[ids[i], :]`, unpacked to f32: `ids` is `[count]` of u32, `y` is `[count, table.columns()]`. Kernel
    /// `embed_*`.
    ///
    /// An id past the table gives its last row: ids are data on the device, which this call cannot see.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange), [`Error::Misaligned`](crate::Error::Misaligned) and
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) as for [`Ops::linear`].
    pub fn embed<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        table: &Weight,
        ids: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
    ) -> Result<()> {
        let (ids, y) = (ids.into(), y.into());
        self.embed_rows(target, "Ops::embed", table, [ids, y], count, 1.0)
    }

    /// `y[i, :] = scale * table[ids[i], :]`, as [`Ops::embed`] otherwise.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::embed`]; [`Error::InvalidArgument`] if the scale is not finite.
    pub fn embed_scaled<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        table: &Weight,
        ids: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        count: usize,
        scale: f32,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::embed_scaled";
        if !scale.is_finite() {
            let message = format!("scale ({scale}) must be finite");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        self.embed_rows(
            target,
            FUNCTION,
            table,
            [ids.into(), y.into()],
            count,
            scale,
        )
    }

    fn embed_rows(
        &self,
        target: &mut dyn LaunchTarget,
        function: &'static str,
        table: &Weight,
        [ids, y]: [View<'_>; 2],
        count: usize,
        scale: f32,
    ) -> Result<()> {
        let k = table.columns();
        let operands = [
            Operand::read(
                "the table",
                table.view(),
                table.bytes(),
                table.kind().alignment(),
            )
            .moving((table.bytes() / table.rows()).saturating_mul(count)),
            Operand::read("ids", ids, bytes4(function, "ids", &[count])?, 4),
            Operand::write("y", y, bytes4(function, "y", &[count, k])?, 4),
        ];
        if count == 0 {
            return Ok(());
        }
        let launch = Launch {
            function,
            pipeline: &self
                .pipelines
                .pipeline(KernelName::new(Shader::Embed, table.kind().kernels().embed))?,
            arguments: Arguments {
                rows: table.rows() as u32,
                k: k as u32,
                scale,
            },
            operands: &operands,
            cost: Cost::bytes_only(table.kind().name()),
            threadgroup_memory: 0,
            grid: Grid::Threads {
                grid: Size::new(k.div_ceil(CHUNK_ELEMENTS), count, 1),
                threadgroup: SIMD_WIDTH.into(),
            },
        };
        // SAFETY: the kernel clamps ids to the table and writes y[count, k].
        unsafe { launch.encode(target) }
    }
}

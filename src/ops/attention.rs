//! Attention over a KV cache.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::device::Size;
use crate::ops::gate::check_cap;
use crate::ops::launch::{Cost, Grid, Launch, Operand, bytes4};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::{KvCache, KvElement, KvShape, LaneExecution, LaunchTarget, Ops, View};

/// Rows of a simdgroup matrix: fewer rows do not fill one.
const TILE_MIN_ROWS: usize = 8;

/// What [`Ops::attention`] computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionShape {
    /// Heads of queries: a multiple of the cache's heads.
    pub heads: usize,
    /// Rows of queries: consecutive positions.
    pub rows: usize,
    /// Positions before the first row; row r sees the keys 0 to `past + r`.
    pub past: usize,
    /// What scores are multiplied by: as a rule `1 / sqrt(head_size)`.
    pub scale: f32,
    /// The most keys that a row sees: its own and those right before it (Beltagy et al. 2020, arXiv:2004.05150). `None`: all.
    pub window: Option<usize>,
    /// Caps scores softly: `cap * tanh(score / cap)` takes the place of a score, after it was scaled.
    pub soft_cap: Option<f32>,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    rows: u32,
    heads: u32,
    kv_heads: u32,
    pages: u32,
    past: u32,
    scale: f32,
    window: u32,
    cap: f32,
}

impl Ops {
    /// `y[r, h] = softmax(scale * q[r, h] . keys) . values` over the positions that row r sees. A window or a cap of the shape
    /// limits these positions or the scores. `table` names the text's pages ([`KvCache`]). `q` and `y` are `[rows, heads, head_size]` of f32. Query heads share the cache's heads in groups (Ainslie et al. 2023,
    /// arXiv:2305.13245). The cache has to hold the rows' own positions already ([`Ops::kv_append`]). Kernels
    /// `attention_vector_*` for few rows (`attention_in_turn_*` on a device that runs lanes one after another), `attention_tile_*` (on
    /// simdgroup matrices) for many.
    ///
    /// One pass with an online softmax (Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135):
    /// no scores are kept, whatever the length.
    ///
    /// A row that sees a NaN gives NaN. In `attention_tile_*` other rows of the same call may give NaN too, because a matrix
    /// multiplies what they do not see by zero.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the heads do not fit the cache's, the scale is not finite, the window has no keys, or the
    /// cap is not positive and finite; [`Error::OutOfRange`] if the rows do not fit in the cache, or `table`, `q` or
    /// `y` in its buffer; [`Error::Misaligned`] if `y` is not on a multiple of 16 bytes, or `table` or `q` not of 4.
    pub fn attention<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        cache: &KvCache,
        table: impl Into<View<'a>>,
        q: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        shape: &AttentionShape,
    ) -> Result<()> {
        self.attend(
            target,
            "Ops::attention",
            cache,
            table.into(),
            q.into(),
            None,
            y.into(),
            shape,
        )
    }

    /// As [`Ops::attention`], with a sink for each head: `exp(sink)` is added to the sum of the exponentials that the softmax
    /// divides by (Xiao et al. 2023, arXiv:2309.17453). `sinks` is `[heads]` of f32, in units of scores. A sink that is NaN or
    /// infinity makes NaN of its head's results; one of -infinity does nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::attention`], also for the sinks.
    #[allow(clippy::too_many_arguments)]
    pub fn attention_with_sinks<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        cache: &KvCache,
        table: impl Into<View<'a>>,
        q: impl Into<View<'a>>,
        sinks: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        shape: &AttentionShape,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::attention_with_sinks";
        let (table, q, y) = (table.into(), q.into(), y.into());
        let sinks = Some(sinks.into());
        self.attend(target, FUNCTION, cache, table, q, sinks, y, shape)
    }

    #[allow(clippy::too_many_arguments)]
    fn attend(
        &self,
        target: &mut dyn LaunchTarget,
        function: &'static str,
        cache: &KvCache,
        table: View<'_>,
        q: View<'_>,
        sinks: Option<View<'_>>,
        y: View<'_>,
        shape: &AttentionShape,
    ) -> Result<()> {
        let AttentionShape {
            heads,
            rows,
            past,
            scale,
            window,
            soft_cap,
        } = *shape;
        let KvShape {
            element,
            kv_heads,
            pages,
            head_size,
        } = *cache.shape();
        let refused = |message| Err(Error::InvalidArgument(Failure::new(function, message)));
        if heads == 0 || heads % kv_heads != 0 {
            return refused(format!(
                "heads ({heads}) must be a positive multiple of the cache's {kv_heads} heads"
            ));
        }
        if !scale.is_finite() {
            return refused(format!("scale ({scale}) must be finite"));
        }
        if window == Some(0) {
            return refused("a window must have at least 1 key, not 0".to_owned());
        }
        soft_cap.map_or(Ok(()), |cap| check_cap(function, cap))?;
        let table_bytes = cache.table_bytes(function, past, rows)?;
        // The keys that any row sees.
        let keys = match window {
            Some(window) => (past + rows).min(rows.saturating_sub(1).saturating_add(window)),
            None => past + rows,
        };
        let bytes = bytes4(function, "q", &[rows, heads, head_size])?;
        let read = element.bytes(keys * kv_heads * head_size);
        let all = [
            Operand::read("the page table", table, table_bytes, 4),
            Operand::read("q", q, bytes, 4),
            Operand::read("the keys", cache.keys(), cache.bytes(), 16).moving(read),
            Operand::read("the values", cache.values(), cache.bytes(), 16).moving(read),
            Operand::write("y", y, bytes, 16),
            // The last one, which is left out without sinks.
            Operand::read(
                "the sinks",
                sinks.unwrap_or(q),
                bytes4(function, "the sinks", &[heads])?,
                4,
            ),
        ];
        let operands = &all[..5 + usize::from(sinks.is_some())];
        if rows == 0 {
            return Ok(());
        }
        let tile = Plan::tile(element, head_size, rows)
            .filter(|_| self.has_matrices && self.lanes == LaneExecution::Lockstep);
        let plan = tile.unwrap_or_else(|| {
            let keys = (past + rows).min(window.unwrap_or(usize::MAX));
            match self.lanes {
                LaneExecution::InTurn => Plan::in_turn(element, head_size, rows),
                LaneExecution::Lockstep => Plan::vector(element, head_size, rows, keys),
            }
        });
        let kernel = plan
            .kernel
            .with(Constant::Bool(1, soft_cap.is_some()))
            .with(Constant::Bool(2, sinks.is_some()));
        let launch = Launch {
            function,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                rows: rows as u32,
                heads: heads as u32,
                kv_heads: kv_heads as u32,
                pages: pages as u32,
                past: past as u32,
                scale,
                // A row has fewer than 2^32 keys.
                window: window.map_or(u32::MAX, |window| window.min(u32::MAX as usize) as u32),
                cap: soft_cap.unwrap_or(1.0),
            },
            operands,
            cost: Cost::new(element.name(), [4, rows, heads, keys, head_size]),
            threadgroup_memory: plan.shared_floats.next_multiple_of(4) * size_of::<f32>(),
            grid: Grid::Threadgroups {
                groups: Size::new(heads, plan.groups, 1),
                threadgroup: plan.threads.into(),
            },
        };
        // SAFETY: the kernels read q, the table of positions below past + rows, and pages of the cache only, and write
        // y[rows, heads, head_size]; they divide `shared` as the plan says.
        unsafe { launch.encode(target) }
    }
}

/// Which of the kernels runs, and over which grid.
struct Plan {
    kernel: KernelName,
    /// Floats of the kernel's `shared`, as it divides them.
    shared_floats: usize,
    /// Threadgroups for each head.
    groups: usize,
    /// Threads of a threadgroup.
    threads: usize,
}

impl Plan {
    /// `attention_tile.metal`: each threadgroup computes 32 rows. `None` for few rows, and for head sizes that it is not made for.
    fn tile(element: KvElement, head_size: usize, rows: usize) -> Option<Plan> {
        const SIMDGROUPS: usize = 4;
        const ROWS: usize = 8 * SIMDGROUPS;
        const KEYS: usize = 32;
        const PADDING: usize = 4;
        let function = match (element, head_size) {
            _ if rows < TILE_MIN_ROWS => return None,
            (KvElement::F32, 32) => "attention_tile_f32_32",
            (KvElement::F32, 64) => "attention_tile_f32_64",
            (KvElement::F32, 80) => "attention_tile_f32_80",
            (KvElement::F32, 96) => "attention_tile_f32_96",
            (KvElement::F32, 128) => "attention_tile_f32_128",
            (KvElement::F16, 32) => "attention_tile_f16_32",
            (KvElement::F16, 64) => "attention_tile_f16_64",
            (KvElement::F16, 80) => "attention_tile_f16_80",
            (KvElement::F16, 96) => "attention_tile_f16_96",
            (KvElement::F16, 128) => "attention_tile_f16_128",
            (KvElement::Q8_0, 32) => "attention_tile_q8_0_32",
            (KvElement::Q8_0, 64) => "attention_tile_q8_0_64",
            (KvElement::Q8_0, 96) => "attention_tile_q8_0_96",
            (KvElement::Q8_0, 128) => "attention_tile_q8_0_128",
            _ => return None,
        };
        Some(Plan {
            kernel: KernelName::new(Shader::AttentionTile, function),
            shared_floats: KEYS * (head_size + PADDING) + SIMDGROUPS * (8 * (KEYS + PADDING) + 64),
            groups: rows.div_ceil(ROWS),
            threads: SIMDGROUPS * SIMD_WIDTH,
        })
    }

    /// `attention_vector.metal`: each threadgroup computes one row, and divides the row's keys among its simdgroups. It has one
    /// simdgroup for each 64 of the `keys` of the last row, and 8 at most.
    fn vector(element: KvElement, head_size: usize, rows: usize, keys: usize) -> Plan {
        const KEYS: usize = 64;
        const MAX_SIMDGROUPS: usize = 8;
        let simdgroups = keys.div_ceil(KEYS).min(MAX_SIMDGROUPS);
        let sets = SIMD_WIDTH / (head_size / 4).min(SIMD_WIDTH);
        let function = match element {
            KvElement::F32 => "attention_vector_f32",
            KvElement::F16 => "attention_vector_f16",
            KvElement::Q8_0 => "attention_vector_q8_0",
        };
        Plan {
            kernel: KernelName::new(Shader::AttentionVector, function)
                .with(Constant::Uint(0, head_size as u32)),
            shared_floats: head_size + simdgroups * (KEYS + sets * head_size + 2),
            groups: rows,
            threads: simdgroups * SIMD_WIDTH,
        }
    }

    /// `attention_in_turn.metal`: each threadgroup is one lane, which computes one row.
    fn in_turn(element: KvElement, head_size: usize, rows: usize) -> Plan {
        let function = match element {
            KvElement::F32 => "attention_in_turn_f32",
            KvElement::F16 => "attention_in_turn_f16",
            KvElement::Q8_0 => "attention_in_turn_q8_0",
        };
        Plan {
            kernel: KernelName::new(Shader::AttentionInTurn, function)
                .with(Constant::Uint(0, head_size as u32)),
            shared_floats: 0,
            groups: rows,
            threads: 1,
        }
    }
}

//! What the sanitizer reports of the package's kernels, each looked up in their source: with `SOFTWARE_METAL_SANITIZE` set, a run
//! finds these and nothing else. docs/foreign-code.md has the reasons.

use metal_bridge::sanitizer::{Report, ReportKind};

use ReportKind::{Barrier, Bounds, Race};

/// Reports of one cause.
pub struct Known {
    file: &'static str,
    /// How the names of the kernels begin.
    kernels: &'static [&'static str],
    kind: ReportKind,
    /// The lines of the file where the access is that was found; 0 if the optimiser has moved it.
    lines: &'static [u32],
    why: &'static str,
}

const KNOWN: &[Known] = &[
    Known {
        file: "gemv.metal",
        kernels: &["gemv_"],
        kind: Barrier,
        lines: &[184],
        why: "threads without a row return before the barrier",
    },
    Known {
        file: "gemv.metal",
        kernels: &["gemv_"],
        kind: Race,
        lines: &[190],
        why: "threadgroup memory is read behind a barrier with mem_none",
    },
    Known {
        file: "gemv.metal",
        kernels: &["gemv_t_"],
        kind: Barrier,
        lines: &[290],
        why: "threads without a column return before the barrier",
    },
    Known {
        file: "mlx_gemm.metal",
        kernels: &["gemm_"],
        kind: Bounds,
        lines: &[515, 516, 0],
        why: "the last tiles ask whether the addend has their columns, but not whether it has their rows",
    },
    Known {
        file: "mlx_sort.metal",
        kernels: &[
            "carg_block_sort_",
            "ncarg_block_sort_",
            "sort_mbsort_",
            "merge_mbsort_",
        ],
        kind: Bounds,
        lines: &[213],
        why: "the merge reads the next element before it asks whether there is one",
    },
    Known {
        file: "mlx_sort.metal",
        kernels: &["c_block_sort_", "nc_block_sort_"],
        kind: Bounds,
        lines: &[217],
        why: "a sort of values has no indices; what is read of them at null is not used",
    },
    Known {
        file: "quantized.metal",
        kernels: &["kernel_soft_max_"],
        kind: Race,
        lines: &[1731, 1836],
        why: "the memory of the maximum is used again for the sum behind a barrier with mem_none",
    },
    Known {
        file: "random.metal",
        kernels: &["rand_uniform_"],
        kind: Race,
        lines: &[149],
        why: "the mirrored halves overlap in the middle of the output",
    },
    Known {
        file: "random.metal",
        kernels: &["rand_normal_"],
        kind: Race,
        lines: &[186],
        why: "the mirrored halves overlap in the middle of the output",
    },
    Known {
        file: "reduce.metal",
        kernels: &["fast_", "layernorm_", "rmsnorm_", "softmax_"],
        kind: Race,
        lines: &[524, 530],
        why: "the steps of a reduction in threadgroup memory have barriers with mem_none between them",
    },
    Known {
        file: "reduce.metal",
        kernels: &["softmax_"],
        kind: Race,
        lines: &[838, 0],
        why: "the sum that one thread writes is read behind a barrier with mem_none",
    },
];

impl Known {
    fn is(&self, report: &Report) -> bool {
        let kernel = &report.access.kernel;
        self.kind == report.kind
            && self.lines.contains(&report.access.line)
            && self.kernels.iter().any(|prefix| kernel.starts_with(prefix))
    }
}

/// How reports differ from what is known of these files: a line each.
pub fn differences(files: &[String], reports: &[Report]) -> Vec<String> {
    let unknown = reports
        .iter()
        .filter(|report| !KNOWN.iter().any(|known| known.is(report)));
    let unknown = unknown.map(|report| format!("not a known report: {}", report.text.trim_end()));
    let missing = KNOWN.iter().filter(|known| {
        files.iter().any(|file| file == known.file)
            && !reports.iter().any(|report| known.is(report))
    });
    let missing = missing.map(|known| {
        let (file, kind) = (known.file, known.kind.name());
        format!(
            "{file}: no {kind} at {:?} any more: {}",
            known.lines, known.why
        )
    });
    unknown.chain(missing).collect()
}

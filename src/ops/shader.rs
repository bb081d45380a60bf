//! The sources under `shaders/`, embedded, with their own headers put in place.

use crate::headers::inline_headers;
use crate::metal::library::{CompileOptions, MathMode};
use crate::ops::lane_execution::LaneExecution;

/// The sources of all kernels as Metal gets them: the names of the files and their text, headers included. For those who
/// compile them ahead of time, look for a kernel's name, or check the language rules.
pub fn shader_sources() -> impl Iterator<Item = (&'static str, String)> {
    Shader::ALL
        .iter()
        .map(|shader| (shader.name(), shader.source()))
}

macro_rules! shader_file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../shaders/", $name)))
    };
}

macro_rules! shaders {
    ($($shader:ident $name:literal)*) => {
        /// A file of `shaders/` that makes a library.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Shader {
            $($shader,)*
        }

        impl Shader {
            const ALL: &[Shader] = &[$(Shader::$shader),*];

            fn file(self) -> (&'static str, &'static str) {
                match self {
                    $(Shader::$shader => shader_file!($name),)*
                }
            }
        }
    };
}

shaders! {
    Argmax "argmax.metal"
    AttentionInTurn "attention_in_turn.metal"
    AttentionTile "attention_tile.metal"
    AttentionVector "attention_vector.metal"
    Binary "tensor/binary.metal"
    Convert "tensor/convert.metal"
    Convolution "tensor/convolution.metal"
    Embed "embed.metal"
    Experts "experts.metal"
    Gate "gate.metal"
    Gemm "tensor/gemm.metal"
    Gemv "tensor/gemv.metal"
    Index "tensor/index.metal"
    KvCache "kv_cache.metal"
    Mask "tensor/mask.metal"
    Matmul "matmul.metal"
    Matvec "matvec.metal"
    MatvecBlocks "matvec_blocks.metal"
    MatvecRounded "matvec_rounded.metal"
    MatvecRoundedBlocks "matvec_rounded_blocks.metal"
    Norm "norm.metal"
    Normalization "tensor/normalization.metal"
    Peak "peak.metal"
    Pooling "tensor/pooling.metal"
    Random "tensor/random.metal"
    Reduction "tensor/reduction.metal"
    Resampling "tensor/resampling.metal"
    Rope "rope.metal"
    RoundActivations "round_activations.metal"
    ScaledDotProduct "tensor/scaled_dot_product.metal"
    Scan "tensor/scan.metal"
    Select "tensor/select.metal"
    Softmax "tensor/softmax.metal"
    Sort "tensor/sort.metal"
    Unary "tensor/unary.metal"
}

const HEADERS: &[(&str, &str)] = &[
    shader_file!("attention.h"),
    shader_file!("tensor/attention_keys.h"),
    shader_file!("tensor/functions.h"),
    shader_file!("tensor/gemm.h"),
    shader_file!("tensor/images.h"),
    shader_file!("tensor/indices.h"),
    shader_file!("tensor/moments.h"),
    shader_file!("tensor/columns.h"),
    shader_file!("tensor/partials.h"),
    shader_file!("kv_pages.h"),
    shader_file!("order.h"),
    shader_file!("product.h"),
    shader_file!("tensor/products.h"),
    shader_file!("reduce.h"),
    shader_file!("rounded.h"),
    shader_file!("tensor/tensor.h"),
    shader_file!("vector_loop.h"),
    shader_file!("weights.h"),
    shader_file!("weights/chunk.h"),
    shader_file!("weights/floats.h"),
    shader_file!("weights/one_scale.h"),
    shader_file!("weights/super_blocks.h"),
    shader_file!("weights/unpacked.h"),
];

impl Shader {
    fn name(self) -> &'static str {
        self.file().0
    }

    /// Operations on tensors keep infinities, NaN and the order of roundings, and so does the rounding of activations. Products with
    /// weights keep the order of roundings, so that all variants of a kernel add up in one order. The engine's other kernels
    /// may trade all of this for speed.
    pub(crate) fn compile_options(self, lanes: LaneExecution) -> CompileOptions {
        let options = CompileOptions::new();
        let is_product = matches!(
            self,
            Shader::Matmul
                | Shader::Matvec
                | Shader::MatvecBlocks
                | Shader::MatvecRounded
                | Shader::MatvecRoundedBlocks
        );
        if is_product || self == Shader::RoundActivations {
            return options.math_mode(MathMode::Safe);
        }
        if !self.name().starts_with("tensor/") {
            return options;
        }
        options
            .math_mode(MathMode::Safe)
            .define("BLOCK", lanes.block().to_string())
    }

    /// The whole source, ready for `newLibraryWithSource:`.
    pub(crate) fn source(self) -> String {
        let (name, text) = self.file();
        inline_headers(name, text, HEADERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_in_place_and_lines_keep_their_numbers() {
        for &shader in Shader::ALL {
            let (name, text) = shader.file();
            let source = shader.source();
            assert!(
                !source.contains("#include \""),
                "{name} still includes one of our headers"
            );
            // Whatever line a `#line` announces next must be that line of the file it names.
            let mut at = (name, 0);
            for line in source.lines() {
                if let Some(rest) = line.strip_prefix("#line ") {
                    let (number, file) = rest.split_once(' ').expect("a number and a file");
                    let file = file.trim_matches('"');
                    let known = HEADERS
                        .iter()
                        .map(|(header, _)| *header)
                        .find(|header| *header == file);
                    at = (
                        known.unwrap_or(name),
                        number.parse::<usize>().expect("a line number"),
                    );
                } else {
                    let all = if at.0 == name {
                        text
                    } else {
                        HEADERS.iter().find(|(h, _)| *h == at.0).unwrap().1
                    };
                    assert_eq!(
                        Some(line),
                        all.lines().nth(at.1 - 1),
                        "{} line {}",
                        at.0,
                        at.1
                    );
                    at.1 += 1;
                }
            }
        }
    }
}

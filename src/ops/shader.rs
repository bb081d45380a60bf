//! The sources under `shaders/`, embedded, with their own headers put in place: Metal's run-time compiler has no include
//! path. `#line` directives keep the names and lines of the files in diagnostics.

use crate::metal::library::{CompileOptions, MathMode};
use crate::ops::lane_execution::LaneExecution;

/// The sources of all kernels as Metal gets them: the names of the files and their text, headers included. For those who
/// compile them ahead of time, look for a kernel's name, or check the language rules.
pub fn shader_sources() -> impl Iterator<Item = (&'static str, String)> {
    Shader::ALL
        .into_iter()
        .map(|shader| (shader.name(), shader.source()))
}

/// A file of `shaders/` that makes a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shader {
    Argmax,
    AttentionTile,
    AttentionVector,
    Binary,
    Convolution,
    Convert,
    Embed,
    Gate,
    Gemm,
    KvCache,
    Matmul,
    Matvec,
    MatvecBlocks,
    Norm,
    Normalization,
    Pooling,
    Reduction,
    Resampling,
    Rope,
    ScaledDotProduct,
    Select,
    Softmax,
    Unary,
}

macro_rules! shader_file {
    ($name:literal) => {
        ($name, include_str!(concat!("../../shaders/", $name)))
    };
}

const HEADERS: [(&str, &str); 9] = [
    shader_file!("attention.h"),
    shader_file!("functions.h"),
    shader_file!("gemm.h"),
    shader_file!("images.h"),
    shader_file!("moments.h"),
    shader_file!("partials.h"),
    shader_file!("products.h"),
    shader_file!("reduce.h"),
    shader_file!("tensor.h"),
    shader_file!("weights.h"),
];

impl Shader {
    const ALL: [Shader; 22] = [
        Shader::Argmax,
        Shader::AttentionTile,
        Shader::AttentionVector,
        Shader::Binary,
        Shader::Convolution,
        Shader::Convert,
        Shader::Embed,
        Shader::Gate,
        Shader::Gemm,
        Shader::KvCache,
        Shader::Matmul,
        Shader::Matvec,
        Shader::MatvecBlocks,
        Shader::Norm,
        Shader::Normalization,
        Shader::Pooling,
        Shader::Reduction,
        Shader::Resampling,
        Shader::Rope,
        Shader::ScaledDotProduct,
        Shader::Select,
        Shader::Softmax,
        Shader::Unary,
    ];

    fn file(self) -> (&'static str, &'static str) {
        match self {
            Shader::Argmax => shader_file!("argmax.metal"),
            Shader::AttentionTile => shader_file!("attention_tile.metal"),
            Shader::AttentionVector => shader_file!("attention_vector.metal"),
            Shader::Binary => shader_file!("binary.metal"),
            Shader::Convolution => shader_file!("convolution.metal"),
            Shader::Convert => shader_file!("convert.metal"),
            Shader::Embed => shader_file!("embed.metal"),
            Shader::Gate => shader_file!("gate.metal"),
            Shader::Gemm => shader_file!("gemm.metal"),
            Shader::KvCache => shader_file!("kv_cache.metal"),
            Shader::Matmul => shader_file!("matmul.metal"),
            Shader::Matvec => shader_file!("matvec.metal"),
            Shader::MatvecBlocks => shader_file!("matvec_blocks.metal"),
            Shader::Norm => shader_file!("norm.metal"),
            Shader::Normalization => shader_file!("normalization.metal"),
            Shader::Pooling => shader_file!("pooling.metal"),
            Shader::Reduction => shader_file!("reduction.metal"),
            Shader::Resampling => shader_file!("resampling.metal"),
            Shader::Rope => shader_file!("rope.metal"),
            Shader::ScaledDotProduct => shader_file!("scaled_dot_product.metal"),
            Shader::Select => shader_file!("select.metal"),
            Shader::Softmax => shader_file!("softmax.metal"),
            Shader::Unary => shader_file!("unary.metal"),
        }
    }

    fn name(self) -> &'static str {
        self.file().0
    }

    /// Operations on tensors keep infinities, NaN and the order of roundings; the engine's kernels may trade them for speed.
    pub(crate) fn compile_options(self, lanes: LaneExecution) -> CompileOptions {
        let options = CompileOptions::new();
        match self {
            Shader::Binary
            | Shader::Convert
            | Shader::Gemm
            | Shader::Convolution
            | Shader::Normalization
            | Shader::Pooling
            | Shader::Reduction
            | Shader::Resampling
            | Shader::ScaledDotProduct
            | Shader::Select
            | Shader::Softmax
            | Shader::Unary => options
                .math_mode(MathMode::Safe)
                .define("BLOCK", lanes.block().to_string()),
            _ => options,
        }
    }

    /// The whole source, ready for `newLibraryWithSource:`.
    pub(crate) fn source(self) -> String {
        let (name, text) = self.file();
        let mut source = String::with_capacity(text.len() + 8192);
        append(&mut source, name, text);
        source
    }
}

/// Appends `text` with every `#include "..."` of one of our headers replaced by the header. Include guards in the headers
/// take care of repeats.
fn append(source: &mut String, name: &str, text: &str) {
    source.push_str(&format!("#line 1 \"{name}\"\n"));
    for (index, line) in text.lines().enumerate() {
        match included(line) {
            Some((header, contents)) => {
                append(source, header, contents);
                source.push_str(&format!("#line {} \"{name}\"\n", index + 2));
            }
            None => {
                source.push_str(line);
                source.push('\n');
            }
        }
    }
}

/// The header of ours that this line includes.
fn included(line: &str) -> Option<(&'static str, &'static str)> {
    let name = line
        .trim()
        .strip_prefix("#include")?
        .trim()
        .strip_prefix('"')?
        .strip_suffix('"')?;
    HEADERS.into_iter().find(|(header, _)| *header == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_in_place_and_lines_keep_their_numbers() {
        for shader in Shader::ALL {
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

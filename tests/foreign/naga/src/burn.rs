//! The kernels of burn-wgpu, an engine for neural networks: templates, filled in here as its host code does, and the shapes and strides
//! that they are launched with, two dimensions of 32 where nothing else is said.

use std::fs;
use std::path::Path;

use crate::program::Program;

struct Template {
    file: &'static str,
    /// Files whose text goes behind that one's.
    with: &'static [&'static str],
    /// What stands for names in it, beside `USUAL`.
    values: &'static [(&'static str, &'static str)],
    directives: &'static str,
}

const USUAL: &[(&str, &str)] = &[
    ("elem", "f32"),
    ("int", "i32"),
    ("workgroup_size_x", "16"),
    ("workgroup_size_y", "16"),
    ("workgroup_size_z", "1"),
    ("workgroup_size", "256"),
];

const DIRECTIVES: &str =
    "//! groups 2 2 1\n//! length 1024\n//! fill * random 0.1 4\n//! tolerance 2e-5 2e-5\n";

/// Two operands, of which the second is transposed, and a result.
const PAIR: &str = "//! fill info values 2 32 1 1 32 32 1 32 32 32 32\n//! fill mask random 0 2\n";
const PAIR_IN_PLACE: &str =
    "//! fill info values 2 32 1 1 32 32 32 32 32\n//! fill mask random 0 2\n";
const REDUCTION: &str = "//! fill info values 2 32 1 32 1 32 32 1 32 0\n";
const GATHER: &str =
    "//! fill info values 2 32 1 32 1 32 32 32 32 0\n//! fill indices random 0 32\n";
const SCATTER: &str =
    "//! fill info values 2 32 1 32 1 32 32 32 32 1 1 0\n//! fill indices random 0 32\n";
const PRODUCT: &str = "//! fill info values 2 32 1 32 1 32 1 32 32 32 32 32 32\n";
const ONE_GROUP: &str =
    "//! groups 1 1 1\n//! fill info values 2 32 1 32 1 32 1 32 32 32 32 32 32\n";
const RANDOM: &str =
    "//! length 4096\n//! fill info values 4 11 222 3333 44444\n//! fill args values 0.25 2\n";
const POOLING: &str = "//! fill info values 192 64 8 1 2 3 8 8 48 16 4 1 2 3 4 4 3 3 2 2 1 1 1 1\n";
const CONVOLUTION: &str =
    "//! fill info values 4 192 64 8 1 256 64 8 1 27 9 3 1 2 3 8 8 2 4 8 8 4 3 3 3 1 1 1 1 1 1 1\n";
const TILES: &[(&str, &str)] = &[
    ("b_m", "32"),
    ("b_n", "32"),
    ("b_k", "8"),
    ("bm_x_bk", "256"),
    ("bk_x_bn", "256"),
    ("t_m", "2"),
    ("t_n", "2"),
    ("tm_x_tn", "4"),
];

const fn template(
    file: &'static str,
    values: &'static [(&'static str, &'static str)],
    directives: &'static str,
) -> Template {
    Template {
        file,
        with: &[],
        values,
        directives,
    }
}

#[rustfmt::skip]
const TEMPLATES: &[Template] = &[
    template("unary", &[("body", "output[id] = exp(-input[id]);")], ""),
    template("unary_inplace", &[("body", "input[id] = sqrt(input[id]);")], ""),
    template("unary_scalar", &[("body", "output[id] = lhs[id] * rhs;")], ""),
    template("unary_scalar_inplace", &[("body", "lhs[id] = lhs[id] - rhs;")], ""),
    Template { file: "unary", with: &["erf"], values: &[("body", "output[id] = erf(input[id] - 2.0);")], directives: "" },
    Template { file: "unary", with: &["safe_tanh"], values: &[("body", "output[id] = safe_tanh(input[id] * 20.0 - 39.0);")], directives: "" },
    Template { file: "unary_scalar", with: &["powf"], values: &[("body", "output[id] = powf(lhs[id], rhs);")], directives: "" },
    template("binary_elemwise", &[("body", "output[id] = lhs[index_lhs] / rhs[index_rhs];")], PAIR),
    template("binary_elemwise_inplace", &[("body", "lhs[id] = lhs[id] * rhs[index_rhs];")], PAIR_IN_PLACE),
    template("comparison/binary", &[("body", "output[id] = u32(lhs[index_lhs] > rhs[index_rhs]);")], PAIR),
    template("comparison/binary_inplace", &[("body", "lhs[id] = f32(lhs[id] <= rhs[index_rhs]);")], PAIR_IN_PLACE),
    template("comparison/elem", &[("body", "output[id] = u32(lhs[id] >= rhs);")], ""),
    template("comparison/elem_inplace", &[("body", "lhs[id] = f32(lhs[id] < rhs);")], ""),
    template("cast", &[("input_elem", "f32"), ("output_elem", "i32")], "//! fill input random -99 99\n"),
    template("contiguous", &[], "//! fill info values 2 1 32 32 1 32 32\n"),
    template("cat", &[], "//! fill info values 2 32 1 32 1 16 32 32 32 0 8\n"),
    template("mask/where", &[], "//! fill info values 2 32 1 1 32 32 1 32 1 32 32 32 32 32 32\n//! fill mask random 0 2\n"),
    template("mask/where_inplace", &[], "//! fill info values 2 32 1 1 32 32 1 32 32 32 32 32 32 1\n//! fill mask random 0 2\n"),
    template("mask/fill", &[], PAIR),
    template("mask/fill_inplace", &[], PAIR_IN_PLACE),
    template("index/gather", &[], GATHER),
    template("index/select", &[], GATHER),
    template("index/scatter", &[], SCATTER),
    template("index/select_assign_inplace", &[], SCATTER),
    template("index/slice", &[], "//! fill info values 2 32 1 32 1 32 32 16 32 5 0\n"),
    template("index/slice_assign_inplace", &[], "//! fill info values 2 32 1 32 1 32 32 16 32 5 0\n"),
    template("reduction/reduce_dim", &[("assign", "output[id] = sum;")], REDUCTION),
    template("reduction/args", &[("cmp", ">"), ("initial", "-32767.0")], REDUCTION),
    template("reduction/recursive_sum", &[], ""),
    template("matmul/naive", &[], PRODUCT),
    template("matmul/mem_coalescing", &[], PRODUCT),
    template("matmul/blocktiling_2d/tile", TILES, ONE_GROUP),
    template("matmul/blocktiling_2d/contiguous", TILES, ONE_GROUP),
    template("conv/conv2d", &[], CONVOLUTION),
    template("pool/max_pool2d", &[], POOLING),
    template("pool/max_pool2d_with_indices", &[], POOLING),
    template("pool/avg_pool2d", &[("count_include_pad", "true")], POOLING),
    template("pool/adaptive_avg_pool2d", &[], "//! fill info values 192 64 8 1 2 3 8 8 27 9 3 1 2 3 3 3\n"),
    Template { file: "prng/prng", with: &[], values: &[("num_args", "2"), ("prng_loop", "uniform_inner_loop")], directives: RANDOM },
    Template { file: "prng/prng", with: &["prng/box_muller_transform"], values: &[("num_args", "2"), ("prng_loop", "normal_inner_loop")], directives: RANDOM },
];

pub fn programs(package: &Path) -> Result<Vec<Program>, String> {
    let folder = package.join("src/template");
    let read = |name: &str| {
        let path = folder.join(format!("{name}.wgsl"));
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let mut programs = Vec::new();
    for template in TEMPLATES {
        let mut source = format!("{DIRECTIVES}{}", template.directives) + &read(template.file)?;
        for file in template.with {
            source += &read(file)?;
        }
        let mut name = [&[template.file], template.with].concat().join(" with ");
        for (key, value) in template.values.iter().chain(USUAL) {
            let value = match *key {
                "prng_loop" => {
                    name = format!("{name}, {value}");
                    read(&format!("prng/{value}"))?
                }
                _ => (*value).to_owned(),
            };
            source = source.replace(&format!("{{{{ {key} }}}}"), &value);
            source = source.replace(&format!("{{{{{key}}}}}"), &value);
        }
        programs.push(Program::new(&name, &source)?);
    }
    Ok(programs)
}

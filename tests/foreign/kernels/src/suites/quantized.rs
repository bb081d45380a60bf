//! `quantized.metal`: rows of quantized matrices, their products with vectors and with matrices. What else the file has is
//! in `ggml.rs`.

use rand::SeedableRng;
use rand::rngs::SmallRng;

use metal_bridge::ops::WeightType;
use metal_bridge_workloads::formats;

use crate::buffers::{Arg, Input, value};
use crate::check::{Approx, approx};
use crate::rig::{File, groups};
use crate::suites::ggml;
use crate::types::Type;

/// A matrix of weights in memory, and its numbers.
struct Matrix {
    /// What kernels call its format.
    name: String,
    rows: usize,
    columns: usize,
    row_bytes: usize,
    input: Input,
    exact: Vec<f64>,
}

impl Matrix {
    fn quantized(file: &File, format: WeightType, rows: usize, columns: usize) -> Matrix {
        let mut rng = SmallRng::seed_from_u64((rows * columns) as u64);
        let blocks = formats::random(format, rows * columns, 1.0, &mut rng);
        let row_bytes = blocks.len() / rows;
        // One row of something else before, so that rows stay as aligned as they are.
        let input = file.input_bytes(row_bytes, &blocks);
        Matrix {
            // `q4_K`, but `iq4_xs`.
            name: format.name().replace("_k", "_K"),
            rows,
            columns,
            row_bytes,
            input,
            exact: formats::decode(format, &blocks),
        }
    }

    fn plain(file: &File, kind: Type, rows: usize, columns: usize) -> Matrix {
        let exact = file.values(kind, (rows * columns) as u64, rows * columns, -1.0..1.0);
        let row_bytes = columns * kind.size();
        let input = file.input_bytes(row_bytes, &kind.encode(&exact));
        Matrix {
            name: kind.name().to_owned(),
            rows,
            columns,
            row_bytes,
            input,
            exact,
        }
    }

    /// A row's product with `x`, and the sum of its terms' sizes.
    fn dot(&self, row: usize, x: &[f64]) -> (f64, f64) {
        let row = &self.exact[row * self.columns..][..self.columns];
        let terms = row.iter().zip(x).map(|(w, x)| w * x);
        terms.fold((0.0, 0.0), |(sum, size), term| {
            (sum + term, size + term.abs())
        })
    }
}

pub fn run(file: &File) {
    // Candle has no kernels for MXFP4.
    let quantized =
        |format: &WeightType| format.block_elements() > 1 && *format != WeightType::MXFP4;
    for format in WeightType::ALL.into_iter().filter(quantized) {
        for (rows, columns) in [(24, 256), (72, 1280)] {
            let matrix = Matrix::quantized(file, format, rows, columns);
            some_rows(file, &matrix);
            vectors(file, &matrix);
            matrices(file, &matrix, Type::F16);
        }
        matrices(file, &Matrix::quantized(file, format, 64, 512), Type::F16);
    }
    for kind in Type::FLOATS {
        for (rows, columns) in [(5, 96), (70, 160)] {
            let matrix = Matrix::plain(file, kind, rows, columns);
            some_rows(file, &matrix);
            let rounded = if kind == Type::Bf16 {
                Type::Bf16
            } else {
                Type::F16
            };
            matrices(file, &matrix, rounded);
            if kind != Type::Bf16 {
                plain_vectors(file, &matrix, Type::F32);
            }
            if kind == Type::F16 {
                plain_vectors(file, &matrix, Type::F16);
            }
        }
    }
    ggml::run(file);
}

/// Numbers of chosen rows, as floats.
fn some_rows(file: &File, matrix: &Matrix) {
    let kernel = format!("kernel_get_rows_{}", matrix.name);
    let ids: Vec<f64> = [3, 0, 4, 3].map(|id| (id % matrix.rows) as f64).into();
    let (indices, columns) = (file.input_at(Type::I32, 1, &ids), matrix.columns);
    let output = file.output(Type::F32, ids.len() * columns);
    let arguments = [
        Arg::In(&matrix.input),
        Arg::In(&indices),
        Arg::Out(&output),
        value(columns as i64),
        value(matrix.row_bytes as u64),
        value(0u64),
        value(ids.len() as i64),
        value(4u64),
        value(0u64),
        value(4 * columns as u64),
        value(0u64),
    ];
    let launched = file.launch(
        &kernel,
        &[],
        &arguments,
        groups((ids.len(), 1, 1), (128, 1, 1)),
    );
    let mut expected = Vec::new();
    for id in &ids {
        let row = &matrix.exact[*id as usize * columns..][..columns];
        expected.extend(row.iter().map(|number| {
            // Products of scales and the least value, of at most this size, are rounded to floats; Q8_0 multiplies in
            // half precision.
            let float = 4.0 * (number.abs() + 400.0) * Type::F32.epsilon();
            let half = if matrix.name == "q8_0" {
                number.abs() * Type::F16.epsilon()
            } else {
                0.0
            };
            approx(*number, float + half)
        }));
    }
    file.check(
        &kernel,
        &format!("{} x {columns}", matrix.rows),
        launched,
        &output,
        &expected,
    );
}

/// Rows that a threadgroup of a format's kernel computes, and its threads. The package launches twice the threadgroups for
/// Q2_K, which then write behind the result.
fn geometry(name: &str) -> (usize, usize) {
    match name {
        "q3_K" | "q5_K" | "iq4_nl" | "iq4_xs" => (4, 64),
        "q4_K" => (4, 32),
        "q6_K" => (2, 64),
        _ => (8, 64),
    }
}

/// The arguments that all products with vectors take after the buffers.
fn vector_arguments(matrix: &Matrix, columns: usize, vector_bytes: usize) -> Vec<Arg<'static>> {
    let (rows, length) = (matrix.rows as i64, matrix.columns as i64);
    let (vectors, pitch) = (columns as i64, (matrix.columns * vector_bytes) as u64);
    let matrix_bytes = (matrix.rows * matrix.row_bytes) as u64;
    vec![
        value(length),
        value(rows),
        value(1i64),
        value(0u64),
        value(matrix.row_bytes as u64),
        value(matrix_bytes),
        value(length),
        value(vectors),
        value(1i64),
        value(vector_bytes as u64),
        value(pitch),
        value(pitch * columns as u64),
        value(rows),
        value(vectors),
        value(1u32),
        value(1u32),
    ]
}

/// Every row by every vector; sums are floats in any order, products are rounded to `rounded`.
fn products(matrix: &Matrix, x: &[f64], rounded: f64) -> Vec<Approx> {
    let vectors = x.chunks(matrix.columns);
    vectors
        .flat_map(|x| (0..matrix.rows).map(move |row| matrix.dot(row, x)))
        .map(|(sum, size)| {
            let float = (matrix.columns + 16) as f64 * Type::F32.epsilon();
            approx(sum, size * (float + rounded) + 1e-4 * size * float)
        })
        .collect()
}

fn vectors(file: &File, matrix: &Matrix) {
    let kernel = format!("kernel_mul_mv_{}_f32", matrix.name);
    for count in [1, 3] {
        let x = file.values(Type::F32, count as u64, count * matrix.columns, -1.0..1.0);
        let (vectors, output) = (
            file.input_at(Type::F32, 8, &x),
            file.output(Type::F32, count * matrix.rows),
        );
        let mut arguments = vec![Arg::In(&matrix.input), Arg::In(&vectors), Arg::Out(&output)];
        arguments.extend(vector_arguments(matrix, count, 4));
        let (rows, threads) = geometry(&matrix.name);
        let grid = groups((matrix.rows.div_ceil(rows), count, 1), (threads, 1, 1));
        // The tables of the non-linear formats.
        let memory = if matrix.name.starts_with("iq4") {
            128
        } else {
            0
        };
        let launched = file.launch_with_memory(&kernel, &[], &arguments, memory, grid);
        // A least value is multiplied by the sum of a block's elements, whose size the products do not show.
        let rounded = 64.0 * Type::F32.epsilon();
        let case = format!("{} x {} by {count}", matrix.rows, matrix.columns);
        file.check(
            &kernel,
            &case,
            launched,
            &output,
            &products(matrix, &x, rounded),
        );
    }
}

fn plain_vectors(file: &File, matrix: &Matrix, kind: Type) {
    let kernel = format!("kernel_mul_mv_{}_{}", matrix.name, kind.name());
    for count in [1, 6] {
        let x = file.values(kind, count as u64, count * matrix.columns, -1.0..1.0);
        let (vectors, output) = (
            file.input_at(kind, 8, &x),
            file.output(Type::F32, count * matrix.rows),
        );
        let mut arguments = vec![Arg::In(&matrix.input), Arg::In(&vectors), Arg::Out(&output)];
        arguments.extend(vector_arguments(matrix, count, kind.size()));
        let grid = groups((matrix.rows, count.div_ceil(4), 1), (32, 1, 1));
        let launched = file.launch(&kernel, &[], &arguments, grid);
        let case = format!("{} x {} by {count}", matrix.rows, matrix.columns);
        file.check(
            &kernel,
            &case,
            launched,
            &output,
            &products(matrix, &x, kind.epsilon()),
        );
    }
}

/// A product of matrices, in tiles of 64 x 32, with the weights rounded to `rounded`.
fn matrices(file: &File, matrix: &Matrix, rounded: Type) {
    let kernel = format!("kernel_mul_mm_{}_f32", matrix.name);
    for count in [7, 32] {
        let x = file.values(Type::F32, count as u64, count * matrix.columns, -1.0..1.0);
        let (vectors, output) = (
            file.input_at(Type::F32, 16, &x),
            file.output(Type::F32, count * matrix.rows),
        );
        let (length, rows) = (matrix.columns as i64, matrix.rows as i64);
        let (matrix_bytes, pitch) = (matrix.rows * matrix.row_bytes, 4 * matrix.columns);
        let arguments = [
            Arg::In(&matrix.input),
            Arg::In(&vectors),
            Arg::Out(&output),
            value(length),
            value(1i64),
            value(matrix.row_bytes as u64),
            value(matrix_bytes as u64),
            value(matrix_bytes as u64),
            value(1i64),
            value(4u64),
            value(pitch as u64),
            value((pitch * count) as u64),
            value((pitch * count) as u64),
            value(rows),
            value(count as i64),
            value(1u32),
            value(1u32),
        ];
        let grid = groups(
            (count.div_ceil(32), matrix.rows.div_ceil(64), 1),
            (128, 1, 1),
        );
        let launched = file.launch_with_memory(&kernel, &[], &arguments, 8192, grid);
        let case = format!("{} x {} by {count}", matrix.rows, matrix.columns);
        // Numbers of blocks are rounded to half precision after a step that may be one of half precision as well.
        let expected = products(matrix, &x, 2.0 * rounded.epsilon());
        file.check(&kernel, &case, launched, &output, &expected);
    }
}

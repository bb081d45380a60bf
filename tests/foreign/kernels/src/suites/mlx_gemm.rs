//! `mlx_gemm.metal`: products of matrices, either of them transposed, by tiles that the names of the kernels spell out.

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::buffers::{Arg, value};
use crate::check::{Approx, approx};
use crate::rig::{Constants, File, groups};
use crate::types::Type;

/// No batches of a shape, no addition, sizes that are multiples of the tile's, no gathering.
pub const CONSTANTS: &Constants = &[
    (10, false),
    (100, false),
    (110, false),
    (200, true),
    (201, true),
    (202, true),
    (300, false),
];

/// The kernels' argument, as they lay it out.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Parameters {
    rows: i32,
    columns: i32,
    inner: i32,
    left_pitch: i32,
    right_pitch: i32,
    result_pitch: i32,
    tiles_across: i32,
    tiles_down: i32,
    left_batch: u64,
    right_batch: u64,
    result_batch: u64,
    swizzle: i32,
    whole_inner_tiles: i32,
    batch_dimensions: i32,
    padding: i32,
}

/// The kernels' argument where a third matrix is added.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Addition {
    pitch: i32,
    step: i32,
    batch: u64,
    alpha: f32,
    beta: f32,
}

/// What the name of a kernel says.
struct Kernel<'a> {
    name: &'a str,
    kind: Type,
    left_transposed: bool,
    right_transposed: bool,
    /// Rows, columns and depth of the tile of a threadgroup, and its simdgroups by rows and columns.
    tile: [usize; 5],
}

impl Kernel<'_> {
    fn parse(name: &str) -> Option<Kernel<'_>> {
        let mut parts = name.strip_prefix("gemm_")?.split('_');
        let mut transposed = parts.next()?.chars().map(|letter| letter == 't');
        let (left_transposed, right_transposed) = (transposed.next()?, transposed.next()?);
        let kind = parts.next()?;
        let kind = Type::FLOATS
            .into_iter()
            .find(|float| float.name() == kind)?;
        let numbers: Option<Vec<usize>> = parts.skip(1).map(|part| part.parse().ok()).collect();
        let tile = numbers?.try_into().ok()?;
        Some(Kernel {
            name,
            kind,
            left_transposed,
            right_transposed,
            tile,
        })
    }
}

/// A product to try.
struct Case {
    batches: usize,
    rows: usize,
    columns: usize,
    inner: usize,
    /// A third matrix is added, both are scaled where `scales`.
    adds: bool,
    scales: bool,
}

const ALPHA: f64 = 0.5;
const BETA: f64 = -2.0;

pub fn run(file: &File) {
    for name in &file.names {
        let Some(kernel) = Kernel::parse(name) else {
            file.fail(name, "the name says no tile");
            continue;
        };
        // Whole tiles, with the constants of the pass above.
        let whole = Case {
            batches: 2,
            rows: 64,
            columns: 128,
            inner: 96,
            adds: false,
            scales: false,
        };
        product(file, &kernel, &whole);
        // Other constants take a compilation each: of every tile and type for one transposition, which is another one
        // each time.
        let [rows, columns, inner, ..] = kernel.tile;
        let chosen = (rows / 32 + columns / 32 + inner / 16 + kernel.kind.size()) % 4;
        let transposition =
            usize::from(kernel.left_transposed) * 2 + usize::from(kernel.right_transposed);
        if chosen == transposition {
            let odd = Case {
                batches: 3,
                rows: 37,
                columns: 71,
                inner: 45,
                ..whole
            };
            product(file, &kernel, &odd);
        }
        if chosen == transposition && (rows, columns) == (32, 32) {
            product(
                file,
                &kernel,
                &Case {
                    batches: 1,
                    adds: true,
                    ..whole
                },
            );
            let odd = Case {
                batches: 2,
                rows: 33,
                columns: 65,
                inner: 31,
                adds: true,
                scales: true,
            };
            product(file, &kernel, &odd);
        }
    }
}

fn product(file: &File, kernel: &Kernel<'_>, case: &Case) {
    let Case {
        batches,
        rows,
        columns,
        inner,
        adds,
        scales,
    } = *case;
    let kind = kernel.kind;
    let [tile_rows, tile_columns, tile_inner, down, across] = kernel.tile;
    let left = file.values(kind, 1, batches * rows * inner, -1.0..1.0);
    let right = file.values(kind, 2, batches * inner * columns, -1.0..1.0);
    let third = file.values(kind, 3, batches * rows * columns, -1.0..1.0);
    // Rows of vectors are loaded whole: the offset keeps their alignment.
    let buffers = [
        file.input_at(kind, 8, &left),
        file.input_at(kind, 16, &right),
        file.input_at(kind, 1, &third),
    ];
    let output = file.output(kind, batches * rows * columns);
    let tiles = (columns.div_ceil(tile_columns), rows.div_ceil(tile_rows));
    let parameters = Parameters {
        rows: rows as i32,
        columns: columns as i32,
        inner: inner as i32,
        left_pitch: if kernel.left_transposed { rows } else { inner } as i32,
        right_pitch: if kernel.right_transposed {
            inner
        } else {
            columns
        } as i32,
        result_pitch: columns as i32,
        tiles_across: tiles.0 as i32,
        tiles_down: tiles.1 as i32,
        left_batch: (rows * inner) as u64,
        right_batch: (inner * columns) as u64,
        result_batch: (rows * columns) as u64,
        swizzle: 0,
        whole_inner_tiles: (inner / tile_inner) as i32,
        batch_dimensions: 1,
        padding: 0,
    };
    let addition = Addition {
        pitch: columns as i32,
        step: 1,
        batch: (rows * columns) as u64,
        alpha: if scales { ALPHA } else { 1.0 } as f32,
        beta: if scales { BETA } else { 1.0 } as f32,
    };
    // Two batches go by strides in the parameters, more by a shape, as the constants say.
    let shaped = batches > 2;
    let only = |wanted: bool, argument| if wanted { argument } else { Arg::Nothing };
    let arguments = [
        Arg::In(&buffers[0]),
        Arg::In(&buffers[1]),
        only(adds, Arg::In(&buffers[2])),
        Arg::Out(&output),
        bytes(&parameters),
        only(adds, bytes(&addition)),
        value(batches as i32),
        bytes(&[parameters.left_batch, parameters.right_batch]),
    ];
    let constants = [
        (10, shaped),
        (100, adds),
        (110, scales),
        (200, rows % tile_rows == 0),
        (201, columns % tile_columns == 0),
        (202, inner % tile_inner == 0),
        (300, false),
    ];
    let grid = groups((tiles.0, tiles.1, batches), (32, across, down));
    let launched = file.launch(kernel.name, &constants, &arguments, grid);
    let (alpha, beta) = if scales { (ALPHA, BETA) } else { (1.0, 1.0) };
    let mut expected: Vec<Approx> = Vec::with_capacity(third.len());
    for (index, added) in third.iter().enumerate() {
        let (batch, row, column) = (
            index / (rows * columns),
            index / columns % rows,
            index % columns,
        );
        let (mut sum, mut size) = (0.0, 0.0);
        for i in 0..inner {
            let l = if kernel.left_transposed {
                i * rows + row
            } else {
                row * inner + i
            };
            let r = if kernel.right_transposed {
                column * inner + i
            } else {
                i * columns + column
            };
            let term = left[batch * rows * inner + l] * right[batch * inner * columns + r];
            sum += term;
            size += term.abs();
        }
        // Sums are floats, in any order.
        let error = size * inner as f64 * Type::F32.epsilon();
        expected.push(match adds {
            true => approx(
                alpha * sum + beta * added,
                alpha * error + 4.0 * Type::F32.epsilon(),
            ),
            false => approx(sum, error),
        });
    }
    let what =
        format!("{batches} times {rows} x {columns}, {inner} deep, adds: {adds}, scales: {scales}");
    file.check(kernel.name, &what, launched, &output, &expected);
}

fn bytes<T: NoUninit>(value: &T) -> Arg<'static> {
    Arg::Bytes(bytemuck::bytes_of(value).to_vec())
}

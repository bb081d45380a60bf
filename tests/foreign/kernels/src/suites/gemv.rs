//! `gemv.metal`: a matrix by a vector, in the tiles that the names of the kernels spell out.

use crate::buffers::{Arg, value};
use crate::check::approx;
use crate::rig::{File, groups};
use crate::types::Type;

/// What the name of a kernel says.
struct Kernel<'a> {
    name: &'a str,
    kind: Type,
    /// The vector is multiplied from the left: the matrix has one row for each of its elements.
    transposed: bool,
    /// Simdgroups, threads of a simdgroup, elements of a thread, by rows and columns of the matrix.
    tile: [usize; 6],
    /// Batches have a shape, not a stride alone.
    shaped: bool,
    /// The result is scaled and added to a scaled bias.
    adds: bool,
}

impl Kernel<'_> {
    fn parse(name: &str) -> Option<Kernel<'_>> {
        let transposed = name.starts_with("gemv_t_");
        let rest = name.strip_prefix("gemv_")?;
        let mut parts = rest.strip_prefix("t_").unwrap_or(rest).split('_');
        let kind = match parts.next()? {
            "float32" => Type::F32,
            "float16" => Type::F16,
            "bfloat16" => Type::Bf16,
            _ => return None,
        };
        let mut number = || {
            let digits = parts
                .next()?
                .trim_start_matches(|c: char| c.is_ascii_alphabetic());
            digits.parse().ok()
        };
        let mut tile = [0; 6];
        for part in &mut tile {
            *part = number()?;
        }
        let (shaped, adds) = (number()? == 1, number()? == 1);
        Some(Kernel {
            name,
            kind,
            transposed,
            tile,
            shaped,
            adds,
        })
    }

    /// How many results a threadgroup computes.
    fn outputs(&self) -> usize {
        let [bm, bn, sm, sn, tm, tn] = self.tile;
        if self.transposed {
            bn * sn * tn
        } else {
            bm * sm * tm
        }
    }
}

const ALPHA: f64 = 1.5;
const BETA: f64 = -0.5;

pub fn run(file: &File) {
    for name in &file.names {
        match Kernel::parse(name) {
            Some(kernel) => {
                for (inputs, outputs) in [(37, 5), (64, 64), (515, 131)] {
                    product(file, &kernel, inputs, outputs);
                }
            }
            None => file.fail(name, "the name says no tile"),
        }
    }
}

fn product(file: &File, kernel: &Kernel<'_>, inputs: usize, outputs: usize) {
    const BATCH: usize = 3;
    let kind = kernel.kind;
    // Rows are further apart than they are long.
    let (rows, columns) = match kernel.transposed {
        true => (inputs, outputs),
        false => (outputs, inputs),
    };
    let pitch = columns + 3;
    let matrix = file.values(kind, 1, BATCH * rows * pitch, -1.0..1.0);
    let vector = file.values(kind, 2, BATCH * inputs, -1.0..1.0);
    let bias = file.values(kind, 3, BATCH * outputs, -1.0..1.0);
    let buffers = [
        file.input_at(kind, 2, &matrix),
        file.input_at(kind, 1, &vector),
        file.input_at(kind, 3, &bias),
    ];
    let output = file.output(kind, BATCH * outputs);
    let arguments = [
        Arg::In(&buffers[0]),
        Arg::In(&buffers[1]),
        if kernel.adds {
            Arg::In(&buffers[2])
        } else {
            Arg::Nothing
        },
        Arg::Out(&output),
        value(inputs as i32),
        value(outputs as i32),
        value(pitch as i32),
        value(ALPHA as f32),
        value(BETA as f32),
        value(1i32),
        value(BATCH as i32),
        value(inputs as i64),
        value((rows * pitch) as i64),
        value(outputs as i64),
        value(1i32),
    ];
    let [bm, bn, ..] = kernel.tile;
    let grid = groups((outputs.div_ceil(kernel.outputs()), 1, BATCH), (32, bn, bm));
    let launched = file.launch(kernel.name, &[], &arguments, grid);
    let mut expected = Vec::new();
    for batch in 0..BATCH {
        for out in 0..outputs {
            let (mut sum, mut size) = (0.0, 0.0);
            for i in 0..inputs {
                let (row, column) = if kernel.transposed {
                    (i, out)
                } else {
                    (out, i)
                };
                let term =
                    matrix[(batch * rows + row) * pitch + column] * vector[batch * inputs + i];
                sum += term;
                size += term.abs();
            }
            // Sums are floats, in any order.
            let error = size * inputs as f64 * Type::F32.epsilon();
            expected.push(match kernel.adds {
                false => approx(sum, error),
                true => {
                    // The sum, both products and their sum are rounded to the type.
                    let scaled = BETA * bias[batch * outputs + out];
                    let parts = ALPHA * (sum.abs() + error) + scaled.abs();
                    approx(
                        ALPHA * sum + scaled,
                        ALPHA * error + 3.0 * parts * kind.epsilon(),
                    )
                }
            });
        }
    }
    let shape = if kernel.shaped {
        "shaped batch"
    } else {
        "batch"
    };
    file.check(
        kernel.name,
        &format!("{outputs} of {inputs}, {shape}"),
        launched,
        &output,
        &expected,
    );
}

//! Operations element by element, those that move elements, sorts and random numbers.

use half::f16;
use metal_bridge::ops::{Binary, Comparison, Ops, Random, SortOrder, Tensor, Unary, View};

use super::{BYTES, Room};
use crate::support::ops;
use crate::tensor::large::{holding, repeated, with_large_buffers};
use crate::tensor::rows::lockstep;

/// More elements than 32 bits count.
const MANY: usize = (1 << 32) + 5;
/// Rows and columns of a square of more elements than 32 bits count.
const SIDE: usize = (1 << 16) + 1;

/// Operations element by element, and those that move elements.
fn elements(room: &Room, ops: &Ops) {
    let line = (ops, &[MANY][..], &[MANY][..]);
    room.check::<u8, u8>(
        "unary",
        line,
        |ops, e, x, y| ops.unary(e, Unary::Square, x, y),
        |x, i| x(i).powi(2),
    );
    let [six, three] = [6u8, 3].map(|value| holding(&[value; 4]));
    room.check::<u8, u8>(
        "compare",
        line,
        |ops, e, x, y| ops.compare(e, Comparison::Less, repeated::<u8>(&six, &[MANY]), x, y),
        |x, i| f64::from(x(i) > 6.0),
    );
    room.check::<u8, u8>(
        "binary",
        line,
        |ops, e, x, y| ops.binary(e, Binary::Mul, x, repeated::<u8>(&six, &[MANY]), y),
        |x, i| x(i) * 6.0,
    );
    // The condition is what is large, too.
    room.check::<u8, u8>(
        "select",
        line,
        |ops, e, x, y| {
            let [six, three] = [&six, &three].map(|one| repeated::<u8>(one, &[MANY]));
            ops.binary(e, Binary::Mod, x, six, y)?;
            ops.select(e, y, x, three, y)
        },
        |x, i| if x(i) == 6.0 { 3.0 } else { x(i) },
    );
    room.check::<u8, f16>(
        "convert",
        (ops, &[1, (1 << 31) + 3], &[1, (1 << 31) + 3]),
        |ops, e, x, y| ops.convert(e, x, y),
        |x, i| x(i),
    );
    room.check::<u8, u8>(
        "fill",
        (ops, &[1], &[MANY]),
        |ops, e, _, y| ops.fill(e, 7u8, y),
        |_, _| 7.0,
    );
    let half = MANY / 2 - 1;
    room.check::<u8, u8>(
        "concat",
        (ops, &[2, half - 3], &[2, half]),
        |ops, e, x, y| ops.concat(e, &[repeated::<u8>(&three, &[2, 3]), x], 1, y),
        |x, i| if i[1] < 3 { 3.0 } else { x(&[i[0], i[1] - 3]) },
    );
    let tiles = SIDE / 2 + 2;
    room.check::<u8, u8>(
        "tile",
        (ops, &[2, 7], &[2 * tiles, 7 * (SIDE / 7)]),
        |ops, e, x, y| ops.tile(e, x, &[tiles, SIDE / 7], y),
        |x, i| x(&[i[0] % 2, i[1] % 7]),
    );
    room.check::<u8, u8>(
        "tile of a long row",
        (ops, &[1, half], &[2, half]),
        |ops, e, x, y| ops.tile(e, x, &[2, 1], y),
        |x, i| x(&[0, i[1]]),
    );
    room.check::<u8, u8>(
        "repeat",
        (ops, &[half], &[2 * half]),
        |ops, e, x, y| ops.repeat(e, x, 0, 2, y),
        |x, i| x(&[i[0] / 2]),
    );
    let square = (ops, &[SIDE, SIDE][..], &[SIDE, SIDE][..]);
    room.check::<u8, u8>(
        "triu",
        square,
        |ops, e, x, y| ops.triu(e, x, 1, y),
        |x, i| if i[1] > i[0] { x(i) } else { 0.0 },
    );
    room.check::<u8, u8>(
        "tril",
        square,
        |ops, e, x, y| ops.tril(e, x, -1, y),
        |x, i| if i[1] < i[0] { x(i) } else { 0.0 },
    );
    let backwards: Vec<u32> = (0..SIDE as u32).rev().collect();
    let index = holding(&backwards);
    let order = |shape: &[usize]| Tensor::of::<u32>(&index, shape);
    room.check::<u8, u8>(
        "index select",
        square,
        |ops, e, x, y| ops.index_select(e, x, 0, order(&[SIDE])?, y),
        |x, i| x(&[SIDE - 1 - i[0], i[1]]),
    );
    room.check::<u8, u8>(
        "scatter",
        square,
        |ops, e, x, y| {
            let order = order(&[SIDE, 1])?.broadcast_to(&[SIDE, SIDE])?;
            ops.scatter(e, x, 0, order, y)
        },
        |x, i| x(&[SIDE - 1 - i[0], i[1]]),
    );
    let k = MANY / 16 + 1;
    room.check::<u8, u8>(
        "top-k",
        (ops, &[k, 16], &[k, 1]),
        |ops, e, x, y| {
            let order = SortOrder {
                axis: 1,
                descending: true,
            };
            // Behind y, of which there is little.
            let at = k.next_multiple_of(4);
            let indices = Tensor::of::<u32>(View::new(y.view().buffer(), at), &[k, 1])?;
            ops.top_k(e, order, x, y, indices, View::new(&six, 0))
        },
        |x, i| (0..16).map(|at| x(&[i[0], at])).fold(0.0, f64::max),
    );
}

#[test]
#[ignore = "writes 4 GiB fifteen times"]
fn elements_beyond_2_to_the_32() {
    with_large_buffers("sampled::elements::elements_beyond_2_to_the_32", || {
        elements(&Room::new(BYTES), ops());
    });
}

#[test]
#[ignore = "writes 4 GiB fifteen times"]
fn elements_beyond_2_to_the_32_in_lockstep() {
    with_large_buffers(
        "sampled::elements::elements_beyond_2_to_the_32_in_lockstep",
        || {
            elements(&Room::new(BYTES), lockstep());
        },
    );
}

#[test]
#[ignore = "writes 4 GiB twice"]
fn random_numbers_beyond_2_to_the_31() {
    with_large_buffers(
        "sampled::elements::random_numbers_beyond_2_to_the_31",
        || {
            let room = Room::new(BYTES);
            let count = (1 << 31) + 5;
            let from = |offset: usize| Random {
                seed: 7,
                offset: offset as u64,
                ..Random::default()
            };
            room.check_parts::<f16>(
                "uniform",
                count,
                |e, y| ops().uniform(e, from(0), -1.0, 1.0, y),
                |e, offset, y| ops().uniform(e, from(offset), -1.0, 1.0, y),
            );
            room.check_parts::<f16>(
                "normal",
                count,
                |e, y| ops().normal(e, from(0), 0.0, 1.0, y),
                |e, offset, y| ops().normal(e, from(offset), 0.0, 1.0, y),
            );
        },
    );
}

#[test]
#[ignore = "writes 8 GiB"]
fn indices_beyond_2_to_the_31() {
    with_large_buffers("sampled::elements::indices_beyond_2_to_the_31", || {
        let rows = (1 << 27) + 1;
        let shape = [rows, 16];
        let nothing = holding(&[0u32]);
        Room::new(4 * rows * 16).check::<u8, u32>(
            "argsort",
            (ops(), &shape, &shape),
            |ops, e, x, y| {
                let order = SortOrder {
                    axis: 1,
                    descending: false,
                };
                ops.argsort(e, order, x, y, View::new(&nothing, 0))
            },
            |x, i| {
                let row: Vec<f64> = (0..16).map(|at| x(&[i[0], at])).collect();
                let mut order: Vec<usize> = (0..16).collect();
                order.sort_by(|a, b| row[*a].total_cmp(&row[*b]));
                order[i[1]] as f64
            },
        );
    });
}

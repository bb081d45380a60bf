//! Bits that calculations would change: NaN of every kind, negative zeros and subnormal numbers in operations that only move
//! elements.

use half::{bf16, f16};
use metal_bridge::ops::Tensor;
use rand::Rng;

use crate::support::{rng, run};
use crate::tensor::rows::both;
use crate::tensor::spread::Spread;
use crate::tensor::values::Sample;

fn assert_bits<T: Sample>(what: &str, y: &Spread, exact: impl IntoIterator<Item = T>) {
    let (found, exact) = (y.read::<T>(), Vec::from_iter(exact));
    let [found, exact] = [&found, &exact].map(|all| bytemuck::cast_slice::<T, u8>(all));
    assert_eq!(found, exact, "{what} of {:?}", T::DATA_TYPE);
}

const ROWS: usize = 5;
const COLUMNS: usize = 9;

fn moves<T: Sample>(seed: u64, special: [T; 6]) {
    let mut rng = rng(seed);
    for ops in both().into_iter().chain(both()) {
        let shape = [ROWS, COLUMNS];
        let [a, b] = [(); 2]
            .map(|()| Vec::from_iter((0..ROWS * COLUMNS).map(|_| special[rng.random_range(0..6)])));
        let condition: Vec<u8> = a.iter().map(|_| rng.random_range(0..2)).collect();
        let reversed: Vec<u32> = (0..ROWS * COLUMNS)
            .map(|at| (COLUMNS - 1 - at % COLUMNS) as u32)
            .collect();
        let (x, other) = (
            Spread::of(&mut rng, &shape, &a),
            Spread::of(&mut rng, &shape, &b),
        );
        let c = Spread::of(&mut rng, &shape, &condition);
        let index = Spread::of(&mut rng, &shape, &reversed);
        let (x, other) = (x.tensor::<T>(), other.tensor::<T>());
        let (c, index) = (c.tensor::<u8>(), index.tensor::<u32>());
        let mut room = |shape: &[usize]| Spread::room::<T>(&mut rng, shape);
        let backwards = || (0..a.len()).map(|at| a[at / COLUMNS * COLUMNS + reversed[at] as usize]);
        let at = |row: usize, column: usize| a[row * COLUMNS + column];

        let y = room(&shape);
        run(|encoder| ops.select(encoder, c, x, other, y.tensor::<T>()));
        let chosen = |at: usize| if condition[at] != 0 { a[at] } else { b[at] };
        assert_bits("select", &y, (0..a.len()).map(chosen));

        let y = room(&shape);
        run(|encoder| ops.gather(encoder, x, 1, index, y.tensor::<T>()));
        assert_bits("gather", &y, backwards());

        let y = room(&shape);
        run(|encoder| ops.scatter(encoder, x, 1, index, y.tensor::<T>()));
        assert_bits("scatter", &y, backwards());

        let y = room(&[2 * ROWS, COLUMNS]);
        run(|encoder| ops.concat(encoder, &[x, other], 0, y.tensor::<T>()));
        assert_bits("concat", &y, a.iter().chain(&b).copied());

        let y = room(&[2 * ROWS, COLUMNS]);
        run(|encoder| ops.tile(encoder, x, &[2, 1], y.tensor::<T>()));
        assert_bits("tile", &y, a.iter().chain(&a).copied());

        let y = room(&shape);
        run(|encoder| ops.triu(encoder, x, 1, y.tensor::<T>()));
        let zero = T::nearest(0.0);
        let kept = |i: usize| {
            if i % COLUMNS > i / COLUMNS {
                a[i]
            } else {
                zero
            }
        };
        assert_bits("triu", &y, (0..a.len()).map(kept));

        for value in special {
            let y = room(&[ROWS, COLUMNS + 2]);
            run(|encoder| ops.pad(encoder, x, &[[0, 0], [2, 0]], value, y.tensor::<T>()));
            let padded = a
                .chunks(COLUMNS)
                .flat_map(|row| [&[value; 2], row].concat());
            assert_bits("pad", &y, padded);
        }

        let y = room(&[COLUMNS, ROWS]);
        let turned: Tensor<'_> = x.permute(&[1, 0]).unwrap();
        run(|encoder| ops.convert(encoder, turned, y.tensor::<T>()));
        let exact = (0..a.len()).map(|number| at(number % ROWS, number / ROWS));
        assert_bits("a turned copy", &y, exact);
    }
}

/// Quiet and signalling NaN with payloads, an infinity, a negative zero, the least number, and an ordinary one.
#[test]
fn what_is_moved_keeps_its_bits() {
    let words = [
        0xffc1_2345,
        0x7fa0_0001,
        0xff80_0000,
        0x8000_0000,
        1,
        0x3f81_2345,
    ];
    moves::<f32>(360, words.map(f32::from_bits));
    let halves = [0xfe12, 0x7d01, 0xfc00, 0x8000, 1, 0x3c12];
    moves::<f16>(361, halves.map(f16::from_bits));
    let halves = [0xffc5, 0x7f81, 0xff80, 0x8000, 1, 0x3f81];
    moves::<bf16>(362, halves.map(bf16::from_bits));
}

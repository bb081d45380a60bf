//! `indexing.metal`: elements chosen by indices, and indices that say where elements go.

use crate::buffers::{Arg, size, sizes, value};
use crate::check::{Approx, approx, exact};
use crate::layout::{contiguous, extent, gather};
use crate::rig::{File, Grid};
use crate::types::Type;
use crate::types::Type::{Bf16, F16, F32, I64, U8, U32};

/// Dimensions before, at and behind the one that is indexed, and how many indices there are.
const SHAPES: [(usize, usize, usize, usize); 3] = [(1, 9, 1, 5), (3, 7, 5, 11), (2, 33, 4, 33)];

/// The largest number of a type says that there is no element: zero is written, or nothing.
fn nothing(kind: Type) -> f64 {
    match kind {
        U8 => 255.0,
        U32 => u32::MAX.into(),
        _ => i64::MAX as f64,
    }
}

/// Indices below `limit`, with one that says nothing for each thirteenth.
fn ids(file: &File, kind: Type, count: usize, limit: usize) -> Vec<f64> {
    let ids = file.random(count as u64, count, 0.0..limit as f64);
    let marked = |(index, id): (usize, f64)| {
        if index % 13 == 5 {
            nothing(kind)
        } else {
            id.floor()
        }
    };
    ids.into_iter().enumerate().map(marked).collect()
}

/// The types of indices and elements in a kernel's name, where the file has the kernel.
fn kernels<'a>(file: &'a File, prefix: &'a str) -> impl Iterator<Item = (String, Type, Type)> + 'a {
    let pairs = [U8, U32, I64]
        .into_iter()
        .flat_map(|ids| [F32, F16, Bf16, U8, U32, I64].map(|elements| (ids, elements)));
    pairs.filter_map(move |(ids, elements)| {
        let name = format!("{prefix}_{}_{}", ids.name(), elements.name());
        file.names.contains(&name).then_some((name, ids, elements))
    })
}

pub fn run(file: &File) {
    for (kernel, ids, elements) in kernels(file, "is") {
        for shape in SHAPES {
            index_select(file, &kernel, ids, elements, shape);
        }
        index_select_view(file, &kernel, ids, elements);
    }
    for (kernel, ids, elements) in kernels(file, "gather") {
        for shape in SHAPES {
            gather_along(file, &kernel, ids, elements, shape);
        }
    }
    for (prefix, adds) in [("s", false), ("sa", true)] {
        for (kernel, ids_kind, kind) in kernels(file, prefix) {
            for (left, chosen, right, length) in SHAPES {
                Moves {
                    file,
                    kernel: &kernel,
                    ids_kind,
                    kind,
                    shape: (left, length, right, chosen),
                }
                .scatter(adds);
            }
        }
    }
    for (kernel, ids_kind, kind) in kernels(file, "ia") {
        for shape in SHAPES {
            Moves {
                file,
                kernel: &kernel,
                ids_kind,
                kind,
                shape,
            }
            .index_add();
        }
    }
}

/// Whole slices: `output[l, i, r] = input[l, ids[i], r]`.
fn index_select(
    file: &File,
    kernel: &str,
    ids_kind: Type,
    kind: Type,
    (left, length, right, chosen): (usize, usize, usize, usize),
) {
    let values = file.values(kind, 1, left * length * right, 1.0..99.0);
    let ids = ids(file, ids_kind, chosen, length);
    let (input, indices) = (
        file.input_at(kind, 3, &values),
        file.input_at(ids_kind, 1, &ids),
    );
    let count = left * chosen * right;
    let output = file.output(kind, count);
    let shape = [left, length, right];
    let arguments = [
        size(count),
        size(left),
        size(length),
        size(right),
        size(chosen),
        value(1u8),
        sizes(&shape),
        sizes(&contiguous(&shape)),
        Arg::In(&input),
        Arg::In(&indices),
        Arg::Out(&output),
    ];
    let launched = file.launch(kernel, &[], &arguments, Grid::Linear(count));
    let mut expected = Vec::new();
    for l in 0..left {
        for id in &ids {
            for r in 0..right {
                let offset = |id: f64| (l * length + id as usize) * right + r;
                expected.push(if *id == nothing(ids_kind) {
                    0.0
                } else {
                    values[offset(*id)]
                });
            }
        }
    }
    let case = format!("{chosen} of {length}, {left} before and {right} behind");
    file.check_exact(kernel, &case, launched, &output, &expected);
}

/// The same of a view. The package's kernel passes the length of the indexed dimension for the number of dimensions, so
/// a view comes out right where the two are the same, and reads behind the shape otherwise.
fn index_select_view(file: &File, kernel: &str, ids_kind: Type, kind: Type) {
    let (shape, strides) = ([4, 3, 5], [3, 1, 12]);
    let values = file.values(kind, 1, extent(&shape, &strides), 1.0..99.0);
    let ids = [2.0, 0.0, 2.0, 1.0];
    let (input, indices) = (file.input(kind, &values), file.input(ids_kind, &ids));
    let count = shape[0] * ids.len() * shape[2];
    let output = file.output(kind, count);
    let arguments = [
        size(count),
        size(shape[0]),
        size(shape[1]),
        size(shape[2]),
        size(ids.len()),
        value(0u8),
        sizes(&shape),
        sizes(&strides),
        Arg::In(&input),
        Arg::In(&indices),
        Arg::Out(&output),
    ];
    let launched = file.launch(kernel, &[], &arguments, Grid::Linear(count));
    let dense = gather(&values, &shape, &strides);
    let mut expected = Vec::new();
    for left in dense.chunks(shape[1] * shape[2]) {
        for id in ids {
            expected.extend_from_slice(&left[id as usize * shape[2]..][..shape[2]]);
        }
    }
    let case = format!("{shape:?} by {strides:?}");
    file.check_exact(kernel, &case, launched, &output, &expected);
}

/// One index an element: `output[l, i, r] = input[l, ids[l, i, r], r]`.
fn gather_along(
    file: &File,
    kernel: &str,
    ids_kind: Type,
    kind: Type,
    (left, length, right, chosen): (usize, usize, usize, usize),
) {
    let values = file.values(kind, 1, left * length * right, 1.0..99.0);
    let count = left * chosen * right;
    let ids = ids(file, ids_kind, count, length);
    let (input, indices) = (
        file.input_at(kind, 3, &values),
        file.input_at(ids_kind, 1, &ids),
    );
    let output = file.output(kind, count);
    let arguments = [
        size(count),
        size(left),
        size(length),
        size(right),
        size(chosen),
        Arg::In(&input),
        Arg::In(&indices),
        Arg::Out(&output),
    ];
    let launched = file.launch(kernel, &[], &arguments, Grid::Linear(count));
    let element = |(offset, id): (usize, &f64)| {
        if *id == nothing(ids_kind) {
            return 0.0;
        }
        let (l, r) = (offset / (chosen * right), offset % right);
        values[(l * length + *id as usize) * right + r]
    };
    let expected: Vec<f64> = ids.iter().enumerate().map(element).collect();
    let case = format!("{chosen} of {length}, {left} before and {right} behind");
    file.check_exact(kernel, &case, launched, &output, &expected);
}

/// What an element is after numbers have been added to it one after the other, each sum rounded to the type.
fn sums(kind: Type, start: &[f64], additions: &[(usize, f64)]) -> Vec<Approx> {
    let mut sums: Vec<Approx> = start.iter().map(|value| exact(*value)).collect();
    for (offset, addition) in additions {
        let sum = &mut sums[*offset];
        let value = sum.value + addition;
        *sum = match kind.is_float() {
            true => approx(value, sum.error + value.abs() * kind.epsilon()),
            false => exact(kind.nearest(value)),
        };
    }
    sums
}

/// Elements that go where indices say.
struct Moves<'a> {
    file: &'a File,
    kernel: &'a str,
    ids_kind: Type,
    kind: Type,
    /// Dimensions before, at and behind the one that is indexed, and how many indices there are for it.
    shape: (usize, usize, usize, usize),
}

impl Moves<'_> {
    /// One index an element: `output[l, ids[l, i, r], r] = input[l, i, r]`, the last one wins; or `+=`.
    fn scatter(&self, adds: bool) {
        let (left, _, right, chosen) = self.shape;
        self.run(left * chosen * right, &[], adds, |offset| offset);
    }

    /// Whole slices: `output[l, ids[i], r] += input[l, i, r]`.
    fn index_add(&self) {
        let (_, _, right, chosen) = self.shape;
        let numbers = [size(chosen)];
        self.run(chosen, &numbers, true, |offset| offset / right % chosen);
    }

    /// `id_count` indices, of which an element takes the one at `id_of` its offset; `numbers` come behind the dimensions.
    fn run(
        &self,
        id_count: usize,
        numbers: &[Arg<'_>],
        adds: bool,
        id_of: impl Fn(usize) -> usize,
    ) {
        let (left, length, right, chosen) = self.shape;
        let values = self
            .file
            .values(self.kind, 1, left * chosen * right, 1.0..99.0);
        let before = self
            .file
            .values(self.kind, 2, left * length * right, 1.0..9.0);
        let ids = ids(self.file, self.ids_kind, id_count, length);
        let input = self.file.input_at(self.kind, 3, &values);
        let indices = self.file.input_at(self.ids_kind, 1, &ids);
        let output = self.file.output_holding(self.kind, &before);
        let threads = left * right;
        let mut arguments: Vec<Arg<'_>> = [threads, left, chosen, right, length].map(size).into();
        arguments.extend(numbers.iter().cloned());
        arguments.extend([Arg::In(&input), Arg::In(&indices), Arg::Out(&output)]);
        let launched = self
            .file
            .launch(self.kernel, &[], &arguments, Grid::Linear(threads));
        let move_of = |(offset, value): (usize, &f64)| {
            let (l, r) = (offset / (chosen * right), offset % right);
            let id = ids[id_of(offset)];
            (id != nothing(self.ids_kind)).then(|| ((l * length + id as usize) * right + r, *value))
        };
        let moved: Vec<_> = values.iter().enumerate().filter_map(move_of).collect();
        let case = format!("{chosen} to {length}, {left} before and {right} behind");
        let expected = match adds {
            true => sums(self.kind, &before, &moved),
            false => {
                let mut written: Vec<Approx> = before.iter().map(|value| exact(*value)).collect();
                for (offset, value) in moved {
                    written[offset] = exact(value);
                }
                written
            }
        };
        self.file
            .check(self.kernel, &case, launched, &output, &expected);
    }
}

//! Batches: results, the barriers between operations, and other work among them. `make shuffle` runs these tests with dispatches
//! in any order that the barriers allow, and the kernel sanitizer reports what runs without one that it needs.

use std::collections::HashSet;

use metal_bridge::ops::{Binary, Reduction, SortOrder, Tensor, Unary, View};
use metal_bridge::{Batch, Buffer, CompileOptions, Error, Result, StorageMode};
use rand::Rng;
use rand::rngs::SmallRng;

use crate::support::{self, metal, rng};

/// Elements of each buffer of a random program.
const SIZE: usize = 48;

fn memory(values: &[i32]) -> Buffer {
    support::buffer(values)
}

fn run(batch: Batch<'_>) {
    batch.commit().expect("commits").wait().expect("completes");
}

/// A range of elements of one of the buffers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Slice {
    buffer: usize,
    start: usize,
    count: usize,
}

impl Slice {
    fn random(rng: &mut SmallRng, count: usize) -> Slice {
        Slice {
            buffer: rng.random_range(0..3),
            start: rng.random_range(0..=SIZE - count),
            count,
        }
    }

    fn tensor<'a>(&self, buffers: &'a [Buffer; 3], shape: &[usize]) -> Tensor<'a> {
        assert_eq!(shape.iter().product::<usize>(), self.count);
        let view = View::new(&buffers[self.buffer], self.start * size_of::<i32>());
        Tensor::of::<i32>(view, shape).expect("a shape")
    }

    fn elements(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let buffer = self.buffer;
        (self.start..self.start + self.count).map(move |element| (buffer, element))
    }

    fn overlaps(&self, other: &Slice) -> bool {
        self.elements()
            .any(|element| other.elements().any(|same| same == element))
    }
}

/// An operation of a random program.
#[derive(Debug)]
enum Step {
    Add([Slice; 3]),
    Negate([Slice; 2]),
    /// The sums of pairs.
    Sum([Slice; 2]),
    Fill(i32, Slice),
}

impl Step {
    fn random(rng: &mut SmallRng) -> Step {
        let count = rng.random_range(1..=SIZE / 4);
        loop {
            let [a, b, y] = [(); 3].map(|()| Slice::random(rng, count));
            let step = match rng.random_range(0..4) {
                0 => Step::Add([a, b, if rng.random() { a } else { y }]),
                1 => Step::Negate([a, if rng.random() { a } else { y }]),
                2 => Step::Sum([Slice::random(rng, 2 * count), y]),
                _ => Step::Fill(rng.random_range(-9..9), y),
            };
            // An operation refuses operands that overlap, if they are not the same elements.
            let is_sum = matches!(step, Step::Sum(_));
            let (reads, write) = step.slices();
            if reads
                .iter()
                .all(|read| !read.overlaps(&write) || (*read == write && !is_sum))
            {
                return step;
            }
        }
    }

    /// What it reads and what it writes.
    fn slices(&self) -> (Vec<Slice>, Slice) {
        match self {
            Step::Add([a, b, y]) => (vec![*a, *b], *y),
            Step::Negate([x, y]) | Step::Sum([x, y]) => (vec![*x], *y),
            Step::Fill(_, y) => (vec![], *y),
        }
    }

    fn queue(&self, batch: &mut Batch<'_>, buffers: &[Buffer; 3]) -> Result<()> {
        let of = |slice: &Slice| slice.tensor(buffers, &[slice.count]);
        match self {
            Step::Add([a, b, y]) => batch.binary(Binary::Add, of(a), of(b), of(y)),
            Step::Negate([x, y]) => batch.unary(Unary::Neg, of(x), of(y)),
            Step::Sum([x, y]) => {
                let pairs = x.tensor(buffers, &[y.count, 2]);
                batch.reduce(Reduction::Sum, pairs, &[1], of(y))
            }
            Step::Fill(value, y) => batch.fill(*value, of(y)),
        }
    }

    fn compute(&self, values: &mut [[i32; SIZE]; 3]) {
        let get = |slice: &Slice| -> Vec<i32> {
            let elements = slice.elements();
            elements
                .map(|(buffer, element)| values[buffer][element])
                .collect()
        };
        let result: Vec<i32> = match self {
            Step::Add([a, b, _]) => get(a)
                .iter()
                .zip(get(b))
                .map(|(a, b)| a.wrapping_add(b))
                .collect(),
            Step::Negate([x, _]) => get(x).iter().map(|x| x.wrapping_neg()).collect(),
            Step::Sum([x, _]) => get(x)
                .chunks(2)
                .map(|pair| pair[0].wrapping_add(pair[1]))
                .collect(),
            Step::Fill(value, y) => vec![*value; y.count],
        };
        let (_, y) = self.slices();
        for ((buffer, element), value) in y.elements().zip(result) {
            values[buffer][element] = value;
        }
    }
}

/// Which elements the operations since the last barrier read and write, one by one.
#[derive(Default)]
struct Model {
    reads: HashSet<(usize, usize)>,
    writes: HashSet<(usize, usize)>,
}

impl Model {
    /// Whether a barrier has to come before the step.
    fn needs_barrier(&mut self, step: &Step) -> bool {
        let (reads, write) = step.slices();
        let is_written = |element| self.writes.contains(&element);
        let needs_barrier = reads.iter().any(|read| read.elements().any(is_written))
            || write
                .elements()
                .any(|element| is_written(element) || self.reads.contains(&element));
        if needs_barrier {
            *self = Model::default();
        }
        self.reads.extend(reads.iter().flat_map(Slice::elements));
        self.writes.extend(write.elements());
        needs_barrier
    }
}

#[test]
fn barriers_stand_where_a_model_says() {
    let (ops, mut rng) = (metal(), rng(80));
    let (mut with, mut without) = (0, 0);
    for _ in 0..60 {
        let mut values = [(); 3].map(|()| [(); SIZE].map(|()| rng.random_range(-100..100)));
        let buffers = values.each_ref().map(|values| memory(values));
        let (mut batch, mut model, mut barriers) = (ops.batch(), Model::default(), 0);
        for _ in 0..20 {
            let step = Step::random(&mut rng);
            let needs_barrier = model.needs_barrier(&step);
            step.queue(&mut batch, &buffers).expect("queues");
            barriers += u64::from(needs_barrier);
            assert_eq!(
                batch.barriers(),
                barriers,
                "after {step:?}, which needs one: {needs_barrier}"
            );
            step.compute(&mut values);
            *(if needs_barrier {
                &mut with
            } else {
                &mut without
            }) += 1;
        }
        run(batch);
        for (buffer, values) in buffers.iter().zip(&values) {
            assert_eq!(*buffer.wait_read::<i32>().expect("readable"), *values);
        }
    }
    assert!(with > 200 && without > 200, "{with} and {without}");
}

#[test]
fn passes_of_an_operation_are_ordered_like_operations() {
    const COUNT: usize = 1000;
    let (ops, mut rng) = (metal(), rng(81));
    let values: Vec<i32> = (0..COUNT).map(|_| rng.random()).collect();
    let x = memory(&values);
    let [y, indices, negated] = [(); 3].map(|()| memory(&[0; COUNT]));
    let scratch = memory(&[0; 2 * COUNT]);
    let of = |buffer| Tensor::of::<i32>(buffer, &[COUNT]).expect("a shape");
    let positions = Tensor::of::<u32>(&indices, &[COUNT]).expect("a shape");
    let mut batch = ops.batch();
    batch
        .unary(Unary::Neg, of(&x), of(&negated))
        .expect("negates");
    batch
        .sort(SortOrder::default(), of(&x), of(&y), positions, &scratch)
        .expect("sorts");
    // 63 runs of 16, merged in 6 passes, and the elements by their indices. Negation and the first pass both only read x.
    assert_eq!(batch.barriers(), 7);
    batch
        .binary(Binary::Add, of(&negated), of(&y), of(&negated))
        .expect("adds");
    assert_eq!(batch.barriers(), 8);
    run(batch);
    let mut sorted = values.clone();
    sorted.sort_unstable();
    assert_eq!(*y.wait_read::<i32>().expect("readable"), *sorted);
    let sums: Vec<i32> = sorted
        .iter()
        .zip(&values)
        .map(|(y, x)| y.wrapping_sub(*x))
        .collect();
    assert_eq!(*negated.wait_read::<i32>().expect("readable"), *sums);
}

#[test]
fn other_work_comes_after_and_before_the_rest() {
    let ops = metal();
    let source = "kernel void twice(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
    ops.backend()
        .register_kernels(source, &CompileOptions::new())
        .expect("compiles");
    let pipeline = ops
        .backend()
        .get_compute_pipeline("twice")
        .expect("a pipeline");
    let (x, other) = (memory(&[1, 2, 3, 4]), memory(&[0; 4]));
    let of = |buffer| Tensor::of::<i32>(buffer, &[4]).expect("a shape");
    let twice = |batch: &mut Batch<'_>, buffer| {
        let encoded = batch.encode(|_, encoder| {
            encoder.set_compute_pipeline_state(&pipeline)?;
            encoder.set_buffer(buffer, 0, 0)?;
            // SAFETY: a thread touches one of the four integers.
            unsafe { encoder.dispatch_threads(4, 4) }
        });
        encoded.expect("encodes");
    };
    let mut batch = ops.batch();
    twice(&mut batch, &x);
    assert_eq!(batch.barriers(), 0);
    twice(&mut batch, &x);
    // Nobody knows what it reaches.
    assert_eq!(batch.barriers(), 1);
    batch
        .unary(Unary::Neg, of(&other), of(&other))
        .expect("negates");
    assert_eq!(batch.barriers(), 2);
    batch.unary(Unary::Neg, of(&x), of(&x)).expect("negates");
    assert_eq!(batch.barriers(), 2);
    let copied = batch.encode_commands(|commands| {
        let mut blit = commands.blit_command_encoder()?;
        blit.copy(&x, 0, &other, 0, 16)?;
        blit.end_encoding()
    });
    copied.expect("copies");
    // Another encoder needs no barrier.
    batch
        .binary(Binary::Add, of(&x), of(&other), of(&x))
        .expect("adds");
    assert_eq!(batch.barriers(), 2);
    // A barrier of the caller's own is one.
    batch
        .encode(|_, encoder| encoder.memory_barrier())
        .expect("a barrier");
    batch.unary(Unary::Neg, of(&x), of(&x)).expect("negates");
    assert_eq!(batch.barriers(), 3);
    run(batch);
    assert_eq!(*x.wait_read::<i32>().expect("readable"), [8, 16, 24, 32]);
    assert_eq!(
        *other.wait_read::<i32>().expect("readable"),
        [-4, -8, -12, -16]
    );
}

#[test]
fn what_is_refused_or_dropped_does_nothing() {
    let ops = metal();
    let (x, y) = (memory(&[1, 2, 3, 4]), memory(&[0; 4]));
    let of = |buffer, count| Tensor::of::<i32>(buffer, &[count]).expect("a shape");
    let mut batch = ops.batch();
    batch
        .unary(Unary::Neg, of(&x, 4), of(&y, 4))
        .expect("negates");
    let refused = batch
        .unary(Unary::Neg, of(&y, 4), of(&x, 5))
        .expect_err("too long");
    assert!(
        matches!(refused, Error::InvalidArgument(_) | Error::OutOfRange(_)),
        "{refused}"
    );
    let refused = batch
        .unary(Unary::Neg, of(&y, 5), of(&x, 5))
        .expect_err("too long");
    assert!(matches!(refused, Error::OutOfRange(_)), "{refused}");
    assert_eq!(batch.barriers(), 0);
    assert!(
        matches!(y.wait_read::<i32>(), Err(Error::InUse(_))),
        "it is recorded"
    );
    run(batch);
    assert_eq!(*y.wait_read::<i32>().expect("readable"), [-1, -2, -3, -4]);

    let mut batch = ops.batch();
    batch
        .unary(Unary::Neg, of(&y, 4), of(&y, 4))
        .expect("negates");
    drop(batch);
    assert_eq!(*y.wait_read::<i32>().expect("readable"), [-1, -2, -3, -4]);
    run(ops.batch());
    // The batch outlives what the caller has of a buffer.
    let mut batch = ops.batch();
    let gone = ops
        .backend()
        .create_buffer(16, StorageMode::Shared)
        .expect("a buffer");
    batch.fill(7, of(&gone, 4)).expect("fills");
    batch
        .binary(Binary::Add, of(&gone, 4), of(&y, 4), of(&y, 4))
        .expect("adds");
    drop(gone);
    run(batch);
    assert_eq!(*y.wait_read::<i32>().expect("readable"), [6, 5, 4, 3]);
}

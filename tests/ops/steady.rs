//! A loop of operations, once it runs, makes no buffer, no pipeline and no object that outlives its call.

use metal_bridge::ops::{
    ArgReduction, Attention, Binary, Comparison, Convolution, Interpolation, Matmul, Norm, Pooling,
    Random, Reduction, ScanOrder, SortOrder, Tensor, Unary, View, Weight, WeightType, Windows,
};
use metal_bridge::{
    Batch, Buffer, CompileOptions, Device, LiveObjects, MetalBackend, MetalOps, ObjectKind, Result,
};
use metal_bridge_test_support::{
    SLACK, count_objects, in_child, print_live_objects, resting_objects, settled_handles,
    settled_objects,
};

use crate::support::{self, matrix, rng};

/// Rounds, and how many go before they are counted.
const ROUNDS: usize = 1000;
const WARM_UP: usize = 3;

/// What a round may make as often as it likes. On a busy machine a wait takes more than one step, and each but the last ends
/// with an error that nobody sees.
const PASSING: [ObjectKind; 4] = [
    ObjectKind::Error,
    ObjectKind::CommandBuffer,
    ObjectKind::ComputeEncoder,
    ObjectKind::BlitEncoder,
];

struct Round {
    ops: MetalOps,
    buffers: [Buffer; 4],
    weight: Weight,
}

impl Round {
    fn new() -> Round {
        let backend = MetalBackend::with_device(support::device()).expect("a backend");
        let names = backend.register_kernels("kernel void nothing() {}", &CompileOptions::new());
        names.expect("compiles");
        Round {
            ops: MetalOps::new(backend),
            buffers: [(); 4].map(|()| support::buffer(&[1.0f32; 1024])),
            weight: matrix(&mut rng(1), WeightType::Q8_0, 16, 64, 1.0, 0).weight,
        }
    }

    fn tensor(&self, buffer: usize, shape: &[usize]) -> Tensor<'_> {
        Tensor::of::<f32>(&self.buffers[buffer], shape).expect("a shape")
    }

    /// Operations of every kind: those with several passes, too.
    fn queue(&self, batch: &mut Batch<'_>) -> Result<()> {
        let of = |buffer, shape: &[usize]| self.tensor(buffer, shape);
        let square = [16, 16];
        batch.binary(Binary::Add, of(0, &square), of(1, &[16]), of(2, &square))?;
        batch.unary(Unary::Silu, of(2, &square), of(2, &square))?;
        batch.matmul(
            Matmul::default(),
            of(2, &square),
            of(0, &square),
            of(3, &square),
        )?;
        batch.softmax(of(3, &square), 1, of(3, &square))?;
        batch.reduce(Reduction::Sum, of(3, &square), &[0], of(1, &[16]))?;
        batch.layer_norm(of(3, &square), &[1], &Norm::default(), of(2, &square))?;
        batch.cumsum(of(2, &square), 1, ScanOrder::default(), of(3, &square))?;
        let image = [1, 2, 8, 8];
        let convolution = Convolution::<2>::default();
        batch.convolution(
            of(0, &image),
            of(1, &[3, 2, 3, 3]),
            None,
            &convolution,
            of(2, &[1, 3, 6, 6]),
        )?;
        let windows = Windows::<2>::of([2, 2]);
        batch.pool(Pooling::Max, of(0, &image), &windows, of(2, &[1, 2, 4, 4]))?;
        let heads = [1, 2, 4, 16];
        batch.scaled_dot_product_attention(
            of(0, &heads),
            of(1, &heads),
            of(1, &heads),
            &Attention::default(),
            of(2, &heads),
        )?;
        batch.normal(Random::default(), 0.0, 1.0, of(0, &square))?;
        let (positions, scratch) = (
            Tensor::of::<u32>(&self.buffers[3], &[100])?,
            View::new(&self.buffers[3], 1024),
        );
        batch.sort(
            SortOrder::default(),
            of(0, &[100]),
            of(2, &[100]),
            positions,
            scratch,
        )
    }

    /// Operations that compare, choose, move, index and order elements, and the layers that [`Round::queue`] leaves out.
    fn queue_others(&self, batch: &mut Batch<'_>) -> Result<()> {
        let of = |buffer, shape: &[usize]| self.tensor(buffer, shape);
        let bytes = |buffer, shape: &[usize]| Tensor::of::<u8>(&self.buffers[buffer], shape);
        let (row, square, image) = ([16], [16, 16], [1, 2, 8, 8]);
        let condition = bytes(3, &square)?;
        let less = Comparison::Less;
        batch.compare(less, of(0, &square), of(1, &row), condition)?;
        batch.select(condition, of(0, &square), of(1, &row), of(2, &square))?;
        batch.fill(0u32, Tensor::of::<u32>(&self.buffers[3], &row)?)?;
        let index = Tensor::of::<u32>(&self.buffers[3], &row)?;
        batch.gather(of(0, &row), 0, index, of(2, &row))?;
        batch.scatter(of(0, &row), 0, index, of(2, &row))?;
        batch.scatter_add(of(0, &row), 0, index, of(2, &row))?;
        batch.index_select(of(0, &row), 0, index, of(2, &row))?;
        batch.embedding(of(0, &square), index, of(2, &square))?;
        batch.one_hot(index, of(2, &square))?;
        batch.convert(of(0, &square), bytes(2, &square)?)?;
        batch.arg_reduce(ArgReduction::Max, of(0, &square), 1, index)?;
        batch.concat(&[of(0, &row), of(1, &row)], 0, of(2, &[32]))?;
        batch.pad(of(0, &row), &[[1, 2]], 7.0f32, of(2, &[19]))?;
        batch.tile(of(0, &row), &[2], of(2, &[32]))?;
        batch.repeat(of(0, &row), 0, 2, of(2, &[32]))?;
        batch.triu(of(0, &square), 0, of(2, &square))?;
        batch.cumprod(of(0, &square), 0, ScanOrder::default(), of(2, &square))?;
        batch.log_softmax(of(0, &square), 0, of(2, &square))?;
        let (plain, two) = (Norm::default(), of(1, &[2]));
        batch.rms_norm_along(of(0, &square), &[1], &plain, of(2, &square))?;
        batch.group_norm(of(0, &image), 2, &plain, of(2, &image))?;
        batch.batch_norm(of(0, &image), two, two, &plain, of(2, &image))?;
        batch.batch_norm_training(of(0, &image), None, &plain, of(2, &image))?;
        let convolution = Convolution::<2>::default();
        batch.transposed_convolution(
            of(0, &image),
            of(1, &[2, 3, 3, 3]),
            None,
            &convolution,
            of(2, &[1, 3, 10, 10]),
        )?;
        batch.adaptive_pool(Pooling::Average, of(0, &image), of(2, &[1, 2, 3, 3]))?;
        let large = of(2, &[1, 2, 16, 16]);
        batch.resample(Interpolation::Linear, of(0, &image), large)?;
        let small = |buffer| Tensor::of::<i8>(&self.buffers[buffer], &square);
        let sums = Tensor::of::<i32>(&self.buffers[2], &square)?;
        batch.matmul(Matmul::default(), small(0)?, small(1)?, sums)?;
        let bits = Tensor::of::<u32>(&self.buffers[2], &square)?;
        batch.random_bits(Random::default(), bits)?;
        let (rows, sums) = (of(0, &[2, 64]), of(2, &[2, 16]));
        batch.matmul_weights(&self.weight, rows, sums)?;
        batch.matmul_weights_add(&self.weight, rows, sums)?;
        batch.uniform(Random::default(), 0.0, 1.0, of(2, &square))?;
        let (order, scratch) = (SortOrder::default(), View::new(&self.buffers[3], 1024));
        batch.argsort(
            order,
            of(0, &[100]),
            index_of(&self.buffers[3], 100)?,
            scratch,
        )?;
        batch.top_k(
            order,
            of(0, &[100]),
            of(2, &[5]),
            index_of(&self.buffers[3], 5)?,
            scratch,
        )
    }

    fn at_once(&self) -> Result<()> {
        let [a, b, c, _] = &self.buffers;
        self.ops.backend().get_compute_pipeline("nothing")?;
        self.ops.add(a, b, c, 100)?;
        self.ops.matmul(a, b, c, 8, 8, 8)?;
        self.ops
            .softmax(self.tensor(2, &[10, 10]), 1, self.tensor(0, &[10, 10]))
    }
}

fn index_of(buffer: &Buffer, count: usize) -> Result<Tensor<'_>> {
    Tensor::of::<u32>(buffer, &[count])
}

/// Runs the round many times, and fails if it leaves or makes something.
pub fn assert_steady(round: impl Fn() -> Result<()>) {
    (0..WARM_UP).for_each(|_| round().expect("a round"));
    let objects = resting_objects();
    let before = Device::live_objects();
    (0..ROUNDS).for_each(|_| round().expect("a round"));
    let after: LiveObjects = settled_handles(&before);
    assert!(after.same_live(&before), "{before:?} became {after:?}");
    for kind in ObjectKind::ALL {
        let made = after.made(kind) - before.made(kind);
        assert!(
            made == 0 || PASSING.contains(&kind),
            "{made} made: {}",
            kind.name()
        );
    }
    let left = settled_objects(objects + SLACK);
    if left > objects + SLACK {
        print_live_objects();
    }
    assert!(left <= objects + SLACK, "{objects} objects became {left}");
}

#[test]
fn batches_and_calls_at_once_leave_and_make_nothing() {
    in_child(
        "steady::batches_and_calls_at_once_leave_and_make_nothing",
        || {
            count_objects();
            let round = Round::new();
            assert_steady(|| {
                let mut batch = round.ops.batch();
                round.queue(&mut batch)?;
                round.queue_others(&mut batch)?;
                batch.commit()?.wait()?;
                round.at_once()
            });
            round.ops.enable_metrics(true);
            assert_steady(|| {
                round.ops.reset_metrics();
                round.at_once()
            });
        },
    );
}

#[test]
fn calls_on_slices_and_addresses_make_no_buffers() {
    in_child(
        "steady::calls_on_slices_and_addresses_make_no_buffers",
        || {
            count_objects();
            let round = Round::new();
            let weight = &round.weight;
            let [a, b] = [(); 2].map(|()| round.ops.backend().allocate(400).expect("memory"));
            assert_steady(|| {
                let (a, b) = (a.address.as_ptr().cast::<f32>(), b.address.as_ptr().cast());
                round.ops.add_ptr(a, b, b, 100)?;
                for rows in [1, 2, 3] {
                    let x = vec![1.0; rows * 64];
                    round.ops.qkv_projection(&x, weight, weight, weight)?;
                    round.ops.rms_norm(&x, &[1.0; 64], 1e-5)?;
                    round.ops.silu_multiply(&x, &x)?;
                    round.ops.embed(weight, &[3, 1][..rows.min(2)])?;
                }
                Ok(())
            });
        },
    );
}

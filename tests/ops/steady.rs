//! A loop of operations, once it runs, makes no buffer, no pipeline and no object that outlives its call.

use metal_bridge::ops::{
    Attention, Binary, Convolution, Matmul, Norm, Pooling, Random, Reduction, ScanOrder, SortOrder,
    Tensor, Unary, View, WeightType, Windows,
};
use metal_bridge::{
    Batch, Buffer, Device, LiveObjects, MetalBackend, MetalOps, ObjectKind, Result,
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
}

impl Round {
    fn new() -> Round {
        let backend = MetalBackend::with_device(support::device()).expect("a backend");
        Round {
            ops: MetalOps::new(backend),
            buffers: [(); 4].map(|()| support::buffer(&[1.0f32; 1024])),
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

    fn at_once(&self) -> Result<()> {
        let [a, b, c, _] = &self.buffers;
        self.ops.add(a, b, c, 100)?;
        self.ops.matmul(a, b, c, 8, 8, 8)?;
        self.ops
            .softmax(self.tensor(2, &[10, 10]), 1, self.tensor(0, &[10, 10]))
    }
}

/// Runs the round many times, and fails if it leaves or makes something.
fn assert_steady(round: impl Fn() -> Result<()>) {
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
                batch.commit()?.wait()?;
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
            let weight = matrix(&mut rng(1), WeightType::Q8_0, 16, 64, 1.0, 0).weight;
            let [a, b] = [(); 2].map(|()| round.ops.backend().allocate(400).expect("memory"));
            assert_steady(|| {
                let (a, b) = (a.address.as_ptr().cast::<f32>(), b.address.as_ptr().cast());
                round.ops.add_ptr(a, b, b, 100)?;
                for rows in [1, 2, 3] {
                    let x = vec![1.0; rows * 64];
                    round.ops.qkv_projection(&x, &weight, &weight, &weight)?;
                    round.ops.rms_norm(&x, &[1.0; 64], 1e-5)?;
                    round.ops.silu_multiply(&x, &x)?;
                    round.ops.embed(&weight, &[3, 1][..rows.min(2)])?;
                }
                Ok(())
            });
        },
    );
}

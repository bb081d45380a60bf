//! What the tests of the kernels share: one device, seeded numbers, weights in every format with their exact values, and
//! buffers whose surroundings are watched.

use std::sync::OnceLock;

use approx::abs_diff_eq;
use metal_bridge::ops::{LaneExecution, Ops, View, Weight, WeightType};
use metal_bridge::{
    Buffer, CommandQueue, ComputeEncoder, Device, DispatchType, MetalBackend, MetalOps, Result,
    StorageMode,
};
use metal_bridge_workloads::formats;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Half a unit in the last place of a float, relative.
pub const EPSILON: f64 = f32::EPSILON as f64 / 2.0;

struct Rig {
    ops: Ops,
    queue: CommandQueue,
}

fn rig() -> &'static Rig {
    static RIG: OnceLock<Rig> = OnceLock::new();
    RIG.get_or_init(|| {
        let device = Device::system_default().expect("a device");
        let queue = device.new_command_queue().expect("a queue");
        Rig {
            ops: Ops::new(&device).expect("the operations"),
            queue,
        }
    })
}

pub fn ops() -> &'static Ops {
    &rig().ops
}

/// The operations for both ways in which a device may run lanes.
pub fn both() -> &'static [Ops; 2] {
    static BOTH: OnceLock<[Ops; 2]> = OnceLock::new();
    BOTH.get_or_init(|| {
        [LaneExecution::Lockstep, LaneExecution::InTurn]
            .map(|lanes| Ops::with_lane_execution(device(), lanes).expect("the operations"))
    })
}

pub fn device() -> &'static Device {
    rig().ops.device()
}

/// Operations on a backend of their own.
pub fn metal() -> MetalOps {
    MetalOps::new(MetalBackend::with_device(device()).expect("a backend"))
}

pub fn queue() -> &'static CommandQueue {
    &rig().queue
}

/// Encodes with `encode` and waits for the GPU.
pub fn run(encode: impl FnOnce(&mut ComputeEncoder<'_>) -> Result<()>) {
    let mut encode = Some(encode);
    run_dynamic(&mut |encoder| encode.take().expect("one call")(encoder));
}

/// Hundreds of functions call [`run`]: its body is compiled once, not for each.
fn run_dynamic(encode: &mut dyn FnMut(&mut ComputeEncoder<'_>) -> Result<()>) {
    let mut commands = rig().queue.command_buffer().expect("a command buffer");
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .expect("an encoder");
    encode(&mut encoder).expect("encodes");
    encoder.end_encoding().expect("ends");
    commands
        .commit()
        .expect("commits")
        .wait()
        .expect("completes");
}

/// Encodes with `encode`, which has to fail, and gives its error. What was encoded before the error runs, so that a test
/// which looks at the results sees it.
pub fn refused(encode: impl FnOnce(&mut ComputeEncoder<'_>) -> Result<()>) -> metal_bridge::Error {
    let mut error = None;
    run(|encoder| {
        error = encode(encoder).err();
        Ok(())
    });
    error.expect("is refused")
}

/// Random numbers of a test. `METAL_BRIDGE_SEED` gives all tests others; what is printed here is seen if the test fails.
pub fn rng(seed: u64) -> SmallRng {
    let run: u64 =
        std::env::var("METAL_BRIDGE_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    println!("random numbers of METAL_BRIDGE_SEED={run}");
    SmallRng::seed_from_u64(seed ^ run << 32)
}

/// `count` numbers in -1..1.
pub fn uniform(rng: &mut SmallRng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

pub fn buffer<T: bytemuck::Pod>(values: &[T]) -> Buffer {
    device()
        .new_buffer_with_data(values, StorageMode::Shared)
        .expect("a buffer")
}

/// `values` behind `offset` bytes of something else.
pub fn buffer_at(offset: usize, values: &[f32]) -> Buffer {
    let mut bytes = vec![0xA5u8; offset];
    bytes.extend_from_slice(bytemuck::cast_slice(values));
    buffer(&bytes)
}

/// Room for an output, with bytes around it that nobody may touch.
pub struct Guarded {
    buffer: Buffer,
    bytes: usize,
}

const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xC3;

impl Guarded {
    /// Room for `count` elements of four bytes, all NaN to begin with.
    pub fn new(count: usize) -> Guarded {
        Guarded::holding(&vec![f32::NAN; count])
    }

    /// Room that holds `values` to begin with.
    pub fn holding(values: &[f32]) -> Guarded {
        let inner: &[u8] = bytemuck::cast_slice(values);
        let bytes = [&[GUARD_BYTE; GUARD][..], inner, &[GUARD_BYTE; GUARD][..]].concat();
        Guarded {
            buffer: buffer(&bytes),
            bytes: inner.len(),
        }
    }

    pub fn view(&self) -> View<'_> {
        View::new(&self.buffer, GUARD)
    }

    /// What is there now; fails where a byte around it has changed.
    pub fn read<T: bytemuck::Pod>(&self) -> Vec<T> {
        let all = self.buffer.wait_read::<u8>().expect("readable");
        let (before, rest) = all.split_at(GUARD);
        let (inner, after) = rest.split_at(self.bytes);
        assert!(
            before.iter().chain(after).all(|byte| *byte == GUARD_BYTE),
            "written outside of the output"
        );
        inner
            .chunks_exact(size_of::<T>())
            .map(bytemuck::pod_read_unaligned)
            .collect()
    }
}

/// The formats of each kind: the others differ from one of these in how they unpack an element alone.
pub const THOROUGH: [WeightType; 5] = [
    WeightType::F32,
    WeightType::F16,
    WeightType::Q8_0,
    WeightType::Q4_0,
    WeightType::Q4_1,
];

/// A matrix in one of the formats, and what its elements are exactly.
pub struct Matrix {
    pub weight: Weight,
    pub exact: Vec<f64>,
}

impl Matrix {
    pub fn row(&self, row: usize) -> &[f64] {
        let columns = self.weight.columns();
        &self.exact[row * columns..][..columns]
    }
}

/// A random matrix whose elements are about `magnitude` large, `offset` bytes into its buffer.
pub fn matrix(
    rng: &mut SmallRng,
    kind: WeightType,
    rows: usize,
    columns: usize,
    magnitude: f32,
    offset: usize,
) -> Matrix {
    let weights = formats::random(kind, rows * columns, magnitude / 3f32.sqrt(), rng);
    let bytes = [&vec![0xA5u8; offset], &weights[..]].concat();
    Matrix {
        weight: Weight::new(buffer(&bytes), offset, rows, columns, kind).expect("a weight"),
        exact: formats::decode(kind, &weights),
    }
}

/// Fails where an element is further from its exact value than its own tolerance.
pub fn assert_close(what: &str, got: &[f32], exact: impl IntoIterator<Item = (f64, f64)>) {
    let mut count = 0;
    for (index, (exact, tolerance)) in exact.into_iter().enumerate() {
        let found = f64::from(got[index]);
        assert!(
            abs_diff_eq!(found, exact, epsilon = tolerance),
            "{what}: element {index} is {found} where {exact} is right: off by {:e}, allowed {tolerance:e}",
            (found - exact).abs()
        );
        count += 1;
    }
    assert_eq!(count, got.len(), "{what}: elements compared");
}

/// Runs one test of this program once more, in a process whose software Metal is of a family that has no simdgroup matrices.
/// On a Mac the family is what it is, and this repeats the test.
pub fn again_without_matrices(test: &str) {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args([test, "--exact"])
        .env("SOFTWARE_METAL_FAMILY", "6")
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

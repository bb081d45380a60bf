//! Exchanges of several devices against a model, bit by bit, in the order of each device's queue.
#![cfg(software_metal)]

use std::ops::Range;

use metal_bridge::devices::{Combine, Communicator};
use metal_bridge::memory::Download;
use metal_bridge::ops::DataType;
use metal_bridge_test_support::{block_on, in_child_with};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::*;

/// Devices with a queue each, and what they exchange.
pub struct Ranks {
    pub communicator: Communicator,
    pub devices: Vec<Device>,
}

impl Ranks {
    pub fn all() -> Ranks {
        let devices = Device::all().unwrap();
        let communicator = Communicator::new(&devices).unwrap();
        Ranks {
            communicator,
            devices,
        }
    }

    fn size(&self) -> usize {
        self.communicator.size()
    }

    pub fn queue(&self, rank: usize) -> &TransferQueue {
        self.communicator.queue(rank).unwrap()
    }

    /// A buffer with these bytes, which nobody waits for.
    pub fn put(&self, rank: usize, bytes: &[u8], mode: StorageMode) -> Buffer {
        let buffer = self.devices[rank].new_buffer(bytes.len(), mode).unwrap();
        let copy = self.queue(rank).copy(Staged(bytes), buffer.at(0));
        copy.commit().unwrap();
        buffer
    }

    /// The contents after all that was committed to the device's queue. Then the queue writes other bytes, as early as it may.
    fn take(&self, rank: usize, buffer: &Buffer) -> Download<Vec<u8>> {
        let values = Values::<u8>::new(buffer.len());
        let download = self.queue(rank).copy(buffer.at(0), values).commit();
        let fill = self.queue(rank).fill(buffer.range(..), 0x5au8);
        fill.commit().unwrap();
        download.unwrap()
    }
}

/// Checks that the buffer of each rank has come to what is expected.
fn expect(ranks: &Ranks, what: &str, buffers: &[Buffer], expected: impl Fn(usize) -> Vec<u8>) {
    let taken: Vec<_> = (0..buffers.len())
        .map(|rank| ranks.take(rank, &buffers[rank]))
        .collect();
    for (rank, download) in taken.into_iter().enumerate() {
        assert!(download.wait().unwrap() == expected(rank), "{what}, {rank}");
    }
}

fn references(buffers: &[Buffer]) -> Vec<&Buffer> {
    buffers.iter().collect()
}

struct Random(SmallRng);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }

    fn mode(&mut self) -> StorageMode {
        MODES[self.below(MODES.len())]
    }

    /// A length that is not zero, which buffers have to have.
    fn length(&mut self) -> usize {
        1 + match self.below(4) {
            0 => self.below(8),
            1 => 4 * self.below(1000) + 3,
            _ => self.below(5000),
        }
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.0.random()).collect()
    }
}

/// One of each exchange that moves bytes.
fn move_bytes(ranks: &Ranks, random: &mut Random) {
    let (size, root) = (ranks.size(), random.below(ranks.size()));
    let communicator = &ranks.communicator;
    let lengths: Vec<usize> = (0..size).map(|_| random.length()).collect();
    let total = lengths.iter().sum();
    let parts: Vec<Vec<u8>> = lengths.iter().map(|&length| random.bytes(length)).collect();
    let whole = parts.concat();
    let empty = |random: &mut Random, rank: usize, length| {
        ranks.put(rank, &vec![0xee; length], random.mode())
    };

    let same: Vec<Buffer> = (0..size)
        .map(|rank| match rank == root {
            true => ranks.put(rank, &whole, random.mode()),
            false => empty(random, rank, total),
        })
        .collect();
    let broadcast = communicator.broadcast(root, &references(&same)).unwrap();
    expect(ranks, "broadcast", &same, |_| whole.clone());

    let source = ranks.put(root, &whole, random.mode());
    let to: Vec<Buffer> = (0..size)
        .map(|rank| empty(random, rank, lengths[rank]))
        .collect();
    let scatter = communicator
        .scatter(root, &source, &references(&to))
        .unwrap();
    ranks.take(root, &source);
    expect(ranks, "scatter", &to, |rank| parts[rank].clone());

    let from: Vec<Buffer> = (0..size)
        .map(|rank| ranks.put(rank, &parts[rank], random.mode()))
        .collect();
    let destination = empty(random, root, total);
    let gather = communicator
        .gather(root, &references(&from), &destination)
        .unwrap();
    let gathered = ranks.take(root, &destination);
    expect(ranks, "gather, sources", &from, |rank| parts[rank].clone());
    assert!(gathered.wait().unwrap() == whole, "gather");

    let from: Vec<Buffer> = (0..size)
        .map(|rank| ranks.put(rank, &parts[rank], random.mode()))
        .collect();
    let to: Vec<Buffer> = (0..size).map(|rank| empty(random, rank, total)).collect();
    let all_gather = communicator
        .all_gather(&references(&from), &references(&to))
        .unwrap();
    expect(ranks, "all_gather", &to, |_| whole.clone());

    let source = ranks.put(root, &whole, random.mode());
    let (reader, start) = (random.below(size), random.below(total));
    let range = start..start + random.below(total - start + 1);
    let offset = random.below(8);
    let destination = empty(random, reader, offset + range.len() + 3);
    let send = communicator
        .send(root, &source, range.clone(), reader, &destination, offset)
        .unwrap();
    ranks.take(root, &source);
    let sent = ranks.take(reader, &destination);
    let expected = [&vec![0xee; offset], &whole[range], &[0xee; 3]].concat();
    assert!(sent.wait().unwrap() == expected, "send");

    for collective in [broadcast, scatter, gather, all_gather, send] {
        block_on(collective).unwrap();
    }
}

/// The types that are combined: bytes of a random number that no sum takes out of range, and one element of two.
#[derive(Clone, Copy)]
struct Kind {
    data_type: DataType,
    random: fn(&mut Random) -> Vec<u8>,
    combine: fn(Combine, &[u8], &[u8]) -> Vec<u8>,
    /// For comparison with exact sums.
    value: fn(&[u8]) -> f64,
    /// How far from the exact sum one rounding may be, relative to the sum of all magnitudes.
    rounding: f64,
}

macro_rules! kind {
    ($data_type:ident, $rust:ty, $rounding:expr, $random:expr, $add:expr) => {
        Kind {
            data_type: DataType::$data_type,
            random: |random| <$rust>::to_le_bytes($random(random)).to_vec(),
            combine: |combine, a, b| {
                let [a, b] = [a, b].map(|bytes| <$rust>::from_le_bytes(bytes.try_into().unwrap()));
                let result = match combine {
                    Combine::Sum => $add(a, b),
                    Combine::Min if b < a => b,
                    Combine::Max if b > a => b,
                    _ => a,
                };
                result.to_le_bytes().to_vec()
            },
            value: |bytes| f64::from(<$rust>::from_le_bytes(bytes.try_into().unwrap())),
            rounding: $rounding,
        }
    };
}

fn float(random: &mut Random) -> f32 {
    random.0.random_range(-100.0..100.0)
}

const KINDS: [Kind; 5] = [
    kind!(F32, f32, 6e-8, float, |a, b| a + b),
    kind!(
        F16,
        half::f16,
        5e-4,
        |random| half::f16::from_f32(float(random)),
        |a: half::f16, b: half::f16| half::f16::from_f32(a.to_f32() + b.to_f32())
    ),
    kind!(
        BF16,
        half::bf16,
        4e-3,
        |random| half::bf16::from_f32(float(random)),
        |a: half::bf16, b: half::bf16| half::bf16::from_f32(a.to_f32() + b.to_f32())
    ),
    kind!(
        I32,
        i32,
        0.0,
        |random: &mut Random| random.0.random_range(-1000..1000),
        i32::wrapping_add
    ),
    kind!(
        U32,
        u32,
        0.0,
        |random: &mut Random| random.0.random_range(0..1000),
        u32::wrapping_add
    ),
];

/// The bytes of element `index`.
fn element(kind: &Kind, index: usize) -> Range<usize> {
    let size = kind.data_type.size();
    index * size..(index + 1) * size
}

/// What `all_reduce` says of its order.
fn combined(kind: &Kind, combine: Combine, values: &[Vec<u8>]) -> Vec<u8> {
    let (size, length, element_size) = (values.len(), values[0].len(), kind.data_type.size());
    let count = length / element_size;
    let even = if element_size == 2 { 2 } else { 1 };
    let part = count.div_ceil(size).next_multiple_of(even);
    let one = |index: usize| {
        let bytes = |rank: usize| &values[rank % size][element(kind, index)];
        let first = index / part;
        (first + 1..first + size).fold(bytes(first).to_vec(), |sum, rank| {
            (kind.combine)(combine, bytes(rank), &sum)
        })
    };
    (0..count).flat_map(one).collect()
}

fn assert_close_to_exact(kind: &Kind, values: &[Vec<u8>], sums: &[u8]) {
    for index in 0..sums.len() / kind.data_type.size() {
        let terms = values
            .iter()
            .map(|values| (kind.value)(&values[element(kind, index)]));
        let (exact, magnitude) = terms.fold((0.0, 0.0), |(sum, magnitude), term| {
            (sum + term, magnitude + term.abs())
        });
        let sum = (kind.value)(&sums[element(kind, index)]);
        let most = kind.rounding * magnitude * values.len() as f64;
        assert!((sum - exact).abs() <= most, "{sum} for {exact}");
    }
}

fn reduce(ranks: &Ranks, random: &mut Random, kind: &Kind, combine: Combine, count: usize) {
    let size = ranks.size();
    let values: Vec<Vec<u8>> = (0..size)
        .map(|_| (0..count).flat_map(|_| (kind.random)(random)).collect())
        .collect();
    let buffers: Vec<Buffer> = (0..size)
        .map(|rank| ranks.put(rank, &values[rank], random.mode()))
        .collect();
    let references = references(&buffers);
    let communicator = &ranks.communicator;
    let collective = communicator.all_reduce(&references, kind.data_type, combine);
    let expected = combined(kind, combine, &values);
    if combine == Combine::Sum {
        assert_close_to_exact(kind, &values, &expected);
    }
    let what = format!("{:?} {combine:?} of {count}", kind.data_type);
    expect(ranks, &what, &buffers, |_| expected.clone());
    collective.unwrap().wait().unwrap();
}

/// Everything, with as many devices as there are.
fn exchange(rounds: u64) {
    let ranks = Ranks::all();
    for seed in 0..rounds {
        let mut random = Random(SmallRng::seed_from_u64(seed));
        move_bytes(&ranks, &mut random);
        for kind in &KINDS {
            let combine = [Combine::Sum, Combine::Min, Combine::Max][random.below(3)];
            let count = random.length();
            reduce(&ranks, &mut random, kind, combine, count);
            let few = 1 + random.below(2 * ranks.size());
            reduce(&ranks, &mut random, kind, Combine::Sum, few);
        }
    }
    for (rank, device) in ranks.devices.iter().enumerate() {
        let memory = ranks.queue(rank).memory();
        assert_eq!(memory.device(), device);
        wait_for("copies to come back", || {
            let statistics = memory.statistics();
            statistics.buffers.bytes_in_use == 0 && statistics.staging.bytes_in_use == 0
        });
    }
}

macro_rules! exchanges {
    ($($name:ident, $rounds:expr, [$($variable:ident = $value:expr),*];)*) => {
        $(#[test]
        fn $name() {
            let variables = [$((concat!("SOFTWARE_METAL_", stringify!($variable)), $value)),*];
            let test = concat!("collectives::", stringify!($name));
            in_child_with(test, &variables, || exchange($rounds));
        })*
    };
}

exchanges! {
    one_device_exchanges_with_itself, 4, [DEVICES = "1"];
    two_devices_exchange, 4, [DEVICES = "2"];
    three_peers_exchange, 4, [DEVICES = "3", PEERS = "1", UNIFIED = "0", POISON = "1"];
    three_discrete_devices_exchange, 4, [DEVICES = "3", UNIFIED = "0", STRICT = "1"];
    three_devices_exchange_in_any_order, 4, [DEVICES = "3", SHUFFLE = "7", POISON = "1"];
    five_peers_exchange_late, 2, [DEVICES = "5", PEERS = "1", DELAY = "200"];
    five_discrete_devices_exchange_over_links, 2, [DEVICES = "5", UNIFIED = "0", LINK = "8,200"];
    nine_devices_exchange, 1, [DEVICES = "9"];
}

//! The same scan in the three ways in which the threads of a grid can depend on each other, and the time of each.

use std::time::{Duration, Instant};

use metal_bridge::groups::{
    GridScan, GridSync, GridSyncSupport, Phase, WhyPhases, dispatch_phases, with_header,
};
use metal_bridge::{
    Buffer, CommandQueue, CompileOptions, ComputeEncoder, ComputePipeline, DispatchType,
    LanguageVersion, Result, StorageMode,
};
use metal_bridge_test_support::{device, queue};

const THREADS: usize = 256;

struct Ways {
    queue: CommandQueue,
    sync: GridSync,
    scan: GridScan,
    first: ComputePipeline,
    second: ComputePipeline,
    both: ComputePipeline,
    groups: usize,
    count: usize,
    from: Buffer,
    to: Buffer,
    sums: Buffer,
}

impl Ways {
    fn new(count: usize) -> Ways {
        let options = CompileOptions::new().language_version(LanguageVersion::new(3, 2));
        let source = with_header("ways.metal", include_str!("ways.metal"));
        let library = device().new_library_with_source(&source, &options).unwrap();
        let [first, second, both] = ["first_part", "second_part", "both_parts"].map(|name| {
            let function = library.new_function(name).unwrap();
            device().new_compute_pipeline_state(&function).unwrap()
        });
        let queue = queue();
        let sync = GridSync::new(&queue).unwrap();
        let support = sync.supports_grid_sync(&both, 5000, THREADS, 0);
        let groups = match support.unwrap() {
            GridSyncSupport::Phases(WhyPhases::Residency { resident }) => resident,
            other => panic!("5000 threadgroups: {other:?}"),
        };
        let values: Vec<u32> = (0..count as u32).map(|i| i ^ (i << 20)).collect();
        let buffer = |values: &[u32]| {
            let shared = StorageMode::Shared;
            device().new_buffer_with_data(values, shared).unwrap()
        };
        Ways {
            queue,
            sync,
            scan: GridScan::new(device()).unwrap(),
            first,
            second,
            both,
            groups,
            count,
            from: buffer(&values),
            to: buffer(&vec![0; count]),
            sums: buffer(&vec![0; groups]),
        }
    }

    fn phases(&self, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        let phase = |pipeline| Phase {
            pipeline,
            threadgroups: self.groups.into(),
            threads_per_threadgroup: THREADS.into(),
        };
        // SAFETY: the kernels touch `count` numbers of the first two buffers, and a sum for each threadgroup.
        unsafe { dispatch_phases(encoder, &[phase(&self.first), phase(&self.second)]) }
    }

    fn barrier(&self, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        // SAFETY: as in `phases`, and the barrier is at index 3.
        unsafe {
            self.sync
                .dispatch(encoder, &self.both, self.groups, THREADS, 0, 3)
        }
    }

    fn look_back(&self, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        self.scan.encode(encoder, &self.from, &self.to, self.count)
    }

    /// Encodes the scan, waits for it, and says how long that took.
    fn run(&self, way: fn(&Ways, &mut ComputeEncoder<'_>) -> Result<()>) -> Duration {
        self.to.wait_write::<u32>().unwrap().fill(0);
        let start = Instant::now();
        let mut commands = self.queue.command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Concurrent)
            .unwrap();
        encoder.set_buffer(&self.from, 0, 0).unwrap();
        encoder.set_buffer(&self.to, 0, 1).unwrap();
        encoder.set_value(&(self.count as u32), 2).unwrap();
        encoder.set_buffer(&self.sums, 0, 4).unwrap();
        way(self, &mut encoder).unwrap();
        encoder.end_encoding().unwrap();
        commands.commit().unwrap().wait().unwrap();
        start.elapsed()
    }

    fn assert_scanned(&self) {
        let values = self.from.wait_read::<u32>().unwrap();
        let mut sum = 0u32;
        let add = |value: &u32| {
            sum = sum.wrapping_add(*value);
            sum
        };
        let wanted: Vec<u32> = values.iter().map(add).collect();
        assert!(*self.to.wait_read::<u32>().unwrap() == *wanted);
    }
}

#[test]
fn three_ways_lead_to_the_same_sums() {
    let ways = Ways::new(10_007);
    for way in [Ways::phases, Ways::barrier, Ways::look_back] {
        ways.run(way);
        ways.assert_scanned();
    }
}

/// `cargo test --test groups -- --ignored --nocapture three_ways`: the least time of each way, for docs/cooperative-groups.md.
#[test]
#[ignore = "measures"]
fn three_ways_take_their_time() {
    for count in [1 << 14, 1 << 18, 1 << 22] {
        let ways = Ways::new(count);
        let mut least = [Duration::MAX; 3];
        for _ in 0..30 {
            for (least, way) in least
                .iter_mut()
                .zip([Ways::phases, Ways::barrier, Ways::look_back])
            {
                *least = ways.run(way).min(*least);
            }
        }
        println!(
            "{count} numbers, {} threadgroups: phases {:?}, barrier {:?}, look-back {:?}",
            ways.groups, least[0], least[1], least[2]
        );
    }
}

//! Random programs of kernels and transfers on several queues, with events between them, against a model that runs one
//! step after the other. Under `SOFTWARE_METAL_SHUFFLE` (scripts/shuffle) whatever is not ordered changes its order.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use metal_bridge::memory::{Download, TransferQueue};
use metal_bridge::{
    Buffer, CommandBuffer, CompileOptions, ComputePipeline, DispatchType, SharedEvent, StorageMode,
    Submission,
};
use proptest::prelude::*;

use crate::*;

const QUEUES: usize = 3;
/// Numbers in each buffer.
const COUNT: usize = 512;
const BYTES: usize = COUNT * size_of::<u32>();
/// Two buffers in every storage mode.
const BUFFERS: usize = 2 * MODES.len();

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void advance(device uint *x [[buffer(0)]], constant uint &k [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    x[i] = x[i] * 1664525u + k + i;
}
kernel void mix(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    y[i] = y[i] * 31u + x[i];
}
";

#[derive(Debug, Clone, Copy)]
enum Step {
    Advance(usize, u32),
    Mix(usize, usize),
    /// Numbers from the host, to a place in the buffer; staged or owned.
    Upload(usize, u16, u16, bool),
    Download(usize),
    Copy(usize, usize, u16, u16),
    Fill(usize, u32),
    /// The calling thread uploads and waits.
    UploadNow(usize),
    /// The calling thread looks at the buffer.
    Look(usize),
    HostFunction,
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let b = || 0..BUFFERS;
    let step = prop_oneof![
        4 => (b(), any::<u32>()).prop_map(|(b, k)| Step::Advance(b, k)),
        4 => (b(), b()).prop_map(|(a, b)| Step::Mix(a, b)),
        4 => (b(), any::<u16>(), any::<u16>(), any::<bool>()).prop_map(|(b, o, n, s)| Step::Upload(b, o, n, s)),
        4 => b().prop_map(Step::Download),
        4 => (b(), b(), any::<u16>(), any::<u16>()).prop_map(|(a, b, o, n)| Step::Copy(a, b, o, n)),
        2 => (b(), any::<u32>()).prop_map(|(b, v)| Step::Fill(b, v)),
        1 => b().prop_map(Step::UploadNow),
        1 => b().prop_map(Step::Look),
        1 => Just(Step::HostFunction),
    ];
    (0..QUEUES, step)
}

/// A queue, and the event that it raises after each step.
struct Lane {
    transfers: TransferQueue,
    event: SharedEvent,
    value: u64,
    /// How far this lane has waited for each of the others.
    seen: [u64; QUEUES],
}

struct Rig {
    lanes: Vec<Lane>,
    advance: ComputePipeline,
    mix: ComputePipeline,
    buffers: Vec<Buffer>,
    model: Vec<Vec<u32>>,
    /// For each buffer, how far each lane had got when it used it last.
    users: Vec<[u64; QUEUES]>,
    downloads: Vec<(Download<Vec<u32>>, Vec<u32>)>,
    called: Vec<Submission>,
    /// For each call of a host function: the value that its lane's event should have, and had before and after.
    host_functions: Arc<Mutex<Vec<(u64, u64, u64)>>>,
    seed: u32,
}

fn numbers(seed: u32) -> Vec<u32> {
    let bytes = pattern(BYTES, seed);
    let number = |chunk: &[u8]| u32::from_ne_bytes(chunk.try_into().unwrap());
    bytes.chunks_exact(size_of::<u32>()).map(number).collect()
}

/// A place in the buffer and how many numbers from there on.
fn part(offset: u16, count: u16) -> (usize, usize) {
    let offset = usize::from(offset) % COUNT;
    (offset, usize::from(count) % (COUNT - offset + 1))
}

impl Rig {
    fn new() -> Rig {
        let memory = memory();
        let library = device()
            .new_library_with_source(SOURCE, &CompileOptions::new())
            .unwrap();
        let pipeline = |name| {
            let function = library.new_function(name).unwrap();
            device().new_compute_pipeline_state(&function).unwrap()
        };
        let lane = |_| Lane {
            transfers: memory.transfer_queue(&queue()).unwrap(),
            event: device().new_shared_event().unwrap(),
            value: 0,
            seen: [0; QUEUES],
        };
        let lanes: Vec<Lane> = (0..QUEUES).map(lane).collect();
        let modes = MODES.into_iter().chain(MODES);
        let buffers: Vec<Buffer> = modes.map(|mode| buffer(BYTES, mode)).collect();
        let model: Vec<Vec<u32>> = (0..BUFFERS as u32).map(numbers).collect();
        for (buffer, numbers) in buffers.iter().zip(&model) {
            lanes[0]
                .transfers
                .copy(numbers, buffer.at(0))
                .run()
                .unwrap();
        }
        Rig {
            lanes,
            advance: pipeline("advance"),
            mix: pipeline("mix"),
            buffers,
            model,
            users: vec![[0; QUEUES]; BUFFERS],
            downloads: Vec::new(),
            called: Vec::new(),
            host_functions: Arc::default(),
            seed: 1000,
        }
    }

    fn fresh(&mut self) -> Vec<u32> {
        self.seed += 1;
        numbers(self.seed)
    }

    /// Has the lane wait, on the GPU, for the other lanes' use of these buffers.
    fn order(&mut self, lane: usize, used: &[usize]) {
        let mut commands: Option<CommandBuffer> = None;
        for other in (0..QUEUES).filter(|other| *other != lane) {
            let value = used
                .iter()
                .map(|b| self.users[*b][other])
                .max()
                .unwrap_or(0);
            if value > self.lanes[lane].seen[other] {
                self.lanes[lane].seen[other] = value;
                let event = self.lanes[other].event.clone();
                let queue = self.lanes[lane].transfers.command_queue();
                let commands = commands.get_or_insert_with(|| queue.command_buffer().unwrap());
                commands.encode_wait_for_event(&event, value).unwrap();
            }
        }
        if let Some(commands) = commands {
            commands.commit().unwrap();
        }
    }

    /// Has the lane raise its event.
    fn done(&mut self, number: usize, used: &[usize]) {
        let lane = &mut self.lanes[number];
        lane.value += 1;
        let mut commands = lane.transfers.command_queue().command_buffer().unwrap();
        commands
            .encode_signal_event(&lane.event, lane.value)
            .unwrap();
        commands.commit().unwrap();
        for b in used {
            self.users[*b][number] = lane.value;
        }
    }

    fn dispatch(&self, lane: usize, pipeline: &ComputePipeline, bind: &[&Buffer], k: u32) {
        let queue = self.lanes[lane].transfers.command_queue();
        let mut commands = queue.command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_compute_pipeline_state(pipeline).unwrap();
        for (index, buffer) in bind.iter().enumerate() {
            encoder.set_buffer(buffer, 0, index).unwrap();
        }
        encoder.set_value(&k, bind.len()).unwrap();
        // SAFETY: the kernels touch one number a thread, as many as each buffer has.
        unsafe { encoder.dispatch_threads(COUNT, 64).unwrap() };
        encoder.end_encoding().unwrap();
        // A managed buffer's contents follow.
        let mut blit = commands.blit_command_encoder().unwrap();
        for buffer in bind
            .iter()
            .filter(|buffer| buffer.storage_mode() == StorageMode::Managed)
        {
            blit.synchronize(buffer).unwrap();
        }
        blit.end_encoding().unwrap();
        commands.commit().unwrap();
    }

    fn run(&mut self, lane: usize, step: Step) {
        let used = match step {
            Step::Advance(b, _)
            | Step::Upload(b, ..)
            | Step::Download(b)
            | Step::Fill(b, _)
            | Step::UploadNow(b)
            | Step::Look(b) => vec![b],
            Step::Mix(a, b) | Step::Copy(a, b, ..) => vec![a, b],
            Step::HostFunction => Vec::new(),
        };
        self.order(lane, &used);
        let transfers = self.lanes[lane].transfers.clone();
        match step {
            Step::Advance(b, k) => {
                self.dispatch(lane, &self.advance, &[&self.buffers[b]], k);
                for (i, x) in self.model[b].iter_mut().enumerate() {
                    *x = x
                        .wrapping_mul(1_664_525)
                        .wrapping_add(k)
                        .wrapping_add(i as u32);
                }
            }
            Step::Mix(a, b) if a == b => {}
            Step::Mix(a, b) => {
                self.dispatch(lane, &self.mix, &[&self.buffers[a], &self.buffers[b]], 0);
                for i in 0..COUNT {
                    self.model[b][i] = self.model[b][i]
                        .wrapping_mul(31)
                        .wrapping_add(self.model[a][i]);
                }
            }
            Step::Upload(b, offset, count, staged) => {
                let (offset, count) = part(offset, count);
                let mut values = self.fresh();
                values.truncate(count);
                self.model[b][offset..offset + count].copy_from_slice(&values);
                let (buffer, at) = (&self.buffers[b], offset * size_of::<u32>());
                if staged {
                    transfers
                        .copy(Staged(&values), buffer.at(at))
                        .commit()
                        .unwrap();
                } else {
                    transfers
                        .copy(Owned::new(values), buffer.at(at))
                        .commit()
                        .unwrap();
                }
            }
            Step::Download(b) => {
                let download = transfers
                    .copy(self.buffers[b].at(0), Values::new(COUNT))
                    .commit()
                    .unwrap();
                self.downloads.push((download, self.model[b].clone()));
            }
            Step::Copy(a, b, ..) if a == b => {}
            Step::Copy(a, b, offset, count) => {
                let (offset, count) = part(offset, count);
                let numbers = self.model[a][..count].to_vec();
                self.model[b][offset..offset + count].copy_from_slice(&numbers);
                let (source, target) = (&self.buffers[a], &self.buffers[b]);
                transfers
                    .copy(source.range(0..count * 4), target.at(offset * 4))
                    .commit()
                    .unwrap();
            }
            Step::Fill(b, value) => {
                self.model[b].fill(value);
                transfers
                    .fill(self.buffers[b].range(0..BYTES), value)
                    .commit()
                    .unwrap();
            }
            Step::UploadNow(b) => {
                self.model[b] = self.fresh();
                transfers
                    .copy(&self.model[b], self.buffers[b].at(0))
                    .run()
                    .unwrap();
            }
            Step::Look(b) => {
                let mut seen = vec![0u32; COUNT];
                transfers
                    .copy(self.buffers[b].at(0), &mut seen)
                    .run()
                    .unwrap();
                assert_eq!(seen, self.model[b]);
                if self.buffers[b].storage_mode() != StorageMode::Private {
                    assert_eq!(*self.buffers[b].wait_read::<u32>().unwrap(), *self.model[b]);
                }
            }
            Step::HostFunction => self.host_function(lane),
        }
        self.done(lane, &used);
    }

    /// A host function: all that came before on the lane is done then, and nothing that comes after.
    fn host_function(&mut self, lane: usize) {
        let Lane { event, value, .. } = &self.lanes[lane];
        let (event, value, seen) = (event.clone(), *value, self.host_functions.clone());
        let function = move || {
            let before = event.signaled_value();
            thread::yield_now();
            seen.lock()
                .unwrap()
                .push((value, before, event.signaled_value()));
        };
        let queue = self.lanes[lane].transfers.command_queue();
        self.called
            .push(queue.call_host_function(function).unwrap());
    }

    fn check(mut self) {
        for (download, expected) in self.downloads.drain(..) {
            assert_eq!(download.wait().unwrap(), expected);
        }
        for called in &self.called {
            called.wait().unwrap();
        }
        let host_functions = self.host_functions.lock().unwrap().clone();
        assert_eq!(host_functions.len(), self.called.len());
        for (value, before, after) in host_functions {
            assert_eq!((before, after), (value, value));
        }
        for b in 0..BUFFERS {
            self.order(0, &[b]);
            let mut seen = vec![0u32; COUNT];
            self.lanes[0]
                .transfers
                .copy(self.buffers[b].at(0), &mut seen)
                .run()
                .unwrap();
            assert_eq!(seen, self.model[b], "buffer {b}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_queues_do_what_one_thread_would(program in proptest::collection::vec(step(), 1..40)) {
        let mut rig = Rig::new();
        for (lane, step) in program {
            rig.run(lane, step);
        }
        rig.check();
    }
}

/// Programs for each: a shuffled Metal's threads run one at a time, and a late one's wait.
#[cfg(software_metal)]
const UNUSUAL_CASES: &str = "100";

/// The same on software Metals that reorder what they may, or are late, where `scripts/shuffle` is not what runs this.
#[cfg(software_metal)]
#[test]
fn shuffled_and_late_queues_do_what_one_thread_would() {
    if std::env::var_os("SOFTWARE_METAL_SHUFFLE").is_some() {
        return;
    }
    for (variable, value) in [
        ("SOFTWARE_METAL_SHUFFLE", "11"),
        ("SOFTWARE_METAL_SHUFFLE", "12"),
        ("SOFTWARE_METAL_SHUFFLE", "13"),
        ("SOFTWARE_METAL_DELAY", "300"),
    ] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["order::several_queues_do_what_one_thread_would", "--exact"])
            .env(variable, value)
            .env("PROPTEST_CASES", UNUSUAL_CASES)
            .env("SOFTWARE_METAL_POISON", "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{variable}={value}:\n{text}");
        assert!(text.contains("1 passed"), "{variable}={value}:\n{text}");
    }
}

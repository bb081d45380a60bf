//! `SOFTWARE_METAL_SHUFFLE` and `SOFTWARE_METAL_POISON`, with which `make shuffle` runs the tests of all packages but CUDA's. The
//! first changes every order that Metal leaves open, and no order that Metal promises. The second fills fresh memory with NaNs.

use std::env;
use std::process::Command;

use metal_bridge::{
    CommandQueue, CompileOptions, ComputePipeline, Device, DispatchType, StorageMode,
};

/// Each dispatch, and each threadgroup of `groups`, appends its number to the list.
const KERNELS: &str = r#"
#include <metal_stdlib>
using namespace metal;

kernel void append(device atomic_uint &count [[buffer(0)]], device uint *list [[buffer(1)]], constant uint &number [[buffer(2)]]) {
    list[atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed)] = number;
}

kernel void groups(device atomic_uint &count [[buffer(0)]], device uint *list [[buffer(1)]], uint group [[threadgroup_position_in_grid]]) {
    list[atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed)] = group;
}
"#;

const NUMBERS: usize = 8;

struct Gpu {
    device: Device,
    queue: CommandQueue,
    append: ComputePipeline,
    groups: ComputePipeline,
}

impl Gpu {
    fn new() -> Gpu {
        let device = Device::system_default().unwrap();
        let library = device
            .new_library_with_source(KERNELS, &CompileOptions::new())
            .unwrap();
        let pipeline = |name| {
            let function = library.new_function(name).unwrap();
            device.new_compute_pipeline_state(&function).unwrap()
        };
        Gpu {
            queue: device.new_command_queue().unwrap(),
            append: pipeline("append"),
            groups: pipeline("groups"),
            device,
        }
    }

    /// The order in which dispatches of one encoder ran, with a barrier after each or none; `None`: threadgroups of one.
    fn order(&self, encoder: Option<(DispatchType, bool)>) -> Vec<u32> {
        let zeros = [0u32; NUMBERS + 1];
        let list = self
            .device
            .new_buffer_with_data(&zeros, StorageMode::Shared)
            .unwrap();
        let mut commands = self.queue.command_buffer().unwrap();
        let (kind, barriers) = encoder.unwrap_or((DispatchType::Serial, false));
        let mut pass = commands.compute_command_encoder(kind).unwrap();
        let pipeline = if encoder.is_some() {
            &self.append
        } else {
            &self.groups
        };
        pass.set_compute_pipeline_state(pipeline).unwrap();
        pass.set_buffer(&list, 0, 0).unwrap();
        pass.set_buffer(&list, 4, 1).unwrap();
        if encoder.is_some() {
            for number in 0..NUMBERS as u32 {
                pass.set_bytes(&number.to_ne_bytes(), 2).unwrap();
                // SAFETY: one thread, which appends one number to a list with room for all.
                unsafe { pass.dispatch_threadgroups(1, 1).unwrap() };
                if barriers {
                    pass.memory_barrier().unwrap();
                }
            }
        } else {
            // SAFETY: each of the threads appends one number to a list with room for all.
            unsafe { pass.dispatch_threadgroups(NUMBERS, 1).unwrap() };
        }
        pass.end_encoding().unwrap();
        commands.commit().unwrap().wait().unwrap();
        let values = list.wait_read::<u32>().unwrap();
        values[1..].to_vec()
    }
}

const CHILD: &str = "METAL_BRIDGE_SHUFFLE_CHILD";

/// Runs `test` of this program again with these variables and gives the line that it prints after `key`.
fn in_child(test: &str, variables: &[(&str, &str)], key: &str) -> String {
    let output = Command::new(env::current_exe().unwrap())
        .args([&format!("shuffle::{test}"), "--exact", "--nocapture"])
        .env_remove("SOFTWARE_METAL_SHUFFLE")
        .env_remove("SOFTWARE_METAL_POISON")
        // One thread, so that the order is that of the device and not of the processors.
        .env("SOFTWARE_METAL_THREADS", "1")
        .env(CHILD, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}\n{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let found = text.lines().find_map(|line| line.split_once(key));
    found
        .unwrap_or_else(|| panic!("no {key} in:\n{text}"))
        .1
        .to_owned()
}

fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// The orders without a seed and with three.
fn orders(test: &str, scenario: impl FnOnce(&Gpu) -> Vec<u32>) -> Option<(String, Vec<String>)> {
    if is_child() {
        println!("order: {:?}", scenario(&Gpu::new()));
        return None;
    }
    let plain = in_child(test, &[], "order: ");
    let seeds = ["1", "2", "3"];
    let shuffled = seeds.map(|seed| {
        let order = || in_child(test, &[("SOFTWARE_METAL_SHUFFLE", seed)], "order: ");
        let first = order();
        assert_eq!(first, order(), "seed {seed} gives one order");
        first
    });
    assert_eq!(plain, format!("{:?}", (0..NUMBERS).collect::<Vec<_>>()));
    Some((plain, shuffled.to_vec()))
}

#[test]
fn unordered_dispatches_change_order() {
    let test = "unordered_dispatches_change_order";
    let found = orders(test, |gpu| {
        gpu.order(Some((DispatchType::Concurrent, false)))
    });
    if let Some((plain, shuffled)) = found {
        assert!(shuffled.iter().all(|order| *order != plain), "{shuffled:?}");
        assert!(
            shuffled.iter().any(|order| *order != shuffled[0]),
            "{shuffled:?}"
        );
    }
}

#[test]
fn unordered_threadgroups_change_order() {
    let test = "unordered_threadgroups_change_order";
    if let Some((plain, shuffled)) = orders(test, |gpu| gpu.order(None)) {
        assert!(shuffled.iter().all(|order| *order != plain), "{shuffled:?}");
        assert!(
            shuffled.iter().any(|order| *order != shuffled[0]),
            "{shuffled:?}"
        );
    }
}

#[test]
fn what_is_ordered_stays_so() {
    let test = "what_is_ordered_stays_so";
    let found = orders(test, |gpu| {
        let with_barriers = gpu.order(Some((DispatchType::Concurrent, true)));
        assert_eq!(
            gpu.order(Some((DispatchType::Serial, false))),
            with_barriers
        );
        with_barriers
    });
    if let Some((plain, shuffled)) = found {
        assert!(shuffled.iter().all(|order| *order == plain), "{shuffled:?}");
    }
}

#[test]
fn fresh_memory_is_poisoned() {
    let test = "fresh_memory_is_poisoned";
    if is_child() {
        let device = Device::system_default().unwrap();
        let buffer = device.new_buffer(64, StorageMode::Shared).unwrap();
        let bytes = buffer.wait_read::<u8>().unwrap();
        println!("fresh: {:?}", bytes.iter().all(|&byte| byte == 0xff));
        return;
    }
    assert_eq!(in_child(test, &[], "fresh: "), "false");
    let poison = [("SOFTWARE_METAL_POISON", "1")];
    assert_eq!(in_child(test, &poison, "fresh: "), "true");
}

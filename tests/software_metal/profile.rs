//! `metal_bridge::analysis::Profile`: the figures of kernels whose accesses are known are exactly those that the functions of
//! `metal_bridge::analysis` compute from the offsets. The profile is of a process, so the test runs in one of its own.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use metal_bridge::analysis::{
    AccessPattern, AccessProfile, KernelProfile, Profile, analyze_coalescing, bank_conflicts,
    detect_access_pattern,
};

use crate::probe::{PER_THREADGROUP, Probe, THREADS};

const CHILD: &str = "METAL_BRIDGE_PROFILE_CHILD";
fn access<'a>(kernel: &'a KernelProfile, line: u32, object: &str) -> &'a AccessProfile {
    let is_it = |access: &&AccessProfile| access.at.line == line && access.object.name == object;
    let mut found = kernel.accesses.iter().filter(is_it);
    let access = found
        .next()
        .unwrap_or_else(|| panic!("no access to {object} on line {line}"));
    assert!(
        found.next().is_none(),
        "{object} has one access on line {line}"
    );
    access
}

/// The accesses to memory of one launch, against the functions that compute from offsets.
#[track_caller]
fn check(probe: &Probe, at: &[u32], banks: &[u32]) {
    let kernel = probe.launch(at, banks, &[0; PER_THREADGROUP]);
    assert_eq!((kernel.launches, kernel.threads), (1, THREADS as u64));
    let in_bytes = |words: &[u32]| {
        words
            .iter()
            .map(|&word| u64::from(word) * 4)
            .collect::<Vec<_>>()
    };
    let offsets = in_bytes(at);
    let read = access(&kernel, 7, "data");
    assert_eq!(read.coalescing(), analyze_coalescing(&offsets, 4).unwrap());
    let mut expected = [0, 0, 0, 0];
    let mut misaligned = 0;
    let mut strides = Vec::new();
    for group in offsets.chunks(32) {
        let words: Vec<_> = group.iter().map(|offset| offset / 4).collect();
        match detect_access_pattern(&words).unwrap() {
            AccessPattern::Broadcast => expected[0] += 1,
            AccessPattern::Sequential => expected[1] += 1,
            AccessPattern::Strided { stride } => {
                expected[2] += 1;
                strides.push(stride * 4);
            }
            _ => expected[3] += 1,
        }
        let lines = analyze_coalescing(group, 4).unwrap();
        let (first, last) = (group.iter().min().unwrap(), group.iter().max().unwrap() + 4);
        let together = last - first == lines.bytes;
        misaligned += u64::from(together && lines.lines_of_128 > lines.least_lines_of_128);
    }
    let patterns = [read.broadcast, read.sequential, read.strided, read.gathered];
    assert_eq!((patterns, read.misaligned), (expected, misaligned));
    let counted: Vec<_> = read
        .strides
        .iter()
        .flat_map(|&(stride, count)| vec![stride; count as usize])
        .collect();
    strides.sort_unstable();
    assert_eq!(counted, strides);
    // Two threadgroups do the same.
    let turns = bank_conflicts(&in_bytes(&[banks, banks].concat()), 4).unwrap();
    for line in [8, 10] {
        assert_eq!(
            access(&kernel, line, "tile").bank_conflicts(),
            turns,
            "{line}"
        );
    }
    let data = kernel
        .objects
        .iter()
        .find(|object| object.object.name == "data")
        .unwrap();
    let different = analyze_coalescing(&offsets, 4).unwrap();
    assert_eq!(data.asked_to_read, 4 * THREADS as u64);
    assert!(data.read <= different.bytes && data.lines_read <= different.lines_of_128);
}

fn memory(probe: &Probe) {
    let steps =
        |count: usize, stride: u32| (0..count as u32).map(|i| i * stride).collect::<Vec<_>>();
    let side_by_side = steps(PER_THREADGROUP, 1);
    // Strides in device memory and, as far as it goes, in threadgroup memory.
    for stride in 1..=64 {
        check(
            probe,
            &steps(THREADS, stride),
            &steps(PER_THREADGROUP, stride),
        );
    }
    for stride in 1..=16 {
        // The strides of one launch are as many as its SIMD-groups can have: two here.
        let backwards: Vec<_> = (0..THREADS as u32)
            .map(|i| (200 - i % 32) * stride)
            .collect();
        check(probe, &backwards, &side_by_side);
    }
    // Every degree of conflict: some lanes in bank 0, each with a word of its own.
    for degree in 1..=32 {
        let banks: Vec<_> = (0..PER_THREADGROUP as u32)
            .map(|t| if t % 32 < degree { t % 32 * 32 } else { t % 32 })
            .collect();
        check(probe, &steps(THREADS, 1), &banks);
    }
    // One address for all, side by side across a line, and in no order.
    check(probe, &[7; THREADS], &[3; PER_THREADGROUP]);
    let shifted: Vec<_> = (1..=THREADS as u32).collect();
    check(probe, &shifted, &side_by_side);
    let gathered: Vec<_> = (0..THREADS as u32).map(|i| i * i % 509).collect();
    let conflicts: Vec<_> = (0..PER_THREADGROUP as u32).map(|i| i * i % 251).collect();
    check(probe, &gathered, &conflicts);
    // Each of 16 words is read by 8 threads.
    let shared: Vec<_> = (0..THREADS as u32).map(|i| i / 8).collect();
    let kernel = probe.launch(&shared, &side_by_side, &[0; PER_THREADGROUP]);
    let data = kernel
        .objects
        .iter()
        .find(|object| object.object.name == "data")
        .unwrap();
    assert_eq!(
        (data.asked_to_read, data.read, data.lines_read),
        (512, 64, 1)
    );
}

fn divergence(probe: &Probe) {
    let side_by_side: Vec<_> = (0..THREADS as u32).collect();
    let banks = &side_by_side[..PER_THREADGROUP];
    for active in 1..=32u32 {
        // The first SIMD-group of a threadgroup loops `active` times, and so many lanes take the branch; the other loops once.
        let loops: Vec<_> = (0..PER_THREADGROUP)
            .map(|t| if t < 32 { active } else { 1 })
            .collect();
        let kernel = probe.launch(&side_by_side, banks, &loops);
        let write = access(&kernel, 17, "out");
        let lanes = 2 * (u64::from(active) + 1);
        assert_eq!(
            (write.executions, write.lanes, write.all_lanes),
            (4, lanes, 128),
            "{active}"
        );
        let sum = &kernel.simd_functions[0];
        assert_eq!(
            (sum.at.line, sum.executions, sum.lanes, sum.all_lanes),
            (16, 4, lanes, 128),
            "{active}"
        );
        let again = access(&kernel, 13, "data");
        let times = 2 * (u64::from(active) + 1);
        assert_eq!(
            (again.executions, again.broadcast, again.lanes),
            (times, times, 32 * times)
        );
        let branches = kernel.branches_by_line();
        let [each_loop, last] = &branches[..] else {
            panic!("{branches:?}")
        };
        let tests = times + 4;
        assert_eq!(
            (each_loop.at.line, each_loop.executions, each_loop.lanes),
            (12, tests, 32 * tests)
        );
        assert_eq!((each_loop.taken, each_loop.diverged), (32 * times, 0));
        let parted = 2 * (1 + u64::from(active < 32));
        assert_eq!(
            (last.at.line, last.executions, last.lanes, last.all_lanes),
            (15, 4, 128, 128)
        );
        assert_eq!((last.taken, last.diverged), (lanes, parted), "{active}");
        let added = kernel.operations_by_line();
        let added = added.iter().find(|line| line.at.line == 13).unwrap();
        assert_eq!(added.operations.int, 32 * times);
        let [first, second] = &kernel.barriers[..] else {
            panic!("{:?}", kernel.barriers)
        };
        assert_eq!(
            (
                first.at.line,
                first.executions,
                first.lanes,
                first.all_lanes
            ),
            (9, 2, 128, 128)
        );
        assert_eq!(first.work, first.full_work);
        assert_eq!((second.at.line, second.executions), (14, 2));
        assert_eq!(
            second.full_work - second.work,
            2 * u64::from(active - 1),
            "{active}"
        );
    }
    // Only some lanes loop: the times that lanes execute the line are matched in order.
    let loops: Vec<_> = (0..PER_THREADGROUP as u32).map(|t| t % 4).collect();
    let kernel = probe.launch(&side_by_side, banks, &loops);
    let again = access(&kernel, 13, "data");
    assert_eq!(
        (again.executions, again.lanes, again.all_lanes),
        (12, 4 * 8 * 6, 12 * 32)
    );
}

/// Runs the test below in a process of its own, with what a shell does before: all that it prints.
fn run_child(profile: &Path, shell: &str) -> String {
    let output = Command::new("sh")
        .args(["-c", shell, "sh"])
        .arg(env::current_exe().unwrap())
        .args([
            "profile::figures_are_those_of_the_offsets",
            "--exact",
            "--nocapture",
        ])
        .env_remove("SOFTWARE_METAL_SANITIZE")
        .env("SOFTWARE_METAL_PROFILE", profile)
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    text.into_owned()
}

#[test]
fn figures_are_those_of_the_offsets() {
    if env::var_os(CHILD).is_some() {
        let probe = Probe::new();
        memory(&probe);
        divergence(&probe);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = run_child(&folder.path().join("%p.json"), "exec \"$@\"");
    assert!(text.contains("1 passed"), "{text}");
    // The process has written what it counted.
    let files: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let [file] = &files[..] else {
        panic!("{files:?}")
    };
    let profile = Profile::from_json(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(profile.kernels[0].name, "probe");
    assert_eq!(
        profile.kernels[0].threads,
        THREADS as u64 * profile.kernels[0].launches
    );
    // Where there is no room (8 blocks, enough for the compile cache) the file before stays, and nothing else does.
    fs::write(file, "before").unwrap();
    let text = run_child(file, "ulimit -f 8; exec \"$@\"");
    assert!(text.contains("File too large"), "{text}");
    assert_eq!(fs::read_to_string(file).unwrap(), "before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn without_the_setting_nothing_is_counted() {
    if env::var_os("SOFTWARE_METAL_PROFILE").is_none() {
        assert_eq!(Profile::of_process().unwrap(), None);
    }
}

#[test]
fn texts_that_are_no_profile_are_refused() {
    for text in [
        "",
        "{}",
        "[]",
        r#"{"version": 2, "kernels": []}"#,
        r#"{"version": 1, "kernels": [{}]}"#,
    ] {
        let error = Profile::from_json(text).unwrap_err();
        assert!(
            matches!(error, metal_bridge::Error::InvalidArgument(_)),
            "{text}: {error}"
        );
    }
}

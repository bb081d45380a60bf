//! Scans in one dispatch, with any number of threadgroups side by side.

use metal_bridge::groups::GridScan;
use metal_bridge::{DispatchType, Error, StorageMode};
#[cfg(software_metal)]
use metal_bridge_test_support::in_child_with;
use metal_bridge_test_support::{device, queue};

/// Numbers whose sums need all 32 bits, and overflow them.
fn numbers(count: usize) -> Vec<u32> {
    let number = |i: u32| i.wrapping_mul(2_654_435_761) ^ (i >> 3);
    (0..count as u32).map(number).collect()
}

fn scan(count: usize) {
    let scan = GridScan::new(device()).unwrap();
    let numbers = numbers(count + 1);
    let shared = StorageMode::Shared;
    let from = device().new_buffer_with_data(&numbers, shared).unwrap();
    let to = device()
        .new_buffer_with_data(&vec![7u32; count + 1], shared)
        .unwrap();
    let queue = queue();
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    scan.encode(&mut encoder, &from, &to, count).unwrap();
    encoder.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
    let mut sum = 0u32;
    let mut wanted: Vec<u32> = numbers[..count]
        .iter()
        .map(|number| {
            sum = sum.wrapping_add(*number);
            sum
        })
        .collect();
    wanted.push(7);
    assert!(
        *to.wait_read::<u32>().unwrap() == *wanted,
        "{count} numbers"
    );
}

fn scans() {
    for count in [0, 1, 5, 1023, 1024, 1025, 70_000, 1_000_003] {
        scan(count);
    }
}

#[test]
fn sums_are_those_of_the_numbers_before() {
    scans();
}

/// In orders of threadgroups that nobody expects, one at a time, those that look back find nothing.
#[cfg(software_metal)]
#[test]
fn scans_need_no_threadgroup_beside_them() {
    let test = "scan::scans_need_no_threadgroup_beside_them";
    let variables = [
        ("SOFTWARE_METAL_RESIDENT", "1"),
        ("SOFTWARE_METAL_SHUFFLE", "5"),
    ];
    in_child_with(test, &variables, scans);
}

#[test]
fn scans_of_more_than_there_is_are_refused() {
    let scan = GridScan::new(device()).unwrap();
    let shared = StorageMode::Shared;
    let [four, five] = [4, 5].map(|count| {
        device()
            .new_buffer_with_data(&vec![1u32; count], shared)
            .unwrap()
    });
    let queue = queue();
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    for (from, to, count) in [
        (&four, &five, 5),
        (&five, &four, 5),
        (&five, &four, usize::MAX),
    ] {
        let error = scan.encode(&mut encoder, from, to, count).unwrap_err();
        assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    }
    let error = scan.encode(&mut encoder, &five, &five, 5).unwrap_err();
    assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
}

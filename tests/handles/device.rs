use metal_bridge::{Device, Error, GpuFamily, Size};

use crate::*;

#[test]
fn devices_say_what_they_are() {
    let device = device();
    assert!(!device.name().is_empty());
    let limits = device.limits();
    assert!(limits.max_buffer_length > 1 << 20);
    assert!(limits.max_threadgroup_memory_length >= 16 << 10);
    assert!(limits.max_threads_per_threadgroup.width >= 256);
    assert!(limits.recommended_max_working_set_size > 0);
    assert_eq!(limits.runs_lanes_in_turn, cfg!(software_metal));
    let families = GpuFamily::ALL
        .into_iter()
        .filter(|&family| device.supports_family(family));
    assert!(families.count() > 0, "a device of no family");
}

#[test]
fn handles_of_one_device_are_equal() {
    let again = Device::at(0).unwrap();
    assert_eq!(&again, device());
    assert_eq!(again.registry_id(), device().registry_id());
    if let Some(other) = other_device() {
        assert_ne!(other, device());
    }
}

#[test]
fn a_device_past_the_last_is_an_error_with_the_count() {
    let count = Device::count();
    assert!(count > usize::from(other_device().is_some()));
    let says = format!("no Metal device {}: the system has {count}", count + 3);
    assert_error(
        Device::at(count + 3),
        |error| matches!(error, Error::NoSuchDevice { .. }),
        &says,
    );
}

#[test]
fn allocation_shows_in_the_allocated_size() {
    let buffer = device().new_buffer(8 << 20, StorageMode::Shared).unwrap();
    assert!(device().current_allocated_size() >= 8 << 20);
    drop(buffer);
}

#[test]
fn sizes_come_from_numbers_and_tuples() {
    assert_eq!(Size::from(3), Size::new(3, 1, 1));
    assert_eq!(Size::from((3, 2)), Size::new(3, 2, 1));
    assert_eq!(Size::from((3, 2, 5)), Size::new(3, 2, 5));
}

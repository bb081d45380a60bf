#[cfg(software_metal)]
use metal_bridge::DeviceLocation;
use metal_bridge::{Device, Error, GpuFamily, Size};
#[cfg(software_metal)]
use metal_bridge_test_support::{in_child, in_child_with, without_descriptors};

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

/// What the software Metal is told to be.
#[cfg(software_metal)]
#[test]
fn a_device_says_where_it_is() {
    let variables = [
        ("SOFTWARE_METAL_PEERS", "1"),
        ("SOFTWARE_METAL_UNIFIED", "0"),
        ("SOFTWARE_METAL_LINK", "12.5,0"),
    ];
    in_child_with("device::a_device_says_where_it_is", &variables, || {
        let (near, far) = (device().position(), other_device().unwrap().position());
        let (near_peers, far_peers) = (near.peers.unwrap(), far.peers.unwrap());
        assert!(near_peers.id != 0 && near_peers.id == far_peers.id);
        assert_eq!((near_peers.index, near_peers.count), (0, 2));
        assert_eq!((far_peers.index, far_peers.count), (1, 2));
        assert_eq!(near.location, DeviceLocation::Slot);
        assert_eq!((near.location_number, far.location_number), (0, 1));
        assert_eq!(far.max_transfer_rate, Some(12_500_000_000));
    });
}

#[cfg(software_metal)]
#[test]
fn a_built_in_device_without_peers_says_so() {
    let position = device().position();
    assert_eq!(position.location, DeviceLocation::BuiltIn);
    assert_eq!((position.peers, position.max_transfer_rate), (None, None));
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

/// Foundation needs a pipe when a process first uses it.
#[cfg(software_metal)]
#[test]
fn devices_that_cannot_be_listed_are_not_absent() {
    in_child(
        "device::devices_that_cannot_be_listed_are_not_absent",
        || {
            let is_internal = |error: &Error| matches!(error, Error::Internal(_));
            let listed = without_descriptors(Device::all);
            assert_error(listed, is_internal, "Failed to create pipe");
            assert!(!Device::all().unwrap().is_empty());
        },
    );
}

//! What holds with and without a Metal behind the crate.

#[cfg(not(metal_backend))]
use metal_bridge::sanitizer;
use metal_bridge::{Device, Error, is_available, page_size};

#[test]
#[cfg(not(metal_backend))]
fn without_a_metal_there_is_no_device() {
    assert!(!is_available());
    assert_eq!(Device::count(), 0);
    assert!(matches!(Device::system_default(), Err(Error::NoDevice)));
    assert!(matches!(Device::at(0), Err(Error::NoDevice)));
    assert!(matches!(Device::all(), Err(Error::NoDevice)));
    assert_eq!(Device::live_objects().total(), 0);
    assert!(!sanitizer::checks().any());
    assert_eq!(
        (sanitizer::report_count(), sanitizer::reports().len()),
        (0, 0)
    );
    sanitizer::clear_reports();
}

#[test]
#[cfg(metal_backend)]
fn with_a_metal_availability_and_devices_agree() {
    assert_eq!(is_available(), Device::count() > 0);
    assert_eq!(is_available(), Device::system_default().is_ok());
    match Device::all() {
        Ok(devices) => assert_eq!(devices.len(), Device::count()),
        Err(error) => assert!(matches!(error, Error::NoDevice), "{error}"),
    }
    let (index, count) = (Device::count(), Device::count());
    match Device::at(index) {
        Err(Error::NoSuchDevice {
            index: asked,
            count: there,
        }) => assert_eq!((asked, there), (index, count)),
        Err(Error::NoDevice) => assert_eq!(count, 0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_are_powers_of_two() {
    assert!(page_size().is_power_of_two() && page_size() >= 4096);
}

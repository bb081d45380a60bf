//! The devices of tests that need two.

use std::sync::LazyLock;

use metal_bridge::Device;

/// Two where the software Metal is asked in time.
static DEVICES: LazyLock<Vec<Device>> = LazyLock::new(|| {
    // SAFETY: every test of such a program begins here, so nothing reads the environment meanwhile but through `std`, which
    // locks it.
    unsafe { std::env::set_var("SOFTWARE_METAL_DEVICES", "2") };
    Device::all().expect("a Metal device")
});

/// The first device.
pub fn device() -> &'static Device {
    &DEVICES[0]
}

/// A second device, where there is one: handles of the two must not be mixed.
pub fn other_device() -> Option<&'static Device> {
    DEVICES.get(1)
}

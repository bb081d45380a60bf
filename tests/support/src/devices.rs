//! The devices of tests that need two, and what tests of any of their objects start with.

use std::sync::LazyLock;

use metal_bridge::{CommandQueue, Device, StorageMode};

pub const MODES: [StorageMode; 3] = [
    StorageMode::Shared,
    StorageMode::Managed,
    StorageMode::Private,
];

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

/// A second device, if there is one: handles of the two must not be mixed.
pub fn other_device() -> Option<&'static Device> {
    DEVICES.get(1)
}

/// A queue of the first device.
pub fn queue() -> CommandQueue {
    device().new_command_queue().unwrap()
}

/// Commits a command buffer without commands and waits for it: the queue works.
#[track_caller]
pub fn complete_nothing(queue: &CommandQueue) {
    let commands = queue.command_buffer().unwrap();
    commands.commit().unwrap().wait().unwrap();
}

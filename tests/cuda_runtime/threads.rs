//! Many threads on one device.

use std::time::Duration;

use metal_bridge::stress;
use metal_bridge_test_support::in_child;

const THREADS: usize = 64;
/// `make stress` runs it for a minute.
const TIME: Duration = Duration::from_secs(3);

#[test]
fn sixty_four_threads_share_a_device() {
    // In a process of its own, whose objects nobody else makes.
    in_child("threads::sixty_four_threads_share_a_device", || {
        let report = stress::cuda(THREADS, TIME).unwrap();
        assert_eq!(report.faults, [""; 0]);
        assert!(report.rounds >= THREADS as u64);
    });
}

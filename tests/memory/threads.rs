//! Many threads on one device, with one memory.

use metal_bridge_test_support::in_child;

use crate::*;

const THREADS: usize = 64;
/// `make stress` runs it for a minute.
const TIME: Duration = Duration::from_secs(2);

#[test]
fn sixty_four_threads_share_a_memory() {
    // In a process of its own, whose objects nobody else makes.
    in_child("threads::sixty_four_threads_share_a_memory", || {
        let report = metal_bridge::stress::transfers(device(), THREADS, TIME).unwrap();
        assert_eq!(report.faults, [""; 0], "{}", report.statistics);
        assert!(report.rounds >= THREADS as u64);
    });
}

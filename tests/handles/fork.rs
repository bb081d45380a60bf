//! A child of `fork` has the handles and none of Metal's threads: what would wait for one is refused.

use metal_bridge::memory::{Memory, Values};
use metal_bridge_test_support::in_fork;

use crate::*;

fn invalid_state(error: &Error) -> bool {
    matches!(error, Error::InvalidState(_))
}

#[test]
fn a_child_of_fork_is_refused_waits() {
    let (queue, buffer) = (queue(), shared(&[1.0; 32]));
    let idle = shared(&[1.0; 32]);
    let memory = Memory::new(device()).unwrap();
    let transfers = memory.transfer_queue(&queue).unwrap();
    let gate = device().new_shared_event().unwrap();
    let running = increment(&queue, &buffer, Some(&gate));
    let mut download = transfers
        .copy(buffer.at(0), Values::<f32>::new(1))
        .commit()
        .unwrap();
    let mut recording = queue.command_buffer().unwrap();
    let mut used = queue.command_buffer().unwrap();
    let mut blit = used.blit_command_encoder().unwrap();
    blit.fill(&idle, 0..4, 0).unwrap();
    drop(blit);
    in_fork(move || {
        assert_error(recording.enqueue(), invalid_state, "child of fork");
        assert_error(recording.commit(), invalid_state, "child of fork");
        drop(used);
    });
    in_fork(|| {
        let child = "child of fork";
        assert_error(running.wait(), invalid_state, child);
        assert_error(running.wait_timeout(LONG), invalid_state, child);
        assert_error(download.wait_timeout(LONG), invalid_state, child);
        assert_error(queue.command_buffer(), invalid_state, child);
        assert_error(
            transfers.fill(buffer.range(0..4), 0u8).run(),
            invalid_state,
            child,
        );
        assert_error(
            gate.wait_until_signaled_value(1, LONG),
            invalid_state,
            child,
        );
        assert_error(gate.set_signaled_value(1), invalid_state, child);
        assert_error(Device::system_default(), invalid_state, child);
        let parent = "child of fork";
        assert_error(buffer.wait_read::<f32>(), invalid_state, parent);
        assert_error(buffer.wait_write::<f32>(), invalid_state, parent);
        assert_error(buffer.wait_until_idle(None), invalid_state, parent);
        // Another thread of the parent's may hold its lock, whether or not anything uses it.
        assert_error(idle.try_read::<f32>(), invalid_state, parent);
        assert_error(idle.try_write::<f32>(), invalid_state, parent);
        assert_error(idle.wait_until_idle(None), invalid_state, parent);
        // Only what the child has to itself is dropped, and nothing waits.
        drop(queue.clone());
    });
    gate.set_signaled_value(1).unwrap();
    running.wait().unwrap();
    assert_eq!(download.wait_timeout(LONG).unwrap(), [2.0]);
}

//! Who is let in, without a device.

use super::*;
use crate::metal::queue_id::QueueId;
use crate::metal::slots::Slots;
use std::time::Duration;

fn expired() -> Option<Instant> {
    Some(Instant::now())
}

fn position() -> QueuePosition {
    Slots::new(QueueId::default(), 1).draw_position()
}

#[test]
fn readers_share_and_writers_do_not() {
    let tracker = Tracker::default();
    tracker.begin_cpu(Access::Read, None).unwrap();
    tracker.begin_cpu(Access::Read, None).unwrap();
    assert_eq!(
        tracker.begin_cpu(Access::Write, None),
        Err(Conflict::Reader)
    );
    tracker.end_cpu(Access::Read);
    tracker.end_cpu(Access::Read);
    tracker.begin_cpu(Access::Write, None).unwrap();
    assert_eq!(tracker.begin_cpu(Access::Read, None), Err(Conflict::Writer));
    assert_eq!(tracker.record(1, Access::Read), Err(Conflict::Writer));
    tracker.end_cpu(Access::Write);
    tracker.begin_cpu(Access::Read, None).unwrap();
}

#[test]
fn counts_that_are_full_refuse_and_never_wrap() {
    let tracker = Tracker::default();
    // As if that many guards had been forgotten.
    tracker.lock().readers = Count(usize::MAX);
    assert_eq!(
        tracker.begin_cpu(Access::Read, None),
        Err(Conflict::TooMany)
    );
    assert_eq!(
        tracker.begin_cpu(Access::Write, None),
        Err(Conflict::Reader)
    );
    assert_eq!(tracker.record(1, Access::Write), Err(Conflict::Reader));
    tracker.end_cpu(Access::Read);
    tracker.begin_cpu(Access::Read, None).unwrap();

    let tracker = Tracker::default();
    tracker.lock().recorded.reads = Count(usize::MAX);
    tracker.lock().recorded.writes = Count(usize::MAX);
    for access in [Access::Read, Access::Write] {
        assert_eq!(tracker.record(1, access), Err(Conflict::TooMany));
        assert!(!tracker.is_recorded_by(1, access));
        assert_eq!(tracker.begin_cpu(access, None), Err(Conflict::Recorded));
    }
}

#[test]
fn a_recorded_use_refuses_and_a_running_one_is_waited_for() {
    let tracker = Tracker::default();
    tracker.record(1, Access::Write).unwrap();
    assert_eq!(
        tracker.begin_cpu(Access::Read, None),
        Err(Conflict::Recorded)
    );
    let work = position();
    tracker.start(&work, Access::Write);
    assert_eq!(
        tracker.begin_cpu(Access::Read, expired()),
        Err(Conflict::Waited(WaitError::Timeout))
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            tracker.finish(&work, Access::Write);
        });
        tracker.begin_cpu(Access::Read, None).unwrap();
    });
    // The reader lives: the GPU may read beside it, and not write.
    tracker.record(2, Access::Read).unwrap();
    assert_eq!(tracker.record(2, Access::Write), Err(Conflict::Reader));
}

#[test]
fn reading_goes_with_reading_on_both_sides() {
    let tracker = Tracker::default();
    tracker.record(1, Access::Read).unwrap();
    tracker.begin_cpu(Access::Read, expired()).unwrap();
    tracker.end_cpu(Access::Read);
    let work = position();
    tracker.start(&work, Access::Read);
    tracker.begin_cpu(Access::Read, expired()).unwrap();
    tracker.end_cpu(Access::Read);
    assert_eq!(
        tracker.begin_cpu(Access::Write, expired()),
        Err(Conflict::Waited(WaitError::Timeout))
    );
    tracker.finish(&work, Access::Read);
    tracker.begin_cpu(Access::Write, expired()).unwrap();
}

#[test]
fn a_command_buffer_knows_its_own_uses() {
    let tracker = Tracker::default();
    assert!(!tracker.is_recorded_by(7, Access::Read));
    tracker.record(7, Access::Read).unwrap();
    assert!(tracker.is_recorded_by(7, Access::Read));
    assert!(!tracker.is_recorded_by(7, Access::Write));
    assert!(!tracker.is_recorded_by(8, Access::Read));
    tracker.record(7, Access::Write).unwrap();
    let held = tracker.lock(); // Whoever took the lock now would hang.
    assert!(tracker.is_recorded_by(7, Access::Read) && tracker.is_recorded_by(7, Access::Write));
    drop(held);
    tracker.discard(7, Access::Read);
    tracker.discard(7, Access::Write);
    assert!(!tracker.is_recorded_by(7, Access::Read));
    tracker.begin_cpu(Access::Write, expired()).unwrap();
}

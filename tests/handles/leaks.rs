//! What `mem::forget` costs: never more than was forgotten, and no wait that lasts for ever.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;

use metal_bridge::Error;
use metal_bridge_test_support::{in_time, leak};

use crate::*;

fn in_use(error: &Error) -> bool {
    matches!(error, Error::InUse(_))
}

fn deadlock(error: &Error) -> bool {
    matches!(error, Error::Deadlock(_))
}

fn narrow_queue() -> CommandQueue {
    device()
        .new_command_queue_with_max_command_buffer_count(2)
        .unwrap()
}

#[test]
fn a_leaked_encoder_takes_no_slot() {
    let queue = narrow_queue();
    let buffer = shared(&[1.0; 4]);
    for is_committed in [false, true].repeat(3) {
        let mut commands = queue.command_buffer_timeout(SHORT).unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_buffer(&buffer, 0, 0).unwrap();
        leak(encoder);
        if is_committed {
            let refused = commands.commit();
            assert_error(refused, |e| matches!(e, Error::InvalidState(_)), "ended");
        }
        let mut commands = queue.command_buffer_timeout(SHORT).unwrap();
        leak(commands.blit_command_encoder().unwrap());
    }
    increment(&queue, &buffer, None).wait().unwrap();
}

#[test]
fn a_leaked_guard_or_encoder_costs_its_buffer_only() {
    let (queue, buffer) = (queue(), shared(&[1.0; 4]));
    std::mem::forget(buffer.wait_read::<f32>().unwrap());
    assert_error(buffer.wait_write::<f32>(), in_use, "being read");
    buffer.wait_read::<f32>().unwrap();

    let other = shared(&[1.0; 4]);
    let mut commands = queue.command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_buffer(&other, 0, 0).unwrap();
    leak(encoder);
    let encoder = commands.compute_command_encoder(DispatchType::Serial);
    assert_error(encoder, |e| matches!(e, Error::InvalidState(_)), "encoder");
    assert_error(
        commands.commit(),
        |e| matches!(e, Error::InvalidState(_)),
        "mtb_command_buffer_commit",
    );
    // The command buffer is gone, and the buffer free.
    other.wait_write::<f32>().unwrap();
    increment(&queue, &other, None).wait().unwrap();
}

#[test]
fn a_wait_for_a_leaked_slot_is_a_deadlock() {
    in_time(|| {
        let queue = narrow_queue();
        leak(queue.command_buffer().unwrap());
        let other = queue.command_buffer().unwrap();
        assert_error(
            queue.command_buffer(),
            deadlock,
            "the queue has no free slot",
        );
        drop(other);
        leak(queue.command_buffer().unwrap());
        assert_error(
            queue.command_buffer(),
            deadlock,
            "the queue has no free slot",
        );
    });
    // Leaked by a thread that has ended.
    in_time(|| {
        let queue = narrow_queue();
        let leaking = queue.clone();
        let leaks = move || {
            leak(leaking.command_buffer().unwrap());
            leak(leaking.command_buffer().unwrap());
        };
        thread::spawn(leaks).join().unwrap();
        assert_error(queue.command_buffer(), deadlock, "threads that have ended");
    });
}

#[test]
fn a_slot_of_another_thread_is_waited_for() {
    in_time(|| {
        let queue = narrow_queue();
        let (sender, receiver) = mpsc::channel();
        let holding = queue.clone();
        let holder = thread::spawn(move || {
            let held = [(); 2].map(|()| holding.command_buffer().unwrap());
            sender.send(()).unwrap();
            // Longer than a wait needs to see that it could not end.
            thread::sleep(20 * SHORT);
            drop(held);
        });
        receiver.recv().unwrap();
        drop(queue.command_buffer().unwrap());
        holder.join().unwrap();
    });
}

#[test]
fn a_wait_behind_a_leaked_buffer_is_a_deadlock() {
    in_time(|| {
        let (queue, buffer) = (narrow_queue(), shared(&[1.0]));
        let before = increment(&queue, &buffer, None);
        before.wait().unwrap();
        let mut leaked = queue.command_buffer().unwrap();
        leaked.enqueue().unwrap();
        leak(leaked);
        let behind = increment(&queue, &shared(&[1.0]), None);
        before.wait().unwrap();
        assert_error(
            behind.wait(),
            deadlock,
            "enqueued it and never committed it",
        );
        let timeout = |e: &Error| matches!(e, Error::Timeout(_));
        assert_error(behind.wait_timeout(SHORT), timeout, "not completed");
        // What never runs has the queue's other slot.
        assert_error(
            queue.command_buffer(),
            deadlock,
            "the queue has no free slot",
        );
        let other = queue.clone();
        let elsewhere = thread::spawn(move || other.call_host_function(|| {}).unwrap());
        let called = elsewhere.join().unwrap();
        assert_error(
            called.wait(),
            deadlock,
            "enqueued it and never committed it",
        );
    });
}

#[test]
fn a_buffer_that_another_thread_enqueued_is_waited_for() {
    in_time(|| {
        let (queue, buffer) = (queue(), shared(&[1.0]));
        let mut first = queue.command_buffer().unwrap();
        first.enqueue().unwrap();
        let second = increment(&queue, &buffer, None);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| second.wait());
            // Longer than a wait needs to see that it could not end.
            thread::sleep(20 * SHORT);
            first.commit().unwrap();
            waiting.join().unwrap().unwrap();
        });
        assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0]);
    });
}

#[test]
fn access_behind_an_enqueued_buffer_is_refused() {
    let why = "enqueued it and never committed it";
    let is_refused = |buffer: &Buffer| {
        let mut value = [0.0f32];
        assert_error(buffer.wait_read::<f32>(), deadlock, why);
        assert_error(buffer.wait_read_range::<f32>(0..1), deadlock, why);
        assert_error(buffer.wait_write::<f32>(), deadlock, why);
        assert_error(buffer.wait_write_range::<f32>(0..1), deadlock, why);
        assert_error(buffer.wait_copy_to_slice(0, &mut value), deadlock, why);
        assert_error(buffer.wait_copy_from_slice(0, &value), deadlock, why);
        assert_error(buffer.wait_until_idle(None), deadlock, why);
        let timeout = |e: &Error| matches!(e, Error::Timeout(_));
        assert_error(
            buffer.read_timeout::<f32>(SHORT),
            timeout,
            "committed work that uses the buffer",
        );
        assert_error(buffer.try_write::<f32>(), in_use, "has not completed");
    };
    in_time(move || {
        let (queue, buffer) = (queue(), shared(&[1.0]));
        let mut open = queue.command_buffer().unwrap();
        open.enqueue().unwrap();
        increment(&queue, &buffer, None);
        is_refused(&buffer);
        // Not to other threads, for which this one may still commit it.
        thread::scope(|scope| {
            let elsewhere = scope.spawn(|| buffer.wait_read::<f32>().map(|read| read[0]));
            // Longer than a wait needs to see that it could not end.
            thread::sleep(20 * SHORT);
            open.commit().unwrap();
            assert_eq!(elsewhere.join().unwrap().unwrap(), 2.0);
        });
    });
    // Leaked by a thread that has ended.
    in_time(move || {
        let (queue, buffer) = (queue(), shared(&[1.0]));
        let leaking = queue.clone();
        let leaks = move || {
            let mut leaked = leaking.command_buffer().unwrap();
            leaked.enqueue().unwrap();
            leak(leaked);
        };
        thread::spawn(leaks).join().unwrap();
        increment(&queue, &buffer, None);
        is_refused(&buffer);
    });
}

#[test]
fn access_before_an_enqueued_buffer_waits() {
    in_time(|| {
        let (queue, buffer) = (queue(), shared(&[1.0]));
        let gate = device().new_shared_event().unwrap();
        increment(&queue, &buffer, Some(&gate));
        let mut open = queue.command_buffer().unwrap();
        open.enqueue().unwrap();
        let opens = thread::spawn(move || {
            // Longer than a wait needs to see that it could not end.
            thread::sleep(20 * SHORT);
            gate.set_signaled_value(1).unwrap();
        });
        assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0]);
        opens.join().unwrap();
    });
}

/// Nobody is told of what never comes: a future has no thread of its own that could look for it.
#[test]
fn a_future_behind_a_leaked_buffer_stays_pending() {
    let queue = queue();
    let mut leaked = queue.command_buffer().unwrap();
    leaked.enqueue().unwrap();
    leak(leaked);
    let mut behind = pin!(increment(&queue, &shared(&[1.0]), None));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        assert!(behind.as_mut().poll(&mut context).is_pending());
        // Longer than a wait needs to see that it could not end.
        thread::sleep(20 * SHORT);
    }
    let waited = behind.as_ref().get_ref().wait();
    assert_error(waited, deadlock, "enqueued it and never committed it");
}

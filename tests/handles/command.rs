use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use metal_bridge::{CommandBufferStatus, Error};
use metal_bridge_test_support::{block_on, in_time};

use crate::*;

fn invalid_state(error: &Error) -> bool {
    matches!(error, Error::InvalidState(_))
}

#[test]
fn work_completes_with_times() {
    let (queue, buffer) = (queue(), shared(&[1.0; 1000]));
    let submission = increment(&queue, &buffer, None);
    submission.wait().unwrap();
    submission.wait().unwrap();
    assert_eq!(submission.status(), CommandBufferStatus::Completed);
    assert!(submission.is_completed());
    let times = submission.times().unwrap();
    assert!(
        times.gpu_start > 0.0 && times.gpu_end >= times.gpu_start,
        "{times:?}"
    );
    assert!(times.gpu_duration() < LONG);
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0; 1000]);
}

#[test]
fn a_wait_ends_in_time_and_the_work_goes_on() {
    let (queue, buffer) = (queue(), shared(&[1.0]));
    let gate = device().new_shared_event().unwrap();
    let submission = increment(&queue, &buffer, Some(&gate));
    let start = Instant::now();
    assert_error(
        submission.wait_timeout(SHORT),
        |e| matches!(e, Error::Timeout(_)),
        "mtb_command_buffer_wait_timeout",
    );
    assert!(start.elapsed() >= SHORT);
    assert!(!submission.is_completed() && submission.times().is_none());
    gate.set_signaled_value(1).unwrap();
    submission.wait_timeout(LONG).unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0]);
}

#[test]
fn an_empty_command_buffer_completes() {
    complete_nothing(&queue());
}

#[test]
fn handlers_run_before_the_wait_ends() {
    let (queue, calls) = (queue(), Arc::new(AtomicUsize::new(0)));
    let buffer = shared(&[1.0]);
    let mut commands = queue.command_buffer().unwrap();
    for _ in 0..2 {
        let (calls, buffer) = (calls.clone(), buffer.clone());
        commands.add_completed_handler(move |completed| {
            completed.result().unwrap();
            assert!(completed.times().gpu_end > 0.0);
            // The buffers are free again by now.
            buffer.write_timeout::<f32>(Duration::ZERO).unwrap()[0] += 1.0;
            calls.fetch_add(1, Ordering::SeqCst);
        });
    }
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_buffer(&buffer, 0, 0).unwrap();
    drop(encoder);
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [3.0]);
}

#[test]
fn a_handler_that_panics_ends_alone() {
    let (queue, calls) = (queue(), Arc::new(AtomicUsize::new(0)));
    let mut commands = queue.command_buffer().unwrap();
    commands.add_completed_handler(|_| panic!("expected: the test's handler panics"));
    let counted = calls.clone();
    commands.add_completed_handler(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(
        calls.load(Ordering::SeqCst),
        1,
        "the handler after the one that panicked"
    );
    increment(&queue, &shared(&[1.0]), None).wait().unwrap();
}

#[test]
fn handlers_of_what_is_never_committed_are_dropped() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut commands = queue().command_buffer().unwrap();
    let counted = calls.clone();
    commands.add_completed_handler(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    drop(commands);
    assert_eq!(Arc::strong_count(&calls), 1);
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

/// Asks for a command buffer when it goes.
struct Successor {
    queue: CommandQueue,
    made: mpsc::Sender<Result<(), Error>>,
}

impl Drop for Successor {
    fn drop(&mut self) {
        self.made.send(self.queue.command_buffer().map(drop)).ok();
    }
}

#[test]
fn handlers_of_what_is_refused_may_take_its_slot() {
    let (made, receiver) = mpsc::channel();
    in_time(move || {
        let queue = device()
            .new_command_queue_with_max_command_buffer_count(1)
            .unwrap();
        let mut commands = queue.command_buffer().unwrap();
        let event = device().new_shared_event().unwrap();
        commands.encode_wait_for_event(&event, 1).unwrap();
        drop(event);
        let successor = Successor { queue, made };
        commands.add_completed_handler(move |_| drop(successor));
        let deadlock = |error: &Error| matches!(error, Error::Deadlock(_));
        assert_error(commands.commit(), deadlock, "nothing can signal it");
    });
    receiver.recv_timeout(LONG).unwrap().unwrap();
}

#[test]
fn handlers_may_come_late() {
    let (sender, receiver) = mpsc::channel();
    let (queue, gate) = (queue(), device().new_shared_event().unwrap());
    let submission = increment(&queue, &shared(&[1.0]), Some(&gate));
    let sent = sender.clone();
    submission.on_completed(move |_| sent.send("on Metal's thread").unwrap());
    gate.set_signaled_value(1).unwrap();
    submission.wait().unwrap();
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), "on Metal's thread");
    submission.on_completed(move |_| sender.send("at once").unwrap());
    assert_eq!(receiver.try_recv().unwrap(), "at once");
}

#[test]
fn a_handler_may_ask_its_own_submission() {
    let (sender, receiver) = mpsc::channel();
    let (queue, gate) = (queue(), device().new_shared_event().unwrap());
    let submission = Arc::new(increment(&queue, &shared(&[1.0]), Some(&gate)));
    let own = submission.clone();
    submission.on_completed(move |_| sender.send(own.wait().is_ok()).unwrap());
    gate.set_signaled_value(1).unwrap();
    assert!(receiver.recv_timeout(LONG).unwrap());
}

#[test]
fn submissions_are_futures() {
    let (queue, buffer) = (queue(), shared(&[1.0]));
    let gate = device().new_shared_event().unwrap();
    let mut submission = pin!(increment(&queue, &buffer, Some(&gate)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(
        submission.as_mut().poll(&mut context),
        Poll::Pending
    ));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(SHORT);
            gate.set_signaled_value(1).unwrap();
        });
        block_on(submission.as_mut()).unwrap();
    });
    // Ready again, for whoever asks twice.
    assert!(matches!(submission.poll(&mut context), Poll::Ready(Ok(()))));
    block_on(async {
        increment(&queue, &buffer, None).await.unwrap();
        increment(&queue, &buffer, None).await.unwrap();
    });
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [4.0]);
}

#[test]
fn a_future_may_be_dropped() {
    let (queue, gate) = (queue(), device().new_shared_event().unwrap());
    let buffer = shared(&[1.0]);
    {
        let submission = pin!(increment(&queue, &buffer, Some(&gate)));
        assert!(
            submission
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
    }
    gate.set_signaled_value(1).unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [2.0]);
}

#[test]
fn submissions_are_shared_between_threads() {
    let (queue, gate) = (queue(), device().new_shared_event().unwrap());
    let submission = increment(&queue, &shared(&[1.0]), Some(&gate));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| submission.wait().unwrap());
        }
        gate.set_signaled_value(1).unwrap();
    });
}

#[test]
fn command_buffers_run_in_the_order_of_their_positions() {
    let (queue, buffer) = (queue(), shared(&[0.0]));
    let record = |value: u8| {
        let mut commands = queue.command_buffer().unwrap();
        let mut blit = commands.blit_command_encoder().unwrap();
        blit.fill(&buffer, 0..4, value).unwrap();
        blit.end_encoding().unwrap();
        commands
    };
    let (mut first, second) = (record(1), record(2));
    first.enqueue().unwrap();
    assert_error(first.enqueue(), invalid_state, "mtb_command_buffer_enqueue");
    // Committed later, but its position is the first.
    let second = second.commit().unwrap();
    assert!(
        second.wait_timeout(SHORT).is_err(),
        "it ran before the command buffer that was enqueued before it"
    );
    first.commit().unwrap();
    second.wait_timeout(LONG).unwrap();
    assert_eq!(*buffer.wait_read::<u8>().unwrap(), [2; 4]);
}

#[test]
fn a_full_queue_waits_for_a_slot() {
    let queue = device()
        .new_command_queue_with_max_command_buffer_count(2)
        .unwrap();
    let (first, _second) = (
        queue.command_buffer().unwrap(),
        queue.command_buffer().unwrap(),
    );
    let third = queue.command_buffer_timeout(SHORT);
    assert_error(
        third,
        |e| matches!(e, Error::Timeout(_)),
        "mtb_command_buffer_create",
    );
    drop(first);
    drop(queue.command_buffer_timeout(LONG).unwrap());
    let none = device().new_command_queue_with_max_command_buffer_count(0);
    assert_error(
        none,
        |e| matches!(e, Error::InvalidArgument(_)),
        "at least one slot",
    );
}

#[test]
fn labels_come_back() {
    let queue = queue();
    queue.set_label("decode").unwrap();
    assert_eq!(queue.label().as_deref(), Some("decode"));
    let mut commands = queue.command_buffer().unwrap();
    commands.set_label("token 1").unwrap();
    assert_eq!(commands.label().as_deref(), Some("token 1"));
    assert_error(
        commands.set_label("\0"),
        |e| matches!(e, Error::InvalidArgument(_)),
        "NUL",
    );
    assert_eq!(commands.queue().device(), commands.device());
}

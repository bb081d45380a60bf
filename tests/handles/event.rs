use std::sync::Arc;
use std::sync::mpsc;

use metal_bridge::Error;

use crate::*;

fn timeout(error: &Error) -> bool {
    matches!(error, Error::Timeout(_))
}

#[test]
fn values_rise_from_zero() {
    let event = device().new_shared_event().unwrap();
    assert_eq!(event.signaled_value(), 0);
    event.set_signaled_value(5).unwrap();
    assert_eq!(event.signaled_value(), 5);
    assert_error(
        event.set_signaled_value(4),
        |e| matches!(e, Error::OutOfRange(_)),
        "4",
    );
    assert_eq!(event.signaled_value(), 5);
    event.set_label("token done").unwrap();
    assert_eq!(event.label().as_deref(), Some("token done"));
    assert_eq!(event.device(), device());
}

#[test]
fn the_cpu_waits_for_the_gpu() {
    let (queue, gate, done) = (
        queue(),
        device().new_shared_event().unwrap(),
        device().new_shared_event().unwrap(),
    );
    let mut commands = queue.command_buffer().unwrap();
    commands.encode_wait_for_event(&gate, 1).unwrap();
    commands.encode_signal_event(&done, 7).unwrap();
    commands.commit().unwrap();
    assert_error(
        done.wait_until_signaled_value(7, SHORT),
        timeout,
        "mtb_event_wait",
    );
    gate.set_signaled_value(1).unwrap();
    done.wait_until_signaled_value(7, LONG).unwrap();
    assert_eq!(done.signaled_value(), 7);
    // Reached already.
    done.wait_until_signaled_value(3, Duration::ZERO).unwrap();
}

#[test]
fn queues_wait_for_each_other() {
    let (first, second) = (queue(), queue());
    let (event, buffer) = (device().new_shared_event().unwrap(), shared(&[0.0]));
    let mut waits = second.command_buffer().unwrap();
    waits.encode_wait_for_event(&event, 1).unwrap();
    let mut blit = waits.blit_command_encoder().unwrap();
    blit.fill(&buffer, 0..4, 2).unwrap();
    drop(blit);
    let last = waits.commit().unwrap();
    let mut signals = first.command_buffer().unwrap();
    let mut blit = signals.blit_command_encoder().unwrap();
    blit.fill(&buffer, 0..4, 1).unwrap();
    drop(blit);
    signals.encode_signal_event(&event, 1).unwrap();
    signals.commit().unwrap();
    last.wait_timeout(LONG).unwrap();
    assert_eq!(*buffer.wait_read::<u8>().unwrap(), [2; 4]);
}

#[test]
fn listeners_are_called_once() {
    let (sender, receiver) = mpsc::channel();
    let event = device().new_shared_event().unwrap();
    let sent = sender.clone();
    event
        .notify(2, move |value| sent.send(value).unwrap())
        .unwrap();
    event.set_signaled_value(1).unwrap();
    assert!(receiver.recv_timeout(SHORT).is_err());
    event.set_signaled_value(3).unwrap();
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), 3);
    event.set_signaled_value(4).unwrap();
    assert!(receiver.recv_timeout(SHORT).is_err());
    // Reached already: called at once.
    event
        .notify(2, move |value| sender.send(value).unwrap())
        .unwrap();
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), 4);
}

#[test]
fn a_listener_that_panics_ends_alone() {
    let event = device().new_shared_event().unwrap();
    event
        .notify(1, |_| panic!("expected: the test's listener panics"))
        .unwrap();
    let (sender, receiver) = mpsc::channel();
    event
        .notify(1, move |value| sender.send(value).unwrap())
        .unwrap();
    event.set_signaled_value(1).unwrap();
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), 1);
}

#[test]
fn listeners_go_with_their_event() {
    let held = Arc::new(());
    let event = device().new_shared_event().unwrap();
    let captured = held.clone();
    event.notify(1, move |_| drop(captured)).unwrap();
    drop(event);
    wait_for("the listener's end", || Arc::strong_count(&held) == 1);
}

#[test]
fn work_that_nobody_can_let_on_is_an_error() {
    let (queue, values) = (queue(), shared(&[1.0; 32]));
    let event = device().new_shared_event().unwrap();
    let waiting = increment(&queue, &values, Some(&event));
    let mut recording = queue.command_buffer().unwrap();
    recording.encode_wait_for_event(&event, 1).unwrap();
    let (sender, receiver) = mpsc::channel();
    waiting.on_completed(move |completed| sender.send(completed.result()).unwrap());
    drop(event);
    let deadlock = |error: &Error| matches!(error, Error::Deadlock(_));
    assert_error(waiting.wait(), deadlock, "nobody could signal");
    assert_error(receiver.recv().unwrap(), deadlock, "nobody could signal");
    assert_error(recording.commit(), deadlock, "nothing can signal it");
    // The buffers are free, and the queue goes on.
    values.wait_write::<f32>().unwrap()[0] = 5.0;
    increment(&queue, &values, None).wait().unwrap();
    assert_eq!(values.wait_read::<f32>().unwrap()[0], 6.0);
}

#[test]
fn a_listener_may_know_its_event_and_not_keep_it() {
    let held = Arc::new(());
    let event = device().new_shared_event().unwrap();
    let (own, captured) = (event.downgrade(), held.clone());
    event.notify(1, move |_| drop((own, captured))).unwrap();
    drop(event);
    wait_for("the listener's end", || Arc::strong_count(&held) == 1);

    let event = device().new_shared_event().unwrap();
    let (own, (sender, receiver)) = (event.downgrade(), mpsc::channel());
    let listener = move |_| sender.send(own.upgrade()).unwrap();
    event.notify(1, listener).unwrap();
    event.set_signaled_value(1).unwrap();
    let known = receiver.recv_timeout(LONG).unwrap();
    assert_eq!(known.map(|event| event.signaled_value()), Some(1));

    // One that owns its event goes when the value is reached.
    let mut commands = queue().command_buffer().unwrap();
    let event = device().new_shared_event().unwrap();
    let (owned, captured) = (event.clone(), held.clone());
    event.notify(1, move |_| drop((owned, captured))).unwrap();
    commands.encode_signal_event(&event, 1).unwrap();
    drop(event);
    commands.commit().unwrap();
    wait_for("the listener's end", || Arc::strong_count(&held) == 1);
}

//! What comes back from a buffer: waited for, awaited, called back, leaked, dropped.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;

use metal_bridge_test_support::block_on;

use metal_bridge::memory::Rectangle;

use crate::*;

const LENGTH: usize = 10_000;

/// Transfers, a private buffer, and what is in it.
fn filled() -> (TransferQueue, Buffer, Vec<u8>) {
    let (transfers, source) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let bytes = pattern(LENGTH, 1);
    transfers.upload_and_wait(&bytes, &source, 0).unwrap();
    (transfers, source, bytes)
}

#[test]
fn a_download_is_a_future() {
    let (transfers, source, bytes) = filled();
    let gate = hold(transfers.command_queue());
    let mut download = pin!(transfers.download_async::<u8>(&source, 0, LENGTH).unwrap());
    let mut context = Context::from_waker(Waker::noop());
    assert!(download.as_mut().poll(&mut context).is_pending());
    assert!(!download.is_completed());
    let opener = thread::spawn(move || {
        thread::sleep(SHORT);
        gate.set_signaled_value(1).unwrap();
    });
    assert!(block_on(download.as_mut()).unwrap() == bytes);
    opener.join().unwrap();
    // The values come once, and whoever asks again is told so.
    assert!(download.is_completed());
    let Poll::Ready(again) = download.as_mut().poll(&mut context) else {
        panic!("a download whose values have been taken is pending for ever");
    };
    assert_error(again, |e| matches!(e, Error::InvalidState(_)), "taken");
}

#[test]
fn a_taken_download_is_ready_with_an_error() {
    let (transfers, source, bytes) = filled();
    let taken = || {
        let mut download = transfers.download_async::<u8>(&source, 0, LENGTH).unwrap();
        assert!(download.wait_timeout(LONG).unwrap() == bytes);
        download
    };
    let mut context = Context::from_waker(Waker::noop());
    match pin!(taken()).poll(&mut context) {
        Poll::Ready(result) => {
            assert_error(result, |e| matches!(e, Error::InvalidState(_)), "taken")
        }
        Poll::Pending => panic!("pending for ever"),
    }
    let (sender, receiver) = mpsc::channel();
    taken().on_completed(move |values| sender.send(values).unwrap());
    let values = receiver
        .recv_timeout(LONG)
        .expect("the handler was dropped");
    assert_error(values, |e| matches!(e, Error::InvalidState(_)), "taken");
}

#[test]
fn a_download_can_be_waited_for_in_parts() {
    let (transfers, source, bytes) = filled();
    let gate = hold(transfers.command_queue());
    let mut download = transfers.download_async::<u8>(&source, 0, LENGTH).unwrap();
    assert_error(
        download.wait_timeout(SHORT),
        |e| matches!(e, Error::Timeout(_)),
        "not completed",
    );
    gate.set_signaled_value(1).unwrap();
    assert!(download.wait_timeout(LONG).unwrap() == bytes);
    assert_error(
        download.wait_timeout(LONG),
        |e| matches!(e, Error::InvalidState(_)),
        "have been taken",
    );
}

#[test]
fn a_download_calls_back_before_and_after_its_end() {
    let (transfers, source, bytes) = filled();
    let (sender, receiver) = mpsc::channel();
    let gate = hold(transfers.command_queue());
    let download = transfers.download_async::<u8>(&source, 0, LENGTH).unwrap();
    let other = sender.clone();
    download.on_completed(move |values| other.send((values, thread::current().id())).unwrap());
    gate.set_signaled_value(1).unwrap();
    let (values, thread) = receiver.recv_timeout(LONG).unwrap();
    assert!(values.unwrap() == bytes);
    assert_ne!(thread, thread::current().id());

    let mut download = transfers.download_into(&source, 0, vec![0u8; 8]).unwrap();
    while !download.is_completed() {
        thread::yield_now();
    }
    download.on_completed(move |values| sender.send((values, thread::current().id())).unwrap());
    let (values, thread) = receiver.try_recv().unwrap();
    assert_eq!(values.unwrap(), bytes[..8]);
    assert_eq!(thread, thread::current().id());
    // A panic of a handler on Metal's thread ends there.
    let gate = hold(transfers.command_queue());
    download = transfers.download_into(&source, 0, vec![0u8; 8]).unwrap();
    download.on_completed(|_| panic!("expected: the test's handler panics"));
    gate.set_signaled_value(1).unwrap();
    assert_eq!(
        transfers
            .download_async::<u8>(&source, 8, 8)
            .unwrap()
            .wait()
            .unwrap(),
        bytes[8..16]
    );
}

#[test]
fn typed_values_of_any_owner_come_back() {
    let (transfers, target) = (transfers(), buffer(64, StorageMode::Private));
    let values = [1.5f32, -2.0, 1e30];
    transfers.upload_and_wait(&values, &target, 3).unwrap();
    assert_eq!(
        transfers
            .download_async::<f32>(&target, 3, 3)
            .unwrap()
            .wait()
            .unwrap(),
        values
    );
    let boxed: Box<[f32]> = Box::new([0.0; 2]);
    let download = transfers.download_into(&target, 7, boxed).unwrap();
    assert_eq!(*download.wait().unwrap(), values[1..]);
    // An array lies in the owner itself.
    let download = transfers.download_into(&target, 3, [0.0f32; 3]).unwrap();
    assert_eq!(download.wait().unwrap(), values);
    transfers.upload_async([1u16, 2, 3, 4], &target, 0).unwrap();
    let download = transfers.download_async::<u64>(&target, 0, 1).unwrap();
    assert_eq!(download.wait().unwrap(), [0x0004_0003_0002_0001]);
}

#[test]
fn a_leaked_or_dropped_download_harms_nobody() {
    let (transfers, source, bytes) = filled();
    let gate = hold(transfers.command_queue());
    std::mem::forget(transfers.download_async::<u8>(&source, 0, LENGTH).unwrap());
    drop(transfers.download_async::<u8>(&source, 0, LENGTH).unwrap());
    let output = vec![0u8; LENGTH];
    std::mem::forget(transfers.download_into(&source, 0, output).unwrap());
    let last = transfers.download_async::<u8>(&source, 0, LENGTH).unwrap();
    gate.set_signaled_value(1).unwrap();
    assert!(last.wait().unwrap() == bytes);
}

#[test]
fn a_batch_that_is_dropped_ends_its_downloads() {
    let (transfers, source, bytes) = filled();
    let mut batch = transfers.batch().unwrap();
    let mut download = batch.download_owned::<u8>(&source, 0, LENGTH).unwrap();
    assert_error(
        download.wait_timeout(LONG),
        |e| matches!(e, Error::InvalidState(_)),
        "is not committed",
    );
    drop(batch);
    assert_error(
        block_on(&mut download),
        |e| matches!(e, Error::InvalidState(_)),
        "was not committed",
    );
    // A leaked one keeps what it has: nobody waits for it.
    let mut batch = transfers.batch().unwrap();
    let leaked = batch.download_owned::<u8>(&source, 0, LENGTH).unwrap();
    std::mem::forget(batch);
    assert_error(
        leaked.wait(),
        |e| matches!(e, Error::InvalidState(_)),
        "is not committed",
    );
    assert!(contents(&transfers, &source) == bytes);
}

#[test]
fn uploads_let_go_of_what_they_owned_at_their_end() {
    struct Owner(Vec<u8>, mpsc::Sender<()>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.send(()).unwrap();
        }
    }
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let (sender, receiver) = mpsc::channel();
    let gate = hold(transfers.command_queue());
    let submission = transfers
        .upload_async(Owner(pattern(LENGTH, 3), sender.clone()), &target, 0)
        .unwrap();
    assert!(receiver.recv_timeout(SHORT).is_err());
    gate.set_signaled_value(1).unwrap();
    submission.wait().unwrap();
    receiver.try_recv().unwrap();
    assert!(contents(&transfers, &target) == pattern(LENGTH, 3));
    // One that is refused, and one of a batch that is dropped.
    transfers
        .upload_async(Owner(pattern(LENGTH, 3), sender.clone()), &target, 1)
        .unwrap_err();
    receiver.try_recv().unwrap();
    let mut batch = transfers.batch().unwrap();
    batch
        .upload_owned(Owner(pattern(LENGTH, 3), sender), &target, 0)
        .unwrap();
    assert!(receiver.try_recv().is_err());
    drop(batch);
    receiver.try_recv().unwrap();
}

#[test]
fn rows_move_without_a_wait() {
    let (transfers, gate) = (transfers(), device().new_shared_event().unwrap());
    let mut held = transfers.command_queue().command_buffer().unwrap();
    held.encode_wait_for_event(&gate, 1).unwrap();
    held.commit().unwrap();
    let (a, b) = (
        buffer(64, StorageMode::Private),
        buffer(64, StorageMode::Private),
    );
    let rows = |offset, pitch| Rectangle {
        offset,
        pitch,
        width: 3,
        height: 4,
    };
    transfers.fill_async(&a, 0..64, 9u8).unwrap();
    transfers.fill_async(&b, 0..64, 8u8).unwrap();
    let values: Vec<u8> = (0..20).collect();
    transfers
        .upload_2d_async(values, 5, &a, rows(1, 7))
        .unwrap();
    transfers.copy_2d_async(&a, 1, 7, &b, rows(2, 11)).unwrap();
    let below = Rectangle {
        height: 2,
        ..rows(24, 11)
    };
    transfers.fill_2d_async(&b, below, 7u8).unwrap();
    let output = vec![1u8; 16];
    let download = transfers
        .download_2d_into(&b, rows(2, 11), output, 4)
        .unwrap();
    assert!(!download.is_completed());
    gate.set_signaled_value(1).unwrap();
    let expected = [0, 1, 2, 1, 5, 6, 7, 1, 7, 7, 7, 1, 7, 7, 7, 1];
    assert_eq!(download.wait().unwrap(), expected);
}

#[test]
fn five_hundred_pending_transfers_are_not_waited_for() {
    let (transfers, target) = (transfers(), buffer(500, StorageMode::Private));
    let gate = hold(transfers.command_queue());
    let one = |number: usize| {
        let upload = transfers.upload_async(vec![number as u8], &target, number);
        upload.unwrap()
    };
    let pending: Vec<_> = (0..500).map(one).collect();
    assert!(!pending[0].is_completed());
    gate.set_signaled_value(1).unwrap();
    for upload in &pending {
        upload.wait().unwrap();
    }
    assert!(
        (0..500)
            .map(|number| number as u8)
            .eq(contents(&transfers, &target))
    );
}

#[test]
fn transfers_with_a_timeout_go_on_after_it() {
    let transfers = transfers();
    let (source, target) = (
        buffer(8, StorageMode::Private),
        buffer(8, StorageMode::Private),
    );
    let timeout = |error: &Error| matches!(error, Error::Timeout(_));
    let gate = hold(transfers.command_queue());
    let mut output = [9u8; 8];
    let late = "has not completed";
    assert_error(
        transfers.upload_timeout(&[1u8; 8], &source, 0, SHORT),
        timeout,
        late,
    );
    assert_error(
        transfers.fill_timeout(&source, 0..4, 2u8, SHORT),
        timeout,
        late,
    );
    let copied = transfers.copy_timeout(&source, 2, &target, 0, 4, SHORT);
    assert_error(copied, timeout, late);
    assert_error(
        transfers.download_timeout(&target, 0, &mut output, SHORT),
        timeout,
        late,
    );
    assert_eq!(output, [9; 8]);
    gate.set_signaled_value(1).unwrap();
    // All of it has happened, in its order.
    transfers
        .download_timeout(&target, 0, &mut output[..4], LONG)
        .unwrap();
    assert_eq!(output, [2, 2, 1, 1, 9, 9, 9, 9]);
}

/// A timeout counts from the call on, also while the queue has no free slot for the transfer: here, there never is one.
#[test]
fn a_timeout_covers_the_wait_for_a_slot() {
    const PLENTY: Duration = Duration::from_millis(300);
    let transfers = transfers();
    let (source, target) = (
        buffer(8, StorageMode::Private),
        buffer(8, StorageMode::Private),
    );
    let no_room = |result| {
        let timeout = |error: &Error| matches!(error, Error::Timeout(_));
        assert_error(result, timeout, "command buffers of the queue are in use");
    };
    let gate = hold(transfers.command_queue());
    let mut pending = Vec::new();
    loop {
        let mut batch = transfers.batch().unwrap();
        batch.fill(&source, 0..8, 1u8).unwrap();
        match batch.commit_timeout(SHORT) {
            Ok(submission) => pending.push(submission),
            full => break no_room(full.map(drop)),
        }
    }
    assert!(pending.len() >= 1024);
    // None of these waits for the ten minutes that a call without a timeout waits for a slot.
    let start = Instant::now();
    let mut output = [9u8; 8];
    no_room(transfers.upload_timeout(&[2u8; 8], &source, 0, SHORT));
    no_room(transfers.fill_timeout(&source, 0..4, 2u8, Duration::ZERO));
    no_room(transfers.copy_timeout(&source, 0, &target, 0, 4, SHORT));
    no_room(transfers.download_timeout(&source, 0, &mut output, SHORT));
    assert!(start.elapsed() < LONG);
    // Room that comes late leaves the rest of the time for the transfer.
    thread::scope(|scope| {
        let late = scope.spawn(|| transfers.upload_timeout(&[3u8; 1], &source, 0, LONG));
        thread::sleep(PLENTY);
        assert!(!late.is_finished());
        gate.set_signaled_value(1).unwrap();
        late.join().unwrap().unwrap();
    });
    // Nothing that was refused has happened.
    transfers
        .download_timeout(&source, 0, &mut output, LONG)
        .unwrap();
    assert_eq!(output, [3, 1, 1, 1, 1, 1, 1, 1]);
}

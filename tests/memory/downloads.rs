//! What comes back from a buffer: waited for, awaited, called back, leaked, dropped.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;

use metal_bridge::memory::Download;
use metal_bridge_test_support::block_on;

use crate::*;

const LENGTH: usize = 10_000;

/// Transfers, a private buffer, and what is in it.
fn filled() -> (TransferQueue, Buffer, Vec<u8>) {
    let (transfers, source) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let bytes = pattern(LENGTH, 1);
    transfers.copy(&bytes, source.at(0)).run().unwrap();
    (transfers, source, bytes)
}

fn download_all(transfers: &TransferQueue, source: &Buffer) -> Download<Vec<u8>> {
    let all = transfers.copy(source.range(..), Values::new(source.len()));
    all.commit().unwrap()
}

#[test]
fn a_download_is_a_future() {
    let (transfers, source, bytes) = filled();
    let gate = hold(transfers.command_queue());
    let mut download = pin!(download_all(&transfers, &source));
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
        let mut download = download_all(&transfers, &source);
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
    let mut download = download_all(&transfers, &source);
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
    let download = download_all(&transfers, &source);
    let other = sender.clone();
    download.on_completed(move |values| other.send((values, thread::current().id())).unwrap());
    gate.set_signaled_value(1).unwrap();
    let (values, thread) = receiver.recv_timeout(LONG).unwrap();
    assert!(values.unwrap() == bytes);
    assert_ne!(thread, thread::current().id());

    let mut download = transfers
        .copy(source.at(0), Owned::new(vec![0u8; 8]))
        .commit()
        .unwrap();
    while !download.is_completed() {
        thread::yield_now();
    }
    download.on_completed(move |values| sender.send((values, thread::current().id())).unwrap());
    let (values, thread) = receiver.try_recv().unwrap();
    assert_eq!(values.unwrap(), bytes[..8]);
    assert_eq!(thread, thread::current().id());
    // A panic of a handler on Metal's thread ends there.
    let gate = hold(transfers.command_queue());
    download = transfers
        .copy(source.at(0), Owned::new(vec![0u8; 8]))
        .commit()
        .unwrap();
    download.on_completed(|_| panic!("expected: the test's handler panics"));
    gate.set_signaled_value(1).unwrap();
    assert_eq!(
        transfers
            .copy(source.at(8), Values::<u8>::new(8))
            .commit()
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
    transfers.copy(&values, target.at(3)).run().unwrap();
    assert_eq!(
        transfers
            .copy(target.at(3), Values::<f32>::new(3))
            .commit()
            .unwrap()
            .wait()
            .unwrap(),
        values
    );
    let boxed: Box<[f32]> = Box::new([0.0; 2]);
    let download = transfers
        .copy(target.at(7), Owned::new(boxed))
        .commit()
        .unwrap();
    assert_eq!(*download.wait().unwrap(), values[1..]);
    // An array lies in the owner itself.
    let download = transfers
        .copy(target.at(3), Owned::new([0.0f32; 3]))
        .commit()
        .unwrap();
    assert_eq!(download.wait().unwrap(), values);
    transfers
        .copy(Owned::new([1u16, 2, 3, 4]), target.at(0))
        .commit()
        .unwrap();
    let download = transfers
        .copy(target.at(0), Values::<u64>::new(1))
        .commit()
        .unwrap();
    assert_eq!(download.wait().unwrap(), [0x0004_0003_0002_0001]);
}

#[test]
fn a_leaked_or_dropped_download_harms_nobody() {
    let (transfers, source, bytes) = filled();
    let gate = hold(transfers.command_queue());
    std::mem::forget(download_all(&transfers, &source));
    drop(download_all(&transfers, &source));
    let output = vec![0u8; LENGTH];
    std::mem::forget(
        transfers
            .copy(source.at(0), Owned::new(output))
            .commit()
            .unwrap(),
    );
    let last = download_all(&transfers, &source);
    gate.set_signaled_value(1).unwrap();
    assert!(last.wait().unwrap() == bytes);
}

#[test]
fn a_batch_that_is_dropped_ends_its_downloads() {
    let (transfers, source, bytes) = filled();
    let mut batch = transfers.batch().unwrap();
    let mut download = batch.copy(source.at(0), Values::<u8>::new(LENGTH)).unwrap();
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
    let leaked = batch.copy(source.at(0), Values::<u8>::new(LENGTH)).unwrap();
    std::mem::forget(batch);
    assert_error(
        leaked.wait(),
        |e| matches!(e, Error::InvalidState(_)),
        "is not committed",
    );
    assert!(contents(&transfers, &source) == bytes);
}

#[test]
fn uploads_drop_what_they_owned_at_their_end() {
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
        .copy(
            Owned::new(Owner(pattern(LENGTH, 3), sender.clone())),
            target.at(0),
        )
        .commit()
        .unwrap();
    assert!(receiver.recv_timeout(SHORT).is_err());
    gate.set_signaled_value(1).unwrap();
    submission.wait().unwrap();
    receiver.try_recv().unwrap();
    assert!(contents(&transfers, &target) == pattern(LENGTH, 3));
    // One that is refused, and one of a batch that is dropped.
    transfers
        .copy(
            Owned::new(Owner(pattern(LENGTH, 3), sender.clone())),
            target.at(1),
        )
        .commit()
        .unwrap_err();
    receiver.try_recv().unwrap();
    let mut batch = transfers.batch().unwrap();
    batch
        .copy(Owned::new(Owner(pattern(LENGTH, 3), sender)), target.at(0))
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
    transfers.fill(a.range(0..64), 9u8).commit().unwrap();
    transfers.fill(b.range(0..64), 8u8).commit().unwrap();
    let values: Vec<u8> = (0..20).collect();
    transfers
        .copy(Rows::new(Owned::new(values), 5), a.rows(rows(1, 7)))
        .commit()
        .unwrap();
    transfers
        .copy(a.rows(rows(1, 7)), b.rows(rows(2, 11)))
        .commit()
        .unwrap();
    let below = Rectangle {
        height: 2,
        ..rows(24, 11)
    };
    transfers.fill(b.rows(below), 7u8).commit().unwrap();
    let output = vec![1u8; 16];
    let download = transfers
        .copy(b.rows(rows(2, 11)), Rows::new(Owned::new(output), 4))
        .commit()
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
        let upload = transfers
            .copy(Owned::new(vec![number as u8]), target.at(number))
            .commit();
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

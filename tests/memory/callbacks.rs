//! Completion handlers and host functions that call back in: waits that could never end are errors, everything else is
//! done.

use std::sync::mpsc;

use memmap2::MmapMut;
use metal_bridge::memory::Download;
use metal_bridge::{Completed, Submission, page_size};

use crate::*;

fn deadlock(error: &Error) -> bool {
    matches!(error, Error::Deadlock(_))
}

/// Work of a queue after the callback.
struct Later {
    transfers: TransferQueue,
    shared: Buffer,
    fill: Submission,
    download: Download<Vec<u8>>,
}

impl Later {
    fn commit(transfers: &TransferQueue) -> Later {
        let shared = buffer(64, StorageMode::Shared);
        Later {
            fill: transfers.fill(shared.range(0..64), 7u8).commit().unwrap(),
            download: transfers
                .copy(shared.at(0), Values::new(64))
                .commit()
                .unwrap(),
            transfers: transfers.clone(),
            shared,
        }
    }

    /// From the callback: all waits that there are.
    fn try_to_wait(mut self) -> Later {
        let Later {
            transfers,
            shared,
            fill,
            download,
        } = &mut self;
        let never = "could never end";
        assert_error(fill.wait(), deadlock, never);
        assert_error(fill.wait_timeout(LONG), deadlock, never);
        let polled = fill.wait_timeout(Duration::ZERO);
        assert!(matches!(polled, Err(Error::Timeout(_))), "{polled:?}");
        let after = "runs after the completion handler";
        assert_error(download.wait_timeout(LONG), deadlock, after);
        let polled = download.wait_timeout(Duration::ZERO);
        assert!(matches!(polled, Err(Error::Timeout(_))), "{polled:?}");
        // A guard and the wait for one.
        let buffer_of = "work that uses the buffer of 64 bytes runs after";
        assert_error(shared.wait_read::<u8>().map(drop), deadlock, buffer_of);
        assert_error(shared.wait_write::<u8>().map(drop), deadlock, buffer_of);
        assert_error(shared.wait_until_idle(Some(LONG)), deadlock, buffer_of);
        // Synchronous transfers, by the CPU and by the GPU.
        let own = buffer(16, StorageMode::Shared);
        let hidden = buffer(16, StorageMode::Private);
        own.wait_write::<u8>().unwrap().fill(0);
        assert_error(transfers.copy(&[1u8; 16], own.at(0)).run(), deadlock, never);
        assert_error(
            transfers.fill(hidden.range(0..16), 1u8).run(),
            deadlock,
            never,
        );
        // They left the buffers as they were, and free.
        assert_eq!(*own.wait_write::<u8>().unwrap(), [0; 16]);
        self
    }

    /// Outside: everything has come to its end.
    fn check(self) {
        self.fill.wait().unwrap();
        assert_eq!(self.download.wait().unwrap(), [7; 64]);
        assert_eq!(*self.shared.wait_read::<u8>().unwrap(), [7; 64]);
    }
}

/// Later work, sent to a callback that runs, which tries to wait, and back.
fn with_callback(attach: impl FnOnce(&TransferQueue, Box<dyn FnOnce() + Send>)) {
    let (transfers, gate) = (transfers(), device().new_shared_event().unwrap());
    let (to_callback, in_callback) = mpsc::channel::<Later>();
    let (to_test, in_test) = mpsc::channel();
    let opened = gate.clone();
    let callback = move || {
        opened.wait_until_signaled_value(1, LONG).unwrap();
        let later = in_callback.recv_timeout(LONG).unwrap();
        to_test.send(later.try_to_wait()).unwrap();
    };
    attach(&transfers, Box::new(callback));
    to_callback.send(Later::commit(&transfers)).unwrap();
    gate.set_signaled_value(1).unwrap();
    in_test
        .recv_timeout(LONG)
        .expect("the callback hangs or panicked")
        .check();
}

#[test]
fn a_host_function_that_waits_for_later_work_is_refused() {
    with_callback(|transfers, function| {
        let queue = transfers.command_queue();
        queue.call_host_function(function).unwrap();
    });
}

#[test]
fn a_handler_that_waits_for_later_work_is_refused() {
    with_callback(|transfers, function| {
        let mut commands = transfers.command_queue().command_buffer().unwrap();
        commands.add_completed_handler(move |_: &Completed| function());
        commands.commit().unwrap();
    });
}

#[test]
fn a_download_handler_that_waits_for_later_work_is_refused() {
    with_callback(|transfers, function| {
        let source = buffer(16, StorageMode::Private);
        let gate = hold(transfers.command_queue());
        let download = transfers
            .copy(source.at(0), Values::<u8>::new(16))
            .commit()
            .unwrap();
        download.on_completed(move |_| function());
        gate.set_signaled_value(1).unwrap();
    });
}

/// The owner of a buffer's memory, which calls at its end.
struct Owner {
    pages: MmapMut,
    at_end: Option<Box<dyn FnOnce() + Send>>,
}

impl Owner {
    fn buffer(at_end: impl FnOnce() + Send + 'static) -> Buffer {
        let owner = Owner {
            pages: MmapMut::map_anon(page_size()).unwrap(),
            at_end: Some(Box::new(at_end)),
        };
        let made = device().new_buffer_no_copy(owner, StorageMode::Shared);
        made.unwrap()
    }
}

impl AsMut<[u8]> for Owner {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.pages
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.at_end.take().unwrap()();
    }
}

#[test]
fn an_owner_whose_drop_waits_for_later_work_is_refused() {
    with_callback(|transfers, function| {
        let buffer = Owner::buffer(function);
        let mut commands = transfers.command_queue().command_buffer().unwrap();
        let mut encoder = commands.blit_command_encoder().unwrap();
        encoder.fill(&buffer, 0..64, 1).unwrap();
        encoder.end_encoding().unwrap();
        commands.commit().unwrap();
    });
}

#[test]
fn an_owner_that_the_program_drops_may_wait() {
    let (transfers, (sender, receiver)) = (transfers(), mpsc::channel());
    let target = buffer(16, StorageMode::Private);
    let queue = transfers.clone();
    let owned = Owner::buffer(move || {
        let filled = queue.fill(target.range(0..16), 5u8).commit().unwrap();
        sender.send(filled.wait()).unwrap();
    });
    transfers.fill(owned.range(0..16), 3u8).run().unwrap();
    drop(owned);
    receiver.recv().unwrap().unwrap();
}

#[test]
fn other_queues_and_what_is_done_may_be_waited_for() {
    let (here, there) = (transfers(), transfers());
    let target = buffer(16, StorageMode::Shared);
    let earlier = here.fill(target.range(0..16), 3u8).commit().unwrap();
    let (sender, receiver) = mpsc::channel();
    let function = move || {
        earlier.wait().unwrap();
        assert_eq!(*target.wait_read::<u8>().unwrap(), [3; 16]);
        there.fill(target.range(0..16), 4u8).run().unwrap();
        let values = there
            .copy(target.at(0), Values::<u8>::new(16))
            .commit()
            .unwrap();
        sender.send(values.wait().unwrap()).unwrap();
    };
    let queue = here.command_queue();
    let called = queue.call_host_function(function).unwrap();
    called.wait_timeout(LONG).unwrap();
    assert_eq!(receiver.recv().unwrap(), [4; 16]);
}

#[test]
fn a_full_queue_is_an_error_inside_its_callbacks() {
    let queue = device()
        .new_command_queue_with_max_command_buffer_count(1)
        .unwrap();
    let (sender, receiver) = mpsc::channel();
    let inner = queue.clone();
    let function = move || {
        let held = inner.command_buffer().unwrap();
        sender.send(inner.command_buffer().map(drop)).unwrap();
        drop(held);
        sender.send(inner.command_buffer().map(drop)).unwrap();
    };
    let called = queue.call_host_function(function).unwrap();
    called.wait_timeout(LONG).unwrap();
    assert_error(
        receiver.recv().unwrap(),
        deadlock,
        "a free slot of the queue",
    );
    receiver.recv().unwrap().unwrap();
}

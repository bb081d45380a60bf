//! One bad argument at a time: a typed error that says what was wrong, and nothing touched.

use std::sync::Arc;

use metal_bridge::memory::{Memory, Rectangle};

use crate::*;

const LENGTH: usize = 100;

#[test]
fn what_reaches_out_is_refused_and_nothing_is_touched() {
    let transfers = transfers();
    for mode in MODES {
        let target = buffer(LENGTH, mode);
        let bytes = pattern(LENGTH, 1);
        transfers.upload_and_wait(&bytes, &target, 0).unwrap();
        let out_of_range = |e: &Error| matches!(e, Error::OutOfRange(_));
        let one_more = vec![0u8; LENGTH + 1];
        let mut output = one_more.clone();
        for (offset, length) in [(0, LENGTH + 1), (1, LENGTH), (LENGTH, 1), (usize::MAX, 2)] {
            let values = &one_more[..length];
            let says = "reach out of a buffer";
            assert_error(
                transfers.upload_and_wait(values, &target, offset),
                out_of_range,
                says,
            );
            assert_error(
                transfers.upload_async(values.to_vec(), &target, offset),
                out_of_range,
                says,
            );
            assert_error(
                transfers.upload_staged(values, &target, offset),
                out_of_range,
                says,
            );
            assert_error(
                transfers.download_and_wait(&target, offset, &mut output[..length]),
                out_of_range,
                says,
            );
            assert_error(
                transfers.download_async::<u8>(&target, offset, length),
                out_of_range,
                says,
            );
            assert_error(
                transfers.download_into(&target, offset, values.to_vec()),
                out_of_range,
                says,
            );
            let other = buffer(2 * LENGTH, StorageMode::Private);
            assert_error(
                transfers.copy_and_wait(&target, offset, &other, 0, length),
                out_of_range,
                says,
            );
            assert_error(
                transfers.copy_async(&other, 0, &target, offset, length),
                out_of_range,
                says,
            );
            let range = offset.min(LENGTH)..offset.saturating_add(length);
            assert_error(
                transfers.fill_and_wait(&target, range, 1u8),
                out_of_range,
                says,
            );
        }
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 9..3;
        assert_error(
            transfers.fill_and_wait(&target, reversed, 1u8),
            out_of_range,
            "ends before it begins",
        );
        assert_error(
            transfers.download_async::<u64>(&target, 0, usize::MAX / 4),
            out_of_range,
            "more than there is memory",
        );
        assert_eq!(output, one_more);
        assert_eq!(contents(&transfers, &target), bytes);
    }
}

#[test]
fn rows_are_checked_on_both_sides() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let bytes = pattern(LENGTH, 1);
    transfers.upload_and_wait(&bytes, &target, 0).unwrap();
    let rectangle = |offset, pitch, width, height| Rectangle {
        offset,
        pitch,
        width,
        height,
    };
    let rows = rectangle(0, 10, 5, 10);
    // Host memory with one byte too little for ten rows, seven apart.
    let short = vec![0u8; 9 * 7 + 4];
    assert_error(
        transfers.upload_2d_and_wait(&short, 7, &target, rows),
        |e| matches!(e, Error::OutOfRange(_)),
        "reach out of host memory of 67 bytes",
    );
    assert_error(
        transfers.download_2d_and_wait(&target, rows, &mut short.clone(), 7),
        |e| matches!(e, Error::OutOfRange(_)),
        "reach out of host memory",
    );
    assert_error(
        transfers.upload_2d_and_wait(&bytes, 4, &target, rows),
        |e| matches!(e, Error::InvalidArgument(_)),
        "cannot begin every 4 bytes",
    );
    for outside in [rectangle(6, 10, 5, 10), rectangle(0, usize::MAX / 2, 1, 4)] {
        assert_error(
            transfers.fill_2d_and_wait(&target, outside, 1u8),
            |e| matches!(e, Error::OutOfRange(_)),
            "reach out of a buffer of 100 bytes",
        );
    }
    assert_eq!(contents(&transfers, &target), bytes);
}

#[test]
fn overlaps_and_torn_patterns_are_refused() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Shared));
    let bytes = pattern(LENGTH, 1);
    transfers.upload_and_wait(&bytes, &target, 0).unwrap();
    let invalid = |e: &Error| matches!(e, Error::InvalidArgument(_));
    assert_error(
        transfers.copy_and_wait(&target, 0, &target, 9, 10),
        invalid,
        "overlap",
    );
    assert_error(
        transfers.copy_async(&target, 9, &target, 0, 10),
        invalid,
        "overlap",
    );
    assert_error(
        transfers.fill_and_wait(&target, 0..10, 1u32),
        |e| matches!(e, Error::Misaligned(_)),
        "not a multiple of 4",
    );
    transfers
        .copy_and_wait(&target, 0, &target, 10, 10)
        .unwrap();
    let mut expected = bytes.clone();
    expected.copy_within(0..10, 10);
    assert_eq!(contents(&transfers, &target), expected);
}

#[test]
fn nothing_to_copy_is_no_error() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let none: [u64; 0] = [];
    transfers.upload_and_wait(&none, &target, LENGTH).unwrap();
    transfers
        .upload_async(Vec::<u8>::new(), &target, 0)
        .unwrap()
        .wait()
        .unwrap();
    transfers
        .download_and_wait(&target, 0, &mut [0u32; 0])
        .unwrap();
    let empty = transfers.download_async::<f32>(&target, LENGTH, 0).unwrap();
    assert!(empty.wait().unwrap().is_empty());
    transfers.copy_and_wait(&target, 0, &target, 0, 0).unwrap();
    transfers.fill_and_wait(&target, 7..7, 1u32).unwrap();
    transfers.batch().unwrap().commit_and_wait().unwrap();
    transfers.batch().unwrap().commit().unwrap().wait().unwrap();
}

#[test]
fn guards_and_transfers_keep_apart() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Shared));
    let values = vec![1u8; LENGTH];
    let in_use = |e: &Error| matches!(e, Error::InUse(_));
    {
        let reader = target.wait_read::<u8>().unwrap();
        assert_error(
            transfers.upload_and_wait(&values, &target, 0),
            in_use,
            "being read",
        );
        assert_error(
            transfers.upload_async(values.clone(), &target, 0),
            in_use,
            "being read",
        );
        assert_error(
            transfers.fill_async(&target, 0..4, 0u8),
            in_use,
            "being read",
        );
        // From a guard of the buffer itself, too.
        assert_error(
            transfers.upload_and_wait(&reader[..50], &target, 50),
            in_use,
            "being read",
        );
        assert_eq!(
            transfers
                .download_async::<u8>(&target, 0, 4)
                .unwrap()
                .wait()
                .unwrap(),
            reader[..4]
        );
    }
    {
        let mut writer = target.wait_write::<u8>().unwrap();
        writer.fill(3);
        assert_error(
            transfers.download_async::<u8>(&target, 0, 4),
            in_use,
            "being written",
        );
        let other = buffer(LENGTH, StorageMode::Private);
        assert_error(
            transfers.copy_and_wait(&target, 0, &other, 0, 4),
            in_use,
            "being written",
        );
    }
    // On record: refused. Running: waited for.
    let mut batch = transfers.batch().unwrap();
    batch.upload_owned(values.clone(), &target, 0).unwrap();
    assert_error(target.wait_read::<u8>(), in_use, "not committed");
    drop(batch);
    assert_eq!(*target.wait_read::<u8>().unwrap(), [3; LENGTH]);
    let gate = hold(transfers.command_queue());
    transfers.upload_async(values.clone(), &target, 0).unwrap();
    assert_error(
        target.read_timeout::<u8>(SHORT),
        |e| matches!(e, Error::Timeout(_)),
        "committed work that uses the buffer",
    );
    gate.set_signaled_value(1).unwrap();
    assert_eq!(*target.wait_read::<u8>().unwrap(), *values);
}

#[test]
fn a_guard_waits_for_a_transfer_of_another_thread() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Shared));
    let gate = hold(transfers.command_queue());
    std::thread::scope(|scope| {
        let uploaded = scope.spawn(|| transfers.upload_and_wait(&[9u8; LENGTH], &target, 0));
        // The upload waits for the queue, so its buffer is in use.
        wait_for("the upload to begin", || {
            target.wait_until_idle(Some(Duration::ZERO)).is_err()
        });
        gate.set_signaled_value(1).unwrap();
        assert_eq!(*target.wait_read::<u8>().unwrap(), [9; LENGTH]);
        uploaded.join().unwrap().unwrap();
    });
}

#[test]
fn read_only_memory_is_read() {
    #[repr(align(16384))]
    struct Page([u8; 16384]);
    impl AsRef<[u8]> for Page {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let page = Arc::new(Page([7; 16384]));
    let source = device().new_buffer_no_copy_read_only(page).unwrap();
    let (transfers, target) = (transfers(), buffer(16384, StorageMode::Private));
    let read_only = |e: &Error| matches!(e, Error::ReadOnly(_));
    assert_error(
        transfers.upload_and_wait(&[1u8], &source, 0),
        read_only,
        "may only be read",
    );
    assert_error(
        transfers.fill_async(&source, 0..1, 1u8),
        read_only,
        "may only be read",
    );
    assert_error(
        transfers.copy_and_wait(&target, 0, &source, 0, 1),
        read_only,
        "may only be read",
    );
    transfers
        .copy_and_wait(&source, 0, &target, 0, 16384)
        .unwrap();
    assert!(contents(&transfers, &target) == [7; 16384]);
}

#[test]
fn a_mapped_file_ends_where_it_ends() {
    use std::io::Write;
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[5; 1000]).unwrap();
    let map = Arc::new(
        memmap2::MmapOptions::new()
            .map_raw_read_only(&file)
            .unwrap(),
    );
    let source = device().new_buffer_with_mmap(map, 0..1000).unwrap();
    let (transfers, target) = (transfers(), buffer(2000, StorageMode::Private));
    let out_of_range = |e: &Error| matches!(e, Error::OutOfRange(_));
    assert_error(
        transfers.copy_and_wait(&source, 0, &target, 0, 1001),
        out_of_range,
        "1000 bytes",
    );
    assert_error(
        transfers.download_async::<u8>(&source, 999, 2),
        out_of_range,
        "1000 bytes",
    );
    transfers
        .copy_and_wait(&source, 1, &target, 3, 999)
        .unwrap();
    assert!(contents(&transfers, &target)[3..1002] == [5; 999]);
}

#[test]
fn a_queue_of_another_device_is_refused() {
    let Some(other) = other_device() else { return };
    let queue = other.new_command_queue().unwrap();
    assert_error(
        memory().transfer_queue(&queue),
        |e| matches!(e, Error::WrongDevice(_)),
        "the queue belongs to",
    );
    Memory::new(other).unwrap().transfer_queue(&queue).unwrap();
}

#[test]
fn what_a_batch_refuses_uses_no_buffer() {
    let transfers = transfers();
    let (a, b) = (
        buffer(LENGTH, StorageMode::Shared),
        buffer(LENGTH, StorageMode::Shared),
    );
    let mut batch = transfers.batch().unwrap();
    let overlapping = batch.copy(&a, 0, &a, 4, 8);
    assert_error(overlapping, |e| matches!(e, Error::InvalidArgument(_)), "");
    let partial = batch.fill(&a, 0..7, 1u32);
    assert_error(partial, |e| matches!(e, Error::Misaligned(_)), "");
    let reader = b.wait_read::<u8>().unwrap();
    let conflicting = batch.copy(&a, 0, &b, 0, 8);
    assert_error(conflicting, |e| matches!(e, Error::InUse(_)), "being read");
    drop(reader);
    drop(a.wait_write::<u8>().unwrap());
    drop(b.wait_write::<u8>().unwrap());
    // Refused once, added later.
    batch.copy(&a, 0, &b, 0, 8).unwrap();
    assert_error(
        a.wait_write::<u8>(),
        |e| matches!(e, Error::InUse(_)),
        "committed",
    );
    batch.commit_and_wait().unwrap();
}

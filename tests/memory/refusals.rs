//! One bad argument at a time: a typed error that says what was wrong, and nothing touched.

use std::sync::Arc;

use crate::*;

const LENGTH: usize = 100;

#[test]
fn what_reaches_out_is_refused_and_nothing_is_touched() {
    let transfers = transfers();
    for mode in MODES {
        let target = buffer(LENGTH, mode);
        let bytes = pattern(LENGTH, 1);
        transfers.copy(&bytes, target.at(0)).run().unwrap();
        let out_of_range = |e: &Error| matches!(e, Error::OutOfRange(_));
        let one_more = vec![0u8; LENGTH + 1];
        let mut output = one_more.clone();
        for (offset, length) in [(0, LENGTH + 1), (1, LENGTH), (LENGTH, 1), (usize::MAX, 2)] {
            let values = &one_more[..length];
            let other = buffer(2 * LENGTH, StorageMode::Private);
            let owned = || Owned::new(values.to_vec());
            let place = target.at(offset);
            let range = offset.min(LENGTH)..offset.saturating_add(length);
            for refused in [
                transfers.copy(values, place).run(),
                transfers.copy(owned(), place).commit().map(drop),
                transfers.copy(Staged(values), place).commit().map(drop),
                transfers.copy(place, &mut output[..length]).run(),
                transfers
                    .copy(place, Values::<u8>::new(length))
                    .run()
                    .map(drop),
                transfers.copy(place, owned()).commit().map(drop),
                transfers.copy(place, other.range(..length)).run(),
                transfers
                    .copy(other.range(..length), place)
                    .commit()
                    .map(drop),
                transfers.fill(target.range(range), 1u8).run(),
            ] {
                let says = "end past the end of the buffer, which has 100 bytes";
                assert_error(refused, out_of_range, says);
            }
        }
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 9..3;
        assert_error(
            transfers.fill(target.range(reversed), 1u8).run(),
            out_of_range,
            "ends before it begins",
        );
        assert_error(
            transfers
                .copy(target.at(0), Values::<u64>::new(usize::MAX / 4))
                .commit(),
            out_of_range,
            "more bytes than the address space has",
        );
        // Nobody asks the host for memory for them.
        assert_error(
            transfers
                .copy(target.at(0), Values::<u8>::new(isize::MAX as usize))
                .run(),
            out_of_range,
            "end past the end of the buffer, which has 100 bytes",
        );
        assert_eq!(output, one_more);
        assert_eq!(contents(&transfers, &target), bytes);
    }
}

#[test]
fn rows_are_checked_on_both_sides() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let bytes = pattern(LENGTH, 1);
    transfers.copy(&bytes, target.at(0)).run().unwrap();
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
        transfers
            .copy(Rows::new(&short, 7), target.rows(rows))
            .run(),
        |e| matches!(e, Error::OutOfRange(_)),
        "10 rows of 5 bytes at offset 0, 7 bytes apart, end past the end of the host memory, which has 67 bytes",
    );
    assert_error(
        transfers
            .copy(target.rows(rows), Rows::new(&mut short.clone(), 7))
            .run(),
        |e| matches!(e, Error::OutOfRange(_)),
        "end past the end of the host memory",
    );
    assert_error(
        transfers
            .copy(Rows::new(&bytes, 4), target.rows(rows))
            .run(),
        |e| matches!(e, Error::InvalidArgument(_)),
        "the pitch (4 bytes) must be at least the row's width (5 bytes)",
    );
    for outside in [rectangle(6, 10, 5, 10), rectangle(0, usize::MAX / 2, 1, 4)] {
        assert_error(
            transfers.fill(target.rows(outside), 1u8).run(),
            |e| matches!(e, Error::OutOfRange(_)),
            "end past the end of the buffer, which has 100 bytes",
        );
    }
    assert_eq!(contents(&transfers, &target), bytes);
}

#[test]
fn overlaps_and_torn_patterns_are_refused() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Shared));
    let bytes = pattern(LENGTH, 1);
    transfers.copy(&bytes, target.at(0)).run().unwrap();
    let invalid = |e: &Error| matches!(e, Error::InvalidArgument(_));
    assert_error(
        transfers.copy(target.range(0..10), target.at(9)).run(),
        invalid,
        "overlap",
    );
    assert_error(
        transfers.copy(target.range(9..19), target.at(0)).commit(),
        invalid,
        "overlap",
    );
    assert_error(
        transfers.fill(target.range(0..10), 1u32).run(),
        |e| matches!(e, Error::Misaligned(_)),
        "not a multiple of 4",
    );
    transfers
        .copy(target.range(0..10), target.at(10))
        .run()
        .unwrap();
    let mut expected = bytes.clone();
    expected.copy_within(0..10, 10);
    assert_eq!(contents(&transfers, &target), expected);
}

#[test]
fn nothing_to_copy_is_not_an_error() {
    let (transfers, target) = (transfers(), buffer(LENGTH, StorageMode::Private));
    let none: [u64; 0] = [];
    transfers.copy(&none, target.at(LENGTH)).run().unwrap();
    transfers
        .copy(Owned::new(Vec::<u8>::new()), target.at(0))
        .commit()
        .unwrap()
        .wait()
        .unwrap();
    transfers.copy(target.at(0), &mut [0u32; 0]).run().unwrap();
    let empty = transfers
        .copy(target.at(LENGTH), Values::<f32>::new(0))
        .commit()
        .unwrap();
    assert!(empty.wait().unwrap().is_empty());
    transfers
        .copy(target.range(0..0), target.at(0))
        .run()
        .unwrap();
    transfers.fill(target.range(7..7), 1u32).run().unwrap();
    let new = transfers.copy(target.at(0), Values::<u8>::new(0)).run();
    assert!(new.unwrap().is_empty());
    transfers.batch().unwrap().run().unwrap();
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
            transfers.copy(&values, target.at(0)).run(),
            in_use,
            "being read",
        );
        assert_error(
            transfers
                .copy(Owned::new(values.clone()), target.at(0))
                .commit(),
            in_use,
            "being read",
        );
        assert_error(
            transfers.fill(target.range(0..4), 0u8).commit(),
            in_use,
            "being read",
        );
        // From a guard of the buffer itself, too.
        assert_error(
            transfers.copy(&reader[..50], target.at(50)).run(),
            in_use,
            "being read",
        );
        assert_eq!(
            transfers
                .copy(target.at(0), Values::<u8>::new(4))
                .commit()
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
            transfers.copy(target.at(0), Values::<u8>::new(4)).commit(),
            in_use,
            "being written",
        );
        let other = buffer(LENGTH, StorageMode::Private);
        assert_error(
            transfers.copy(target.range(0..4), other.at(0)).run(),
            in_use,
            "being written",
        );
    }
    // A buffer with a recorded use is refused; one with a running use is waited for.
    let mut batch = transfers.batch().unwrap();
    batch
        .copy(Owned::new(values.clone()), target.at(0))
        .unwrap();
    assert_error(target.wait_read::<u8>(), in_use, "not committed");
    drop(batch);
    assert_eq!(*target.wait_read::<u8>().unwrap(), [3; LENGTH]);
    let gate = hold(transfers.command_queue());
    transfers
        .copy(Owned::new(values.clone()), target.at(0))
        .commit()
        .unwrap();
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
        let uploaded = scope.spawn(|| transfers.copy(&[9u8; LENGTH], target.at(0)).run());
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
        transfers.copy(&[1u8], source.at(0)).run(),
        read_only,
        "may only be read",
    );
    assert_error(
        transfers.fill(source.range(0..1), 1u8).commit(),
        read_only,
        "may only be read",
    );
    assert_error(
        transfers.copy(target.range(0..1), source.at(0)).run(),
        read_only,
        "may only be read",
    );
    transfers
        .copy(source.range(0..16384), target.at(0))
        .run()
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
        transfers.copy(source.range(0..1001), target.at(0)).run(),
        out_of_range,
        "1000 bytes",
    );
    assert_error(
        transfers
            .copy(source.at(999), Values::<u8>::new(2))
            .commit(),
        out_of_range,
        "1000 bytes",
    );
    transfers
        .copy(source.range(1..1000), target.at(3))
        .run()
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
    let overlapping = batch.copy(a.range(0..8), a.at(4));
    assert_error(overlapping, |e| matches!(e, Error::InvalidArgument(_)), "");
    let partial = batch.fill(a.range(0..7), 1u32);
    assert_error(partial, |e| matches!(e, Error::Misaligned(_)), "");
    let reader = b.wait_read::<u8>().unwrap();
    let conflicting = batch.copy(a.range(0..8), b.at(0));
    assert_error(conflicting, |e| matches!(e, Error::InUse(_)), "being read");
    drop(reader);
    drop(a.wait_write::<u8>().unwrap());
    drop(b.wait_write::<u8>().unwrap());
    // Refused once, added later.
    batch.copy(a.range(0..8), b.at(0)).unwrap();
    assert_error(
        a.wait_write::<u8>(),
        |e| matches!(e, Error::InUse(_)),
        "committed",
    );
    batch.run().unwrap();
}

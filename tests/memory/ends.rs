//! Sources and destinations: where the size of a transfer comes from, and what becomes of one that is not run.

use std::sync::Arc;

use crate::*;

const LENGTH: usize = 24;

/// 3 rows of 4 bytes.
fn rows(offset: usize) -> Rectangle {
    Rectangle {
        offset,
        pitch: 7,
        width: 4,
        height: 3,
    }
}

fn invalid(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

fn filled(transfers: &TransferQueue) -> (Buffer, Vec<u8>) {
    let (made, bytes) = (buffer(LENGTH, StorageMode::Private), pattern(LENGTH, 1));
    transfers.copy(&bytes, made.at(0)).run().unwrap();
    (made, bytes)
}

#[test]
fn two_sizes_that_differ_are_refused() {
    let transfers = transfers();
    let ((a, bytes), (b, _)) = (filled(&transfers), filled(&transfers));
    let mut output = vec![9u8; 12];
    let says = "the source has 13 bytes, but the destination has 12 bytes";
    let short = transfers.copy(a.range(..13), &mut output);
    assert_error(short.run(), invalid, says);
    let short = transfers.copy(&bytes[..13], a.range(1..13));
    assert_error(short.run(), invalid, says);
    let short = transfers.copy(a.range(..13), Values::<u32>::new(3));
    assert_error(short.commit(), invalid, says);
    let short = transfers.copy(Staged(&bytes[..13]), Owned::new(vec![0u8; 12]));
    assert_error(short.run_timeout(LONG), invalid, says);
    let short = transfers.copy(a.range(..13), b.rows(rows(0)));
    let says = "the source has 13 bytes, but the destination has 3 rows of 4 bytes";
    assert_error(short.run(), invalid, says);
    let turned = Rectangle {
        width: 3,
        height: 4,
        ..rows(0)
    };
    let turned = transfers.copy(a.rows(turned), b.rows(rows(0)));
    let says = "the source has 4 rows of 3 bytes, but the destination has 3 rows of 4 bytes";
    assert_error(turned.run(), invalid, says);
    assert_eq!(output, [9; 12]);
    assert_eq!(contents(&transfers, &a), bytes);
}

#[test]
fn a_transfer_without_a_size_is_refused() {
    let transfers = transfers();
    let ((a, _), (b, _)) = (filled(&transfers), filled(&transfers));
    let says = "neither the source nor the destination says how many bytes";
    assert_error(transfers.copy(a.at(0), b.at(0)).run(), invalid, says);
    let gaps = transfers.copy(a.at(0), Rows::new(Owned::new([0u8; 9]), 3));
    assert_error(gaps.commit(), invalid, says);
    let fill = transfers.fill(a.at(0), 1u8);
    assert_error(fill.run(), invalid, "Buffer::at gives no length to fill");
}

#[test]
fn rows_without_gaps_are_bytes() {
    let transfers = transfers();
    let (a, bytes) = filled(&transfers);
    let values: Vec<u8> = transfers
        .copy(a.rows(rows(2)), Values::new(12))
        .run()
        .unwrap();
    let expected = [&bytes[2..6], &bytes[9..13], &bytes[16..20]].concat();
    assert_eq!(values, expected);
    let b = buffer(LENGTH, StorageMode::Shared);
    transfers.fill(b.range(..), 0u8).run().unwrap();
    transfers.copy(a.rows(rows(2)), b.at(5)).run().unwrap();
    transfers
        .copy(b.range(5..=16), a.rows(rows(0)))
        .run()
        .unwrap();
    let mut model = bytes.clone();
    for (row, piece) in expected.chunks(4).enumerate() {
        model[7 * row..][..4].copy_from_slice(piece);
    }
    assert_eq!(contents(&transfers, &a), model);
    // One row may have any pitch.
    let row = Rectangle {
        offset: 20,
        pitch: 0,
        width: 4,
        height: 1,
    };
    let values: Vec<u8> = transfers.copy(a.rows(row), Values::new(4)).run().unwrap();
    assert_eq!(values, model[20..]);
}

#[test]
fn host_memory_of_every_kind_is_an_end() {
    let transfers = transfers();
    let target = buffer(LENGTH, StorageMode::Private);
    let bytes = pattern(LENGTH, 2);
    let (slice, array) = (&bytes[..], &[5u16, 6, 7]);
    let written = |transfer: metal_bridge::Result<()>, expected: &[u8]| {
        transfer.unwrap();
        assert_eq!(contents(&transfers, &target)[..expected.len()], *expected);
        transfers.fill(target.range(..), 0u8).run().unwrap();
    };
    written(transfers.copy(slice, target.at(0)).run(), &bytes);
    written(transfers.copy(&bytes, target.at(0)).run(), &bytes);
    written(
        transfers.copy(array, target.at(0)).run(),
        bytemuck::cast_slice(array),
    );
    written(transfers.copy(Staged(&bytes), target.at(0)).run(), &bytes);
    let shared: Arc<[u8]> = slice.into();
    written(
        transfers.copy(Owned::new(shared), target.at(0)).run(),
        &bytes,
    );
    let gaps = Rows::new(Staged(&bytes), 5);
    let two = Rectangle {
        pitch: 4,
        height: 2,
        ..rows(0)
    };
    let expected = [&bytes[..4], &bytes[5..9]].concat();
    written(transfers.copy(gaps, target.rows(two)).run(), &expected);

    transfers.copy(&bytes, target.at(0)).run().unwrap();
    let (mut slice, mut vector, mut array) = ([0u8; 4], vec![0u16; 2], [0u32; 1]);
    transfers.copy(target.at(1), &mut slice[..]).run().unwrap();
    transfers.copy(target.at(1), &mut vector).run().unwrap();
    transfers.copy(target.at(1), &mut array).run().unwrap();
    let owned = transfers
        .copy(target.at(1), Owned::new([0u8; 4]))
        .run()
        .unwrap();
    let new: Vec<f32> = transfers.copy(target.at(1), Values::new(1)).run().unwrap();
    for seen in [
        &slice,
        bytemuck::cast_slice(&vector),
        bytemuck::cast_slice(&array),
        &owned,
        bytemuck::cast_slice(&new),
    ] {
        assert_eq!(*seen, bytes[1..5]);
    }
    // Between host memory, in the order of the queue.
    let gate = hold(transfers.command_queue());
    let copied = transfers.copy(Staged(&bytes), Values::<u8>::new(LENGTH));
    let copied = copied.commit().unwrap();
    assert!(!copied.is_completed());
    gate.set_signaled_value(1).unwrap();
    assert_eq!(copied.wait().unwrap(), bytes);
}

#[test]
fn a_transfer_that_is_not_run_does_nothing() {
    let transfers = transfers();
    let (a, bytes) = filled(&transfers);
    let b = buffer(LENGTH, StorageMode::Shared);
    let mut output = [9u8; 4];
    let owner = Arc::<[u8]>::from(&bytes[..4]);
    let unused = (
        transfers.fill(a.range(..), 0u8),
        transfers.copy(a.range(..), b.at(0)),
        transfers.copy(Owned::new(owner.clone()), b.at(0)),
        transfers.copy(a.at(0), &mut output),
        transfers.copy(a.at(0), Values::<u8>::new(4)),
    );
    // They are recorded: the buffers are in use, and the owner is kept.
    let in_use = |error: &Error| matches!(error, Error::InUse(_));
    assert_error(b.try_read::<u8>(), in_use, "not committed");
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(unused);
    b.wait_write::<u8>().unwrap().fill(3);
    assert_eq!(Arc::strong_count(&owner), 1);
    assert_eq!(output, [9; 4]);
    assert_eq!(contents(&transfers, &a), bytes);
}

#[test]
fn staged_values_are_those_of_the_call() {
    let transfers = transfers();
    let (a, _) = filled(&transfers);
    let mut values = [1u8; 4];
    let staged = transfers.copy(Staged(&values), a.at(0));
    values.fill(2);
    staged.run().unwrap();
    assert_eq!(contents(&transfers, &a)[..4], [1; 4]);
}

#[test]
fn errors_name_the_call() {
    let transfers = transfers();
    let (a, _) = filled(&transfers);
    let mut batch = transfers.batch().unwrap();
    let beyond = a.range(LENGTH..LENGTH + 1);
    for (result, function) in [
        (transfers.copy(beyond, a.at(0)).run(), "TransferQueue::copy"),
        (transfers.fill(beyond, 0u8).run(), "TransferQueue::fill"),
        (batch.copy(beyond, a.at(0)), "Batch::copy"),
        (batch.fill(beyond, 0u8), "Batch::fill"),
    ] {
        assert_eq!(result.unwrap_err().failure().unwrap().function(), function);
    }
}

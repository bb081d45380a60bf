//! Rounds of transfers. Each kind of round uses other forms of transfer: it sends bytes, gets them back, and compares
//! them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use metal_bridge::StorageMode;
use metal_bridge::memory::{Arena, Owned, Rectangle, Rows, Staged, TransferQueue, Values};

use super::error::{Error, Result};

/// A round, which returns whether the bytes came back unchanged.
type Round = fn(&TransferQueue, &Arena, usize) -> Result<bool>;

const ROUNDS: [Round; 4] = [one_by_one, in_batches, in_rows, with_the_cpu];
/// This many seeds in a row run every kind of round.
pub(super) const FORMS: u64 = ROUNDS.len() as u64;

const MODES: [StorageMode; 3] = [
    StorageMode::Shared,
    StorageMode::Managed,
    StorageMode::Private,
];

/// Runs the round that `seed` selects; returns whether the bytes came back unchanged.
pub(super) fn run(transfers: &TransferQueue, arena: &Arena, seed: usize) -> Result<bool> {
    ROUNDS[seed % ROUNDS.len()](transfers, arena, seed / ROUNDS.len())
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length)
        .map(|i| (i.wrapping_mul(seed | 1) >> 3) as u8)
        .collect()
}

fn one_by_one(transfers: &TransferQueue, _: &Arena, seed: usize) -> Result<bool> {
    let length = 1 + seed.wrapping_mul(7919) % 50_000;
    let values = bytes(length, seed);
    let memory = transfers.memory();
    let first = memory.allocate(length + 5, MODES[seed % 3])?;
    let second = memory.allocate(length + 5, MODES[(seed + 1) % 3])?;
    transfers
        .copy(Owned::new(values.clone()), first.at(3))
        .commit()?;
    transfers
        .copy(first.range(3..3 + length), second.at(1))
        .commit()?;
    let early = transfers
        .copy(second.at(1), Values::<u8>::new(length))
        .commit()?;
    transfers.fill(first.range(..length), 0u8).commit()?;
    transfers
        .copy(Staged(&values[..1]), second.at(0))
        .commit()?;
    transfers
        .copy(second.range(1..1 + length), first.at(5))
        .run()?;
    let mut late = vec![0; length];
    transfers.copy(first.at(5), &mut late).run()?;
    Ok(early.wait()? == values && late == values)
}

/// Many transfers in one command buffer, with borrowed and with owned memory.
fn in_batches(transfers: &TransferQueue, arena: &Arena, seed: usize) -> Result<bool> {
    const PIECE: usize = 100;
    let pieces = 1 + seed % 40;
    let values = bytes(pieces * PIECE, seed);
    let scattered = transfers
        .memory()
        .allocate(2 * values.len(), MODES[seed % 3])?;
    let gathered = arena.allocate(values.len())?;
    let mut up = transfers.batch()?;
    up.fill(scattered.range(..2 * values.len()), 0u16)?;
    for (number, piece) in values.chunks(PIECE).enumerate() {
        up.copy(piece, scattered.at(2 * number * PIECE + 1))?;
    }
    up.run()?;
    let mut down = transfers.batch()?;
    for number in 0..pieces {
        let offset = 2 * number * PIECE + 1;
        down.copy(
            scattered.range(offset..offset + PIECE),
            gathered.at(number * PIECE),
        )?;
    }
    let results = down.copy(gathered.at(0), Values::<u8>::new(values.len()))?;
    let between = down.copy(scattered.at(0), Values::<u8>::new(1))?;
    down.commit()?;
    Ok(results.wait()? == values && between.wait()? == [0])
}

fn in_rows(transfers: &TransferQueue, _: &Arena, seed: usize) -> Result<bool> {
    const AROUND: u8 = 0xee;
    let (width, height) = (1 + seed % 61, 1 + seed / 61 % 37);
    let rows = Rectangle {
        offset: 3,
        pitch: width + seed % 7,
        width,
        height,
    };
    let moved = Rectangle { offset: 1, ..rows };
    let length = rows.offset + rows.pitch * height;
    let values = bytes(width * height, seed);
    let memory = transfers.memory();
    let first = memory.allocate(length, MODES[seed % 3])?;
    let second = memory.allocate(length, MODES[(seed + 1) % 3])?;
    transfers.fill(first.range(..length), AROUND).commit()?;
    transfers
        .copy(Rows::new(&values, width), first.rows(rows))
        .run()?;
    transfers.copy(first.rows(rows), second.rows(moved)).run()?;
    transfers.fill(first.rows(rows), 0u8).run()?;
    let (mut back, mut whole) = (vec![0; values.len()], vec![1; length]);
    transfers
        .copy(second.rows(moved), Rows::new(&mut back, width))
        .run()?;
    transfers.copy(first.at(0), &mut whole).run()?;
    let in_row = |offset: usize| {
        let from_first = offset.checked_sub(rows.offset);
        from_first.is_some_and(|i| i % rows.pitch < width && i / rows.pitch < height)
    };
    let expected = (0..length).map(|offset| if in_row(offset) { 0 } else { AROUND });
    Ok(back == values && whole.into_iter().eq(expected))
}

/// A host function between an upload and a download; a callback tells the end of the download.
fn with_the_cpu(transfers: &TransferQueue, arena: &Arena, seed: usize) -> Result<bool> {
    let length = 1 + seed.wrapping_mul(104_729) % 20_000;
    let values = bytes(length, seed);
    let buffer = arena.allocate(length)?;
    let has_run = Arc::new(AtomicBool::new(false));
    let runs = has_run.clone();
    let (tell, told) = mpsc::channel();
    transfers
        .copy(Owned::new(values.clone()), buffer.at(0))
        .commit()?;
    let called = transfers
        .command_queue()
        .call_host_function(move || runs.store(true, Ordering::Release))?;
    let results = transfers
        .copy(buffer.at(0), Owned::new(vec![0u8; length]))
        .commit()?;
    results.on_completed(move |results| {
        let is_in_order = has_run.load(Ordering::Acquire);
        // If the round has failed already, nobody receives this.
        let _ = tell.send(results.map(|results| (results, is_in_order)));
    });
    called.wait()?;
    let dropped = |_| Error::new("a download was dropped without its callback");
    let (results, is_in_order) = told.recv().map_err(dropped)??;
    Ok(results == values && is_in_order)
}

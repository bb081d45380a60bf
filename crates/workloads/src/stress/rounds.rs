//! Rounds of transfers, each of other forms: bytes go by several ways and come back, and are compared with what they were.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use metal_bridge::StorageMode;
use metal_bridge::memory::{Arena, Rectangle, TransferQueue};

use super::error::{Error, Result};

/// Whether the bytes came back as they went.
type Round = fn(&TransferQueue, &Arena, usize) -> Result<bool>;

const ROUNDS: [Round; 4] = [one_by_one, in_batches, in_rows, with_the_cpu];
/// After so many seeds in a row each form has had its turn.
pub(super) const FORMS: u64 = ROUNDS.len() as u64;

const MODES: [StorageMode; 3] = [
    StorageMode::Shared,
    StorageMode::Managed,
    StorageMode::Private,
];

/// The round that is `seed`'s turn; whether the bytes came back as they went.
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
    transfers.upload_async(values.clone(), &first, 3)?;
    transfers.copy_async(&first, 3, &second, 1, length)?;
    let early = transfers.download_async::<u8>(&second, 1, length)?;
    transfers.fill_async(&first, 0..length, 0u8)?;
    transfers.upload_staged(&values[..1], &second, 0)?;
    transfers.copy_and_wait(&second, 1, &first, 5, length)?;
    let mut late = vec![0; length];
    transfers.download_and_wait(&first, 5, &mut late)?;
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
    up.fill(&scattered, 0..2 * values.len(), 0u16)?;
    for (number, piece) in values.chunks(PIECE).enumerate() {
        up.upload(piece, &scattered, 2 * number * PIECE + 1)?;
    }
    up.commit_and_wait()?;
    let mut down = transfers.batch()?;
    for number in 0..pieces {
        let place = 2 * number * PIECE + 1;
        down.copy(&scattered, place, &gathered, number * PIECE, PIECE)?;
    }
    let results = down.download_owned::<u8>(&gathered, 0, values.len())?;
    let between = down.download_owned::<u8>(&scattered, 0, 1)?;
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
    transfers.fill_async(&first, 0..length, AROUND)?;
    transfers.upload_2d_and_wait(&values, width, &first, rows)?;
    transfers.copy_2d_and_wait(&first, rows.offset, rows.pitch, &second, moved)?;
    transfers.fill_2d_and_wait(&first, rows, 0u8)?;
    let (mut back, mut whole) = (vec![0; values.len()], vec![1; length]);
    transfers.download_2d_and_wait(&second, moved, &mut back, width)?;
    transfers.download_and_wait(&first, 0, &mut whole)?;
    let in_row = |place: usize| {
        let from_first = place.checked_sub(rows.offset);
        from_first.is_some_and(|i| i % rows.pitch < width && i / rows.pitch < height)
    };
    let expected = (0..length).map(|place| if in_row(place) { 0 } else { AROUND });
    Ok(back == values && whole.into_iter().eq(expected))
}

/// The CPU's turn between an upload and a download, whose end is told by a callback.
fn with_the_cpu(transfers: &TransferQueue, arena: &Arena, seed: usize) -> Result<bool> {
    let length = 1 + seed.wrapping_mul(104_729) % 20_000;
    let values = bytes(length, seed);
    let buffer = arena.allocate(length)?;
    let has_run = Arc::new(AtomicBool::new(false));
    let runs = has_run.clone();
    let (tell, told) = mpsc::channel();
    transfers.upload_async(values.clone(), &buffer, 0)?;
    let called = transfers
        .command_queue()
        .call_host_function(move || runs.store(true, Ordering::Release))?;
    let results = transfers.download_into(&buffer, 0, vec![0u8; length])?;
    results.on_completed(move |results| {
        let is_in_order = has_run.load(Ordering::Acquire);
        // Nobody listens where the round has failed before.
        let _ = tell.send(results.map(|results| (results, is_in_order)));
    });
    called.wait()?;
    let dropped = |_| Error::new("a download was dropped without its callback");
    let (results, is_in_order) = told.recv().map_err(dropped)??;
    Ok(results == values && is_in_order)
}

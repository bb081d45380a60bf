//! What is kept to be used again, and how much: buffers, queues, staging; pressure, budgets, failed allocations.

use metal_bridge::memory::{Memory, MemoryOptions};

use crate::*;

const KIB: usize = 1 << 10;

fn memory_with(options: &MemoryOptions) -> Memory {
    Memory::with_options(device(), options).unwrap()
}

#[test]
fn a_buffer_is_reused_down_to_half_its_length() {
    for mode in MODES {
        let memory = memory();
        drop(memory.allocate(64 * KIB, mode).unwrap());
        let made = memory.statistics().buffers;
        assert_eq!(
            (made.hits, made.misses, made.objects_kept),
            (0, 1, 1),
            "{mode:?}"
        );
        // Another mode has none of it, nor has a length that is less than half.
        let other = MODES[(mode as usize + 1) % MODES.len()];
        let others = [
            memory.allocate(64 * KIB, other),
            memory.allocate(20 * KIB, mode),
        ];
        assert_eq!(memory.statistics().buffers.hits, 0, "{mode:?}");
        let again = memory.allocate(40 * KIB, mode).unwrap();
        assert_eq!(again.len(), 40 * KIB);
        assert_eq!(memory.statistics().buffers.hits, 1, "{mode:?}");
        drop((others, again));
        assert_eq!(memory.statistics().buffers.objects_in_use, 0, "{mode:?}");
    }
}

#[test]
fn a_buffer_in_flight_is_nobody_elses() {
    let memory = memory();
    let allocate = || memory.allocate(4 * KIB, StorageMode::Shared).unwrap();
    let misses = || memory.statistics().buffers.misses;
    let (_, second) = no_reuse_before_the_gpu_is_done(&memory, allocate, misses);
    wait_for("the first to be back in the pool", || {
        memory.statistics().buffers.objects_kept == 1
    });
    drop((allocate(), second));
    assert_eq!(memory.statistics().buffers.hits, 1);
}

#[test]
fn a_pooled_buffer_forgets_who_used_it() {
    let memory = memory();
    let first = memory.allocate(KIB, StorageMode::Shared).unwrap();
    // A leaked guard: the buffer is refused to everybody, for as long as it lives.
    std::mem::forget(first.wait_write::<u8>().unwrap());
    assert_error(
        first.wait_read::<u8>(),
        |e| matches!(e, Error::InUse(_)),
        "being written",
    );
    drop(first);
    let second = memory.allocate(KIB, StorageMode::Shared).unwrap();
    assert_eq!(memory.statistics().buffers.hits, 1);
    second.wait_write::<u8>().unwrap().fill(1);
}

#[test]
fn the_cache_is_freed_before_the_budget_is_exceeded() {
    let budget = 1024 * KIB as u64;
    let memory = memory_with(&MemoryOptions::new().budget(budget).cache_limit(budget));
    assert_eq!(memory.budget(), budget);
    let over = |e: &Error| matches!(e, Error::OverBudget(_));
    let private = StorageMode::Private;
    assert_error(memory.allocate(1025 * KIB, private), over, "budget");
    let held = memory.allocate(600 * KIB, private).unwrap();
    assert_error(memory.allocate(600 * KIB, private), over, "budget");
    drop(held);
    // 600 KiB are kept, and too large for 100; the rest of the budget is too small.
    assert_eq!(memory.statistics().buffers.objects_kept, 1);
    let several: Vec<Buffer> = (0..9)
        .map(|_| memory.allocate(100 * KIB, private).unwrap())
        .collect();
    let statistics = memory.statistics();
    assert!(statistics.held <= budget, "{statistics}");
    assert!(statistics.buffers.trimmed >= 1, "{statistics}");
    // What cannot be had leaves the rest usable.
    assert_error(memory.allocate(300 * KIB, private), over, "budget");
    // Staging counts, too: these go by way of another memory.
    let transfers = transfers();
    for buffer in &several {
        transfers.fill(buffer.range(..), 3u8).run().unwrap();
    }
    assert!(contents(&transfers, &several[8]) == vec![3; 100 * KIB]);
}

#[test]
fn what_is_kept_is_bounded_and_can_be_trimmed() {
    let memory = memory_with(
        &MemoryOptions::new()
            .cache_limit(256 * KIB as u64)
            .idle(Duration::MAX),
    );
    let many: Vec<Buffer> = (0..16)
        .map(|_| memory.allocate(64 * KIB, StorageMode::Private).unwrap())
        .collect();
    let most = memory.statistics().buffers.high_water_bytes;
    assert!(most >= 16 * 64 * KIB as u64);
    drop(many);
    let kept = memory.statistics().buffers.bytes_kept;
    assert!(
        kept > 0 && kept <= 256 * KIB as u64,
        "{}",
        memory.statistics()
    );
    // Nothing has been idle for an hour.
    assert_eq!(memory.trim(Duration::from_secs(3600)), 0);
    assert!(memory.trim(Duration::ZERO) >= kept);
    let statistics = memory.statistics();
    assert_eq!(
        (statistics.buffers.bytes_kept, statistics.held),
        (0, 0),
        "{statistics}"
    );
    memory.reset_statistics();
    assert_eq!(memory.statistics().buffers.misses, 0);
}

#[test]
fn idle_memory_goes_back_by_itself() {
    let memory = memory_with(&MemoryOptions::new().idle(Duration::from_millis(50)));
    drop(memory.allocate(64 * KIB, StorageMode::Private).unwrap());
    let transfers = memory.transfer_queue(&queue()).unwrap();
    let target = buffer(64 * KIB, StorageMode::Private);
    transfers
        .copy(Staged(&pattern(64 * KIB, 1)), target.at(0))
        .commit()
        .unwrap()
        .wait()
        .unwrap();
    let start = std::time::Instant::now();
    // Whoever uses the memory next finds it trimmed, at the latest.
    loop {
        std::thread::sleep(SHORT);
        transfers.fill(target.range(0..4), 0u8).run().unwrap();
        let statistics = memory.statistics();
        if statistics.buffers.bytes_kept == 0 && statistics.staging.bytes_kept == 0 {
            break;
        }
        assert!(start.elapsed() < LONG, "{statistics}");
    }
}

#[test]
fn queues_come_back() {
    let memory = memory();
    let first = memory.acquire_queue().unwrap();
    let gate = hold(&first);
    drop(first);
    let transfers = memory.new_transfer_queue().unwrap();
    gate.set_signaled_value(1).unwrap();
    transfers.batch().unwrap().run().unwrap();
    drop(transfers);
    // Command buffers hold their queue until they have completed.
    wait_for("the queues", || {
        memory.statistics().queues.objects_in_use == 0
    });
    let before = memory.statistics().queues;
    let again = memory.acquire_queue().unwrap();
    let queues = memory.statistics().queues;
    assert_eq!(
        (queues.hits, queues.misses),
        (before.hits + 1, before.misses)
    );
    assert_eq!(queues.objects_in_use, 1);
    drop(again);
    // A queue outlives the memory that it came from.
    let outliving = memory.acquire_queue().unwrap();
    drop(memory);
    complete_nothing(&outliving);
}

#[test]
fn buffers_outlive_their_memory() {
    let memory = memory();
    let kept = memory.allocate(KIB, StorageMode::Shared).unwrap();
    drop(memory);
    kept.wait_write::<u8>().unwrap().fill(4);
    let transfers = transfers();
    assert_eq!(contents(&transfers, &kept), [4; KIB]);
    drop(kept);
}

#[test]
fn statistics_count_what_was_moved() {
    use metal_bridge::memory::TransferKind;
    let transfers = transfers();
    let (shared, private) = (
        buffer(1000, StorageMode::Shared),
        buffer(1000, StorageMode::Private),
    );
    transfers.copy(&[1u8; 1000], private.at(0)).run().unwrap();
    transfers.copy(&[1u8; 10], shared.at(0)).run().unwrap();
    transfers
        .copy(private.range(0..400), shared.at(100))
        .run()
        .unwrap();
    transfers
        .copy(private.at(0), Values::<u8>::new(500))
        .commit()
        .unwrap()
        .wait()
        .unwrap();
    transfers.fill(private.range(0..8), 0u8).run().unwrap();
    let statistics = transfers.memory().statistics();
    for (kind, count, bytes) in [
        (TransferKind::HostToPrivate, 1, 1000),
        (TransferKind::HostToShared, 1, 10),
        (TransferKind::BufferToBuffer, 1, 400),
        (TransferKind::PrivateToHost, 1, 500),
        (TransferKind::Fill, 1, 8),
        (TransferKind::SharedToHost, 0, 0),
    ] {
        let found = statistics.transfers(kind);
        assert_eq!(
            (found.count, found.bytes),
            (count, bytes),
            "{kind:?}\n{statistics}"
        );
        assert_eq!(found.time.is_zero(), count == 0, "{kind:?}");
    }
    let table = statistics.to_string();
    assert!(
        table.contains("host to private") && table.contains("buffers"),
        "{table}"
    );
    transfers.memory().reset_statistics();
    assert_eq!(
        transfers
            .memory()
            .statistics()
            .transfers(TransferKind::Fill)
            .count,
        0
    );
}

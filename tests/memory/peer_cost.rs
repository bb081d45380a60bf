//! What a transfer between peers costs beside a plain blit.
#![cfg(software_metal)]

use metal_bridge::memory::TransferKind;
use metal_bridge_test_support::in_child_with;

use crate::*;

const BYTES: usize = 32 << 20;
/// Copies of each way.
const COPIES: usize = 60;

/// `cargo test --test memory -- --ignored --nocapture a_peer_transfer_beside`: the times of both, for docs/devices.md.
#[test]
#[ignore = "measures"]
fn a_peer_transfer_beside_a_plain_blit() {
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "2"),
        ("SOFTWARE_METAL_PEERS", "1"),
        ("SOFTWARE_METAL_UNIFIED", "0"),
    ];
    in_child_with(
        "peer_cost::a_peer_transfer_beside_a_plain_blit",
        &variables,
        || {
            let transfers = transfers();
            let peer = other_device().unwrap();
            let near = buffer(BYTES, StorageMode::Private);
            let far = peer.new_buffer(BYTES, StorageMode::Private).unwrap();
            let there = Memory::new(peer).unwrap().new_transfer_queue().unwrap();
            there.fill(far.range(..), 1u8).run().unwrap();
            transfers.fill(near.range(..), 1u8).run().unwrap();
            // One for each way: a destination that the cache still holds is faster.
            let destinations = [(); 2].map(|()| buffer(BYTES, StorageMode::Private));
            let blit = || {
                let mut commands = transfers.command_queue().command_buffer().unwrap();
                let mut blit = commands.blit_command_encoder().unwrap();
                blit.copy(&near, 0, &destinations[0], 0, BYTES).unwrap();
                blit.end_encoding().unwrap();
                commands.commit().unwrap().wait().unwrap();
            };
            let transfer = || {
                let copy = transfers.copy(far.range(..), destinations[1].at(0));
                copy.run().unwrap();
            };
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..COPIES {
                for (times, way) in times.iter_mut().zip([&blit as &dyn Fn(), &transfer]) {
                    let start = Instant::now();
                    way();
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
            }
            let statistics = transfers.memory().statistics();
            let through_views = statistics.transfers(TransferKind::Peer);
            assert_eq!(through_views.count, COPIES as u64);
            for times in &mut times {
                times.sort_by(f64::total_cmp);
            }
            let at = |part: usize| times.each_ref().map(|times| times[part * COPIES / 4]);
            for (name, [blit, transfer]) in
                [("least", at(0)), ("quarter", at(1)), ("median", at(2))]
            {
                println!(
                    "{name}: blit {blit:.2} ms, transfer {transfer:.2} ms, {:.3}",
                    transfer / blit
                );
            }
        },
    );
}

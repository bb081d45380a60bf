//! Several devices: what joins them, what transfers between them take, and which way is the fastest.

use std::time::Duration;

#[cfg(software_metal)]
use metal_bridge::ObjectKind;
use metal_bridge::devices::{Link, MeasureOptions, Measurements, PairFigures, Topology};
#[cfg(software_metal)]
use metal_bridge::memory::TransferKind;
#[cfg(software_metal)]
use metal_bridge_test_support::{failures, in_child, in_child_with};
use proptest::prelude::*;

use crate::*;

fn quick() -> MeasureOptions {
    MeasureOptions::new().bytes(1 << 20).repeats(3).warm_ups(1)
}

fn figures(gigabytes: f64, microseconds: u64) -> PairFigures {
    PairFigures {
        bandwidth: gigabytes * 1e9,
        latency: Duration::from_micros(microseconds),
    }
}

/// What every pair of different devices of the software Metal is joined by, with this link between them: the fewest links that
/// a copy goes over.
#[cfg(software_metal)]
fn measure_links(
    test: &str,
    variables: &[(&str, &str)],
    options: &MeasureOptions,
    is_joined: fn(Link) -> bool,
    links: u32,
) {
    let shared = [
        ("SOFTWARE_METAL_DEVICES", "3"),
        ("SOFTWARE_METAL_LINK", "0.5,1000"),
    ];
    in_child_with(test, &[&shared, variables].concat(), || {
        let topology = Topology::discover().unwrap();
        assert_eq!(topology.devices().len(), 3);
        let measurements = topology.measure(options).unwrap();
        assert_eq!(measurements.device_count(), 3);
        for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
            let link = topology.link(from, to).unwrap();
            let pair = measurements.pair(from, to).unwrap();
            assert!(pair.bandwidth > 0.0 && pair.latency > Duration::ZERO);
            if from == to {
                assert_eq!(link, Link::SameDevice);
                continue;
            }
            assert!(is_joined(link), "{from} to {to}: {link:?}");
            if let Link::Peers {
                from: index,
                to: other,
                ..
            } = link
            {
                assert_eq!((index as usize, other as usize), (from, to));
            }
            assert!(pair.latency >= links * Duration::from_millis(1), "{pair:?}");
            assert!(pair.bandwidth <= 0.5e9 / f64::from(links), "{pair:?}");
        }
        let buffers = || Device::live_objects().live(ObjectKind::Buffer);
        wait_for("the buffers to go", || buffers() == 0);
    });
}

#[cfg(software_metal)]
#[test]
fn peers_are_measured_over_their_link() {
    let variables = [("SOFTWARE_METAL_PEERS", "1")];
    let is_joined = |link| matches!(link, Link::Peers { group, .. } if group != 0);
    let test = "topology::peers_are_measured_over_their_link";
    measure_links(test, &variables, &quick(), is_joined, 1);
}

/// The way by system memory is one link longer here, and a program finds that out before it takes it.
#[cfg(software_metal)]
#[test]
fn peers_without_access_are_two_links_apart() {
    let variables = [
        ("SOFTWARE_METAL_PEERS", "1"),
        ("SOFTWARE_METAL_UNIFIED", "0"),
    ];
    let is_joined = |link| matches!(link, Link::Peers { .. });
    let test = "topology::peers_without_access_are_two_links_apart";
    let options = quick().peer_access(false);
    measure_links(test, &variables, &options, is_joined, 2);
}

#[cfg(software_metal)]
#[test]
fn peer_access_can_be_taken_and_given() {
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "2"),
        ("SOFTWARE_METAL_PEERS", "1"),
        ("SOFTWARE_METAL_UNIFIED", "0"),
    ];
    in_child_with(
        "topology::peer_access_can_be_taken_and_given",
        &variables,
        || {
            let transfers = transfers();
            let (memory, peer) = (transfers.memory(), other_device().unwrap());
            let source = peer.new_buffer(4096, StorageMode::Private).unwrap();
            let there = Memory::new(peer).unwrap().new_transfer_queue().unwrap();
            let bytes = pattern(source.len(), 5);
            there.copy(&bytes, source.at(0)).run().unwrap();
            let copies_as = |kind| {
                memory.reset_statistics();
                let copy = buffer(source.len(), StorageMode::Private);
                transfers.copy(source.range(..), copy.at(0)).run().unwrap();
                let pairs = memory.pair_statistics();
                assert_eq!(pairs.len(), 1);
                assert_eq!((pairs[0].kind, pairs[0].transfers.count), (kind, 1));
                assert!(contents(&transfers, &copy) == bytes);
            };
            copies_as(TransferKind::Peer);
            memory.disable_peer_access(peer).unwrap();
            copies_as(TransferKind::PeerStaged);
            memory.enable_peer_access(peer).unwrap();
            copies_as(TransferKind::Peer);
            let own = memory.enable_peer_access(device());
            assert_error(
                own,
                |e| matches!(e, Error::InvalidArgument(_)),
                "own device",
            );
        },
    );
}

#[cfg(software_metal)]
#[test]
fn only_peers_have_access_that_can_be_taken() {
    let variables = [
        ("SOFTWARE_METAL_DEVICES", "2"),
        ("SOFTWARE_METAL_PEERS", "0"),
    ];
    in_child_with(
        "topology::only_peers_have_access_that_can_be_taken",
        &variables,
        || {
            let (memory, other) = (memory(), other_device().unwrap());
            for refused in [
                memory.enable_peer_access(other),
                memory.disable_peer_access(other),
            ] {
                assert_error(
                    refused,
                    |e| matches!(e, Error::Unsupported(_)),
                    "is not a peer of",
                );
            }
        },
    );
}

/// To system memory over the source's bus, and on over the destination's.
#[cfg(software_metal)]
#[test]
fn discrete_devices_without_peers_are_two_links_apart() {
    let variables = [("SOFTWARE_METAL_UNIFIED", "0")];
    let test = "topology::discrete_devices_without_peers_are_two_links_apart";
    measure_links(test, &variables, &quick(), |link| link == Link::Host, 2);
}

#[test]
fn two_handles_of_a_device_are_the_same_device() {
    let topology = Topology::of(&[device().clone(), Device::at(0).unwrap()]).unwrap();
    assert_eq!(topology.link(0, 1).unwrap(), Link::SameDevice);
    assert_eq!(topology.positions()[0], device().position());
    let measurements = topology.measure(&quick()).unwrap();
    assert!(measurements.pair(0, 1).unwrap().bandwidth > 0.0);
}

#[test]
fn bad_arguments_are_errors() {
    let none = Topology::of(&[]);
    assert_error(
        none,
        |e| matches!(e, Error::InvalidArgument(_)),
        "at least one device",
    );
    let topology = Topology::of(&[device().clone()]).unwrap();
    for (from, to) in [(0, 1), (1, 0), (usize::MAX, 0)] {
        let says = "the topology has 1";
        assert_error(
            topology.link(from, to),
            |e| matches!(e, Error::OutOfRange(_)),
            says,
        );
    }
    let measure = |options: MeasureOptions| topology.measure(&options);
    for options in [quick().bytes(0), quick().repeats(0)] {
        let says = "at least 4 bytes and one repeat";
        assert_error(
            measure(options),
            |e| matches!(e, Error::InvalidArgument(_)),
            says,
        );
    }
    let says = "6 bytes are not a multiple of 4";
    assert_error(
        measure(quick().bytes(6)),
        |e| matches!(e, Error::Misaligned(_)),
        says,
    );
    let most = usize::MAX & !3;
    assert!(
        measure(quick().bytes(most)).is_err(),
        "a buffer of 2^64 bytes"
    );
    let timeout = measure(quick().timeout(Duration::ZERO));
    assert_error(timeout, |e| matches!(e, Error::Timeout(_)), "");
}

#[cfg(software_metal)]
#[test]
fn a_device_that_vanishes_is_an_error() {
    in_child("topology::a_device_that_vanishes_is_an_error", || {
        let topology = Topology::of(&[device().clone(), other_device().unwrap().clone()]).unwrap();
        for nth in 1..12 {
            failures::lose_device(nth);
            let lost = topology.measure(&quick());
            assert_error(lost, |e| matches!(e, Error::CommandBuffer(_)), "");
            failures::reset();
        }
        topology.measure(&quick()).unwrap();
    });
}

/// From 0 to 2 little is faster at once and much is faster through 1, whose links are far wider.
#[test]
fn a_third_device_is_worth_its_latency_for_many_bytes() {
    let slow = figures(1.0, 10);
    let wide = figures(10.0, 15);
    let none = figures(100.0, 1);
    let rows = vec![
        vec![none, wide, slow],
        vec![wide, none, wide],
        vec![slow, wide, none],
    ];
    let measurements = Measurements::new(rows).unwrap();
    // 10 us + n ns against 30 us + n / 5 ns: equal at 25,000 bytes.
    for (bytes, through, microseconds) in [
        (0, None, 10),
        (10_000, None, 20),
        (25_000, None, 35),
        (30_000, Some(1), 36),
        (1_000_000, Some(1), 230),
    ] {
        let route = measurements.route(0, 2, bytes).unwrap();
        assert_eq!(route.through, through, "{bytes} bytes");
        assert_eq!(
            route.time,
            Duration::from_micros(microseconds),
            "{bytes} bytes"
        );
    }
    assert_eq!(measurements.route(0, 1, 1 << 30).unwrap().through, None);
    assert_eq!(measurements.route(1, 1, 1 << 30).unwrap().through, None);
    for (from, to) in [(3, 0), (0, 3), (usize::MAX, usize::MAX)] {
        let says = "the topology has 3";
        let route = measurements.route(from, to, 1);
        assert_error(route, |e| matches!(e, Error::OutOfRange(_)), says);
        let pair = measurements.pair(from, to);
        assert_error(pair, |e| matches!(e, Error::OutOfRange(_)), says);
    }
}

#[test]
fn a_route_on_one_device_is_one_transfer() {
    let rows = vec![
        vec![figures(0.1, 999), figures(100.0, 1)],
        vec![figures(100.0, 1); 2],
    ];
    let route = Measurements::new(rows)
        .unwrap()
        .route(0, 0, 1 << 20)
        .unwrap();
    assert_eq!(route.through, None);
}

#[test]
fn figures_that_cannot_be_are_refused() {
    let refused = |rows, says| {
        let measurements = Measurements::new(rows);
        assert_error(
            measurements,
            |e| matches!(e, Error::InvalidArgument(_)),
            says,
        );
    };
    let fine = figures(1.0, 1);
    refused(vec![], "at least one device");
    refused(vec![vec![fine, fine]], "device 0 of 1 has 2 figures");
    refused(
        vec![vec![fine, fine], vec![fine]],
        "device 1 of 2 has 1 figures",
    );
    for bandwidth in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let wrong = PairFigures { bandwidth, ..fine };
        refused(
            vec![vec![fine, fine], vec![wrong, fine]],
            "the bandwidth from 1 to 0 is",
        );
    }
    // A time that no `Duration` holds.
    let slowest = PairFigures {
        bandwidth: f64::MIN_POSITIVE,
        latency: Duration::MAX,
    };
    let route = Measurements::new(vec![vec![slowest; 2]; 2])
        .unwrap()
        .route(0, 1, u64::MAX);
    assert_eq!(route.unwrap().time, Duration::MAX);
}

fn any_figures() -> impl Strategy<Value = PairFigures> {
    let speed = prop_oneof![Just(1.0), 0.01..100.0];
    let latency = prop_oneof![Just(10), 0u64..1000];
    (speed, latency).prop_map(|(gigabytes, microseconds)| figures(gigabytes, microseconds))
}

fn any_rows() -> impl Strategy<Value = Vec<Vec<PairFigures>>> {
    (1usize..6).prop_flat_map(|count| {
        let row = prop::collection::vec(any_figures(), count);
        prop::collection::vec(row, count)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(256), failure_persistence: None, ..ProptestConfig::default() })]

    /// No path of one or two transfers, each timed by itself in seconds, is faster than the route; and the route takes the time that
    /// it says.
    #[test]
    fn no_path_is_faster_than_the_route(rows in any_rows(), bytes in 0u64..1 << 34) {
        let seconds = |path: &[usize]| -> f64 {
            let times = path.windows(2).map(|ends| {
                let pair = rows[ends[0]][ends[1]];
                pair.latency.as_secs_f64() + bytes as f64 / pair.bandwidth
            });
            times.sum()
        };
        let count = rows.len();
        let measurements = Measurements::new(rows.clone()).unwrap();
        for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
            let route = measurements.route(from, to, bytes).unwrap();
            let path = match route.through {
                Some(third) => vec![from, third, to],
                None => vec![from, to],
            };
            // Durations are rounded to nanoseconds.
            let rounding = 2e-9 + 1e-9 * seconds(&path);
            prop_assert!((seconds(&path) - route.time.as_secs_f64()).abs() <= rounding);
            prop_assert!(from != to || route.through.is_none());
            let thirds = (0..count).filter(|third| from != to && *third != from && *third != to);
            let paths = thirds.map(|third| vec![from, third, to]).chain([vec![from, to]]);
            for other in paths {
                prop_assert!(seconds(&path) <= seconds(&other) + rounding, "{path:?} {other:?}");
            }
        }
    }
}

//! Exchanges of several devices that are refused, held back, or fail on the way.
#![cfg(software_metal)]

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use metal_bridge::ObjectKind;
use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
use metal_bridge::devices::{Collective, Combine, Communicator};
use metal_bridge::memory::TransferKind;
use metal_bridge::ops::DataType;
use metal_bridge_test_support::{failures, in_child_with};

use crate::collectives::Ranks;
use crate::*;

/// Elements of a buffer.
const COUNT: usize = 1000;

const THREE: [(&str, &str); 2] = [
    ("SOFTWARE_METAL_DEVICES", "3"),
    ("SOFTWARE_METAL_UNIFIED", "0"),
];

/// A buffer a device, whose elements are the rank and one.
fn buffers(ranks: &Ranks) -> Vec<Buffer> {
    let one = |rank: usize| {
        let values = vec![rank as f32 + 1.0; COUNT];
        ranks.put(rank, bytemuck::cast_slice(&values), StorageMode::Private)
    };
    (0..ranks.devices.len()).map(one).collect()
}

fn all_reduce(ranks: &Ranks, buffers: &[Buffer]) -> Result<Collective, Error> {
    let buffers: Vec<&Buffer> = buffers.iter().collect();
    let communicator = &ranks.communicator;
    communicator.all_reduce(&buffers, DataType::F32, Combine::Sum)
}

/// Everything works, and gives what it should.
#[track_caller]
fn assert_sums(ranks: &Ranks) {
    let buffers = buffers(ranks);
    all_reduce(ranks, &buffers).unwrap().wait().unwrap();
    for (rank, buffer) in buffers.iter().enumerate() {
        let bytes = contents(ranks.queue(rank), buffer);
        assert!(bytemuck::cast_slice::<u8, f32>(&bytes) == [6.0; COUNT]);
    }
}

/// Waits until nothing of the exchanges is left but what is kept to use again.
#[track_caller]
fn wait_for_the_end(ranks: &Ranks) {
    for rank in 0..ranks.devices.len() {
        complete_nothing(ranks.queue(rank).command_queue());
        wait_for("memory to come back", || {
            let statistics = ranks.queue(rank).memory().statistics();
            statistics.buffers.bytes_in_use == 0 && statistics.staging.bytes_in_use == 0
        });
    }
    wait_for("the command buffers", || {
        Device::live_objects().live(ObjectKind::CommandBuffer) == 0
    });
}

/// Lets the first, the second, ... fail of what `inject` counts, until there is no further one. Gives the errors.
fn fail_each(ranks: &Ranks, inject: impl Fn(u64)) -> Vec<Error> {
    let mut errors = Vec::new();
    for nth in 1.. {
        let buffers = buffers(ranks);
        for rank in 0..buffers.len() {
            complete_nothing(ranks.queue(rank).command_queue());
            // What is kept could be freed for another attempt.
            ranks.queue(rank).memory().trim(Duration::ZERO);
        }
        inject(nth);
        let ended = all_reduce(ranks, &buffers).and_then(|collective| {
            let ended = collective.wait_timeout(LONG);
            assert!(collective.is_completed(), "failure {nth}");
            ended
        });
        failures::reset();
        drop(buffers);
        wait_for_the_end(ranks);
        assert_sums(ranks);
        match ended {
            Ok(()) => break,
            Err(error) => errors.push(error),
        }
    }
    errors
}

#[test]
fn a_device_that_fails_is_named_and_the_others_go_on() {
    let test = "collective_failures::a_device_that_fails_is_named_and_the_others_go_on";
    in_child_with(test, &THREE, || {
        let ranks = Ranks::all();
        let fail = |nth| failures::fail_command_buffer(nth, OUT_OF_MEMORY);
        let errors = fail_each(&ranks, fail);
        // At least one command buffer of each device in each of the four steps.
        assert!(errors.len() >= 12, "{} failures", errors.len());
        let mut named = [false; 3];
        for error in errors {
            assert!(matches!(error, Error::CommandBuffer(_)), "{error:?}");
            let message = error.to_string();
            for (rank, device) in ranks.devices.iter().enumerate() {
                let name = format!("on device {rank} ({})", device.name());
                named[rank] |= message.contains(&name);
            }
            assert!(message.contains("on device "), "{message}");
        }
        assert_eq!(named, [true; 3]);
    });
}

#[test]
fn lost_devices_are_errors() {
    let test = "collective_failures::lost_devices_are_errors";
    in_child_with(test, &THREE, || {
        let errors = fail_each(&Ranks::all(), failures::lose_device);
        assert!(errors.len() >= 12, "{} failures", errors.len());
        for error in errors {
            assert!(error.to_string().contains("on device "), "{error}");
        }
    });
}

#[test]
fn failed_allocations_are_errors() {
    let test = "collective_failures::failed_allocations_are_errors";
    in_child_with(test, &THREE, || {
        let errors = fail_each(&Ranks::all(), failures::fail_allocation);
        // The buffer for a copy on each device, and what copies go through.
        assert!(errors.len() >= 3, "{} failures", errors.len());
        for error in errors {
            assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}");
            assert!(error.to_string().contains("on device "), "{error}");
        }
    });
}

/// No device begins before the work that was committed to its own queue before has ended, and all end when it has.
#[test]
fn an_exchange_waits_for_each_queue() {
    let test = "collective_failures::an_exchange_waits_for_each_queue";
    in_child_with(test, &THREE, || {
        let ranks = Ranks::all();
        for held in 0..3 {
            let buffers = buffers(&ranks);
            let gate = hold(ranks.queue(held).command_queue());
            let collective = all_reduce(&ranks, &buffers).unwrap();
            let waited = collective.wait_timeout(SHORT);
            assert_error(waited, |e| matches!(e, Error::Timeout(_)), "on device ");
            assert!(!collective.is_completed());
            gate.set_signaled_value(1).unwrap();
            collective.wait_timeout(LONG).unwrap();
            drop(buffers);
            assert_sums(&ranks);
        }
    });
}

#[test]
fn threads_share_a_communicator() {
    let test = "collective_failures::threads_share_a_communicator";
    in_child_with(test, &THREE, || {
        let ranks = Ranks::all();
        thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| assert_sums(&ranks));
            }
        });
    });
}

/// A queue with fewer slots than an exchange needs, and a queue that does work of its own meanwhile.
#[test]
fn an_exchange_needs_only_one_slot_at_a_time() {
    let test = "collective_failures::an_exchange_needs_only_one_slot_at_a_time";
    in_child_with(test, &THREE, || {
        let devices = Device::all().unwrap();
        let queue = |device: &Device| {
            let queue = device.new_command_queue_with_max_command_buffer_count(1);
            Memory::new(device)?.transfer_queue(&queue?)
        };
        let queues: Vec<TransferQueue> = devices.iter().map(|d| queue(d).unwrap()).collect();
        let communicator = Communicator::with_queues(&queues).unwrap();
        assert_sums(&Ranks {
            communicator,
            devices,
        });
    });
}

/// Such a call could wait for a slot that becomes free when the callback returns, or for a thread that waits for one.
#[test]
fn callbacks_of_the_queues_cannot_exchange() {
    let test = "collective_failures::callbacks_of_the_queues_cannot_exchange";
    in_child_with(test, &THREE, || {
        let ranks = Arc::new(Ranks::all());
        let (say, said) = channel();
        let exchange = || {
            let (ranks, say) = (ranks.clone(), say.clone());
            move || {
                let buffers = buffers(&ranks);
                say.send(all_reduce(&ranks, &buffers)).unwrap();
            }
        };
        let ended = || said.recv_timeout(LONG).unwrap();
        for rank in 0..3 {
            let queue = ranks.queue(rank).command_queue();
            let says = format!("of the queue of device {rank}");
            let refused = |result| assert_error(result, |e| matches!(e, Error::Deadlock(_)), &says);
            queue.call_host_function(exchange()).unwrap();
            refused(ended());
            let mut commands = queue.command_buffer().unwrap();
            let handler = exchange();
            commands.add_completed_handler(move |_| handler());
            commands.commit().unwrap();
            refused(ended());
        }
        let other = ranks.devices[0].new_command_queue().unwrap();
        other.call_host_function(exchange()).unwrap();
        ended().unwrap().wait_timeout(LONG).unwrap();
    });
}

#[test]
fn bad_arguments_are_errors() {
    let (first, second) = (device().clone(), other_device().unwrap().clone());
    let communicator = Communicator::new(&[first.clone(), second.clone()]).unwrap();
    let [a, b] = [&first, &second].map(|d| d.new_buffer(12, StorageMode::Shared).unwrap());
    let [long, far] = [&first, &second].map(|d| d.new_buffer(24, StorageMode::Private).unwrap());
    let invalid: fn(&Error) -> bool = |error| matches!(error, Error::InvalidArgument(_));
    let wrong: fn(&Error) -> bool = |error| matches!(error, Error::WrongDevice(_));
    let range: fn(&Error) -> bool = |error| matches!(error, Error::OutOfRange(_));
    let misaligned: fn(&Error) -> bool = |error| matches!(error, Error::Misaligned(_));
    let reduce =
        |buffers: &[&Buffer], data_type| communicator.all_reduce(buffers, data_type, Combine::Sum);

    assert_error(Communicator::new(&[]), invalid, "at least one device");
    assert_error(communicator.queue(2), range, "the communicator has 2");
    let says = "there are 1 buffers for 2 devices";
    assert_error(communicator.broadcast(0, &[&a]), invalid, says);
    assert_error(reduce(&[&a], DataType::F32), invalid, says);
    assert_error(communicator.scatter(0, &a, &[&a]), invalid, says);
    let says = "there are 3 buffers for 2 devices";
    assert_error(communicator.gather(0, &[&a, &b, &b], &a), invalid, says);
    let says = "there are 0 destinations for 2 devices";
    assert_error(communicator.all_gather(&[&a, &b], &[]), invalid, says);

    let says = "there is no device 2";
    assert_error(communicator.broadcast(2, &[&a, &b]), range, says);
    assert_error(communicator.scatter(2, &long, &[&a, &b]), range, says);
    assert_error(communicator.gather(2, &[&a, &b], &long), range, says);

    let says = "buffers[0] belongs to Software Metal 2, and device 0 is Software Metal";
    assert_error(communicator.broadcast(0, &[&b, &a]), wrong, says);
    assert_error(reduce(&[&b, &a], DataType::F32), wrong, says);
    let says = "source belongs to Software Metal 2";
    assert_error(communicator.scatter(0, &far, &[&a, &b]), wrong, says);
    let says = "destination belongs to Software Metal, and device 1 is";
    assert_error(communicator.gather(1, &[&a, &b], &long), wrong, says);

    let says = "buffers[1] has 24 bytes, and buffers[0] has 12";
    assert_error(communicator.broadcast(0, &[&a, &far]), invalid, says);
    assert_error(reduce(&[&a, &far], DataType::F32), invalid, says);
    let says = "the parts have 36 bytes together, and the whole has 24";
    let other = first.new_buffer(24, StorageMode::Shared).unwrap();
    assert_error(communicator.scatter(0, &long, &[&a, &far]), invalid, says);
    assert_error(communicator.gather(0, &[&a, &far], &long), invalid, says);
    let all = communicator.all_gather(&[&other, &b], &[&long, &far]);
    assert_error(all, invalid, says);

    let says = "12 bytes are not a whole number of elements of i64";
    assert_error(reduce(&[&a, &b], DataType::I64), misaligned, says);
    let twice = Communicator::new(&[first.clone(), first.clone()]).unwrap();
    let says = "a buffer is there twice";
    assert_error(twice.broadcast(0, &[&a, &a]), invalid, says);
    let reduced = twice.all_reduce(&[&a, &a], DataType::F32, Combine::Sum);
    assert_error(reduced, invalid, says);
    let all = communicator.all_gather(&[&a, &b], &[&long, &b]);
    assert_error(all, invalid, "the whole has 12");

    // A guard that nobody else can end: nothing hangs, and the exchange works when it has gone.
    let guard = a.wait_write::<u8>().unwrap();
    let in_use = |error: &Error| matches!(error, Error::InUse(_));
    assert_error(communicator.broadcast(1, &[&a, &b]), in_use, "on device 0");
    drop(guard);
    let broadcast = communicator.broadcast(1, &[&a, &b]).unwrap();
    broadcast.wait_timeout(LONG).unwrap();
}

/// The statistics of each device's memory say what it has copied from whom, and by which route.
fn gathered_bytes_are_counted_by_pair(test: &str, peers: &str, kind: TransferKind) {
    let variables = [&THREE[..], &[("SOFTWARE_METAL_PEERS", peers)]].concat();
    in_child_with(test, &variables, || {
        let ranks = Ranks::all();
        let all = |length| -> Vec<Buffer> {
            let one = |rank| ranks.put(rank, &vec![0; length], StorageMode::Private);
            (0..3).map(one).collect()
        };
        let (parts, wholes) = (all(4000), all(12000));
        let [from, to] = [&parts, &wholes].map(|buffers| buffers.iter().collect::<Vec<_>>());
        let gathered = ranks.communicator.all_gather(&from, &to).unwrap();
        gathered.wait().unwrap();
        for rank in 0..3 {
            let memory = ranks.queue(rank).memory();
            let pairs = memory.pair_statistics();
            let [pair] = pairs[..] else {
                panic!("{pairs:?}")
            };
            let before = ranks.devices[(rank + 2) % 3].registry_id();
            assert!(pair.is_from_other && pair.other_registry_id == before);
            assert_eq!((pair.kind, pair.transfers.count), (kind, 2));
            assert_eq!(pair.transfers.bytes, 8000);
            assert_eq!(pair.transfers, memory.statistics().transfers(kind));
            memory.reset_statistics();
            assert_eq!(memory.pair_statistics(), []);
        }
    });
}

#[test]
fn bytes_through_views_are_counted_by_pair() {
    let test = "collective_failures::bytes_through_views_are_counted_by_pair";
    gathered_bytes_are_counted_by_pair(test, "1", TransferKind::Peer);
}

#[test]
fn staged_bytes_are_counted_by_pair() {
    let test = "collective_failures::staged_bytes_are_counted_by_pair";
    gathered_bytes_are_counted_by_pair(test, "0", TransferKind::PeerStaged);
}

/// Two queues of one GPU are two ranks.
#[test]
fn one_gpu_may_be_there_twice() {
    let devices = vec![
        device().clone(),
        device().clone(),
        other_device().unwrap().clone(),
    ];
    let communicator = Communicator::new(&devices).unwrap();
    assert_sums(&Ranks {
        communicator,
        devices,
    });
}

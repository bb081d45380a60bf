//! The two forms of operations, parts, and what happens to command buffers.

use std::time::Duration;

use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge::{Buffer, Error as MetalError};
use metal_bridge_distributed::{Communicator, Elements, Error};
use metal_bridge_test_support::block_on;
use metal_bridge_test_support::failures::{Raise, raise_in_commits};

use crate::ranks::{LONG, Ranks, failed, floats};

pub fn all(ranks: &Ranks) {
    one_command_buffer_holds_many_operations(ranks);
    what_comes_later_runs_beside_an_operation(ranks);
    parts_end_one_by_one(ranks);
    large_ones_are_whole(ranks);
    gathers_happen_in_the_buffer_itself(ranks);
    buffers_are_in_use_until_the_end(ranks);
    dropped_command_buffers_are_cancelled(ranks);
    exceptions_in_commits_hang_nobody(ranks);
    waits_that_cannot_end_are_refused(ranks);
    exchanges_are_futures(ranks);
    later_buffers_may_be_committed_first(ranks);
    barriers_wait_for_no_queue(ranks);
    arguments_are_checked(ranks);
    assert!(matches!(
        Communicator::world(),
        Err(Error::AlreadyInitialized(_))
    ));
    ranks.check_usable();
}

fn all_are(buffer: &Buffer, value: f32) {
    let values = buffer.wait_read::<f32>().unwrap();
    let other = values.iter().position(|other| *other != value);
    assert_eq!(
        other.map(|at| (at, values[at])),
        None,
        "all should be {value}"
    );
}

fn one_command_buffer_holds_many_operations(ranks: &Ranks) {
    let buffer = ranks.buffer(&[1.0; 3000]);
    let mut commands = ranks.queue.command_buffer().unwrap();
    let mut exchanges = Vec::new();
    for _ in 0..100 {
        let exchange = ranks
            .world
            .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Max, 1)
            .unwrap();
        exchange.encode_wait(&mut commands, 0).unwrap();
        exchanges.push(exchange);
        // Bytes of 1.0 and 2.0 in F32: 0x3f80, 0x4000.
        let mut blit = commands.blit_command_encoder().unwrap();
        blit.fill(&buffer, 0..400, 0x3f).unwrap();
        blit.end_encoding().unwrap();
    }
    let sum = ranks
        .world
        .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 2)
        .unwrap();
    sum.encode_wait(&mut commands, 1).unwrap();
    commands.commit().unwrap().wait_timeout(LONG).unwrap();
    exchanges.push(sum);
    exchanges
        .iter()
        .for_each(|exchange| exchange.wait().unwrap());
    let size = ranks.size() as f32;
    assert_eq!(buffer.wait_read::<f32>().unwrap()[100..], [size; 2900]);
}

fn what_comes_later_runs_beside_an_operation(ranks: &Ranks) {
    let (buffer, other) = (ranks.own_buffer(1000), ranks.own_buffer(10));
    let event = ranks.device.new_shared_event().unwrap();
    let mut commands = ranks.queue.command_buffer().unwrap();
    let exchange = ranks
        .world
        .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 1)
        .unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.fill(&other, 0..40, 0).unwrap();
    blit.end_encoding().unwrap();
    commands.encode_signal_event(&event, 1).unwrap();
    exchange.encode_wait(&mut commands, 0).unwrap();
    // The last rank commits only when the others' GPUs are past their fills.
    if ranks.rank() == ranks.size() - 1 {
        ranks.world.barrier().unwrap();
        commands.commit().unwrap();
    } else {
        commands.commit().unwrap();
        event.wait_until_signaled_value(1, LONG).unwrap();
        assert!(!exchange.is_completed());
        ranks.world.barrier().unwrap();
    }
    exchange.wait_timeout(LONG).unwrap();
    all_are(&buffer, ranks.sum());
}

fn parts_end_one_by_one(ranks: &Ranks) {
    for (count, parts) in [(100_001, 7), (5, 5), (3, 8), (0, 3), (1 << 20, 4)] {
        let buffer = ranks.own_buffer(count.max(1));
        let mut commands = ranks.queue.command_buffer().unwrap();
        let elements = Elements::new(&buffer, 0..count, DataType::F32);
        let exchange = ranks
            .world
            .encode_all_reduce(&mut commands, &elements, Combine::Sum, parts)
            .unwrap();
        assert_eq!(exchange.parts(), parts);
        for part in 0..parts {
            exchange.encode_wait(&mut commands, part).unwrap();
        }
        assert!(matches!(
            exchange.encode_wait(&mut commands, parts),
            Err(Error::InvalidArgument { .. })
        ));
        commands.commit().unwrap();
        exchange.wait_timeout(LONG).unwrap();
        assert!((0..parts).all(|part| matches!(exchange.part_result(part), Some(Ok(())))));
        assert!(exchange.part_result(parts).is_none());
        let expected = if count == 0 {
            ranks.rank() as f32 + 1.0
        } else {
            ranks.sum()
        };
        all_are(&buffer, expected);
    }
}

fn large_ones_are_whole(ranks: &Ranks) {
    let count = 3_000_001;
    let values: Vec<f32> = (0..count)
        .map(|index| (index % 1000) as f32 + ranks.rank() as f32)
        .collect();
    let buffer = ranks.buffer(&values);
    ranks.add_up(&buffer).unwrap();
    let size = ranks.size();
    let expected = |index: usize| (size * (index % 1000) + size * (size - 1) / 2) as f32;
    let sums = buffer.wait_read::<f32>().unwrap();
    assert_eq!(
        (0..count).find(|index| sums[*index] != expected(*index)),
        None
    );
}

fn gathers_happen_in_the_buffer_itself(ranks: &Ranks) {
    let (rank, size) = (ranks.rank(), ranks.size());
    for count in [1, 3, 10_000] {
        let buffer = ranks.own_buffer(count * size);
        let all = floats(&buffer);
        let own = Elements::new(&buffer, rank * count..(rank + 1) * count, DataType::F32);
        ranks
            .world
            .all_gather(&ranks.queue, &own, &all)
            .unwrap()
            .wait_timeout(LONG)
            .unwrap();
        let values = buffer.wait_read::<f32>().unwrap();
        assert!((0..count * size).all(|index| values[index] == (index / count) as f32 + 1.0));
        if size > 1 {
            let start = (rank * count + 1) % (count * (size - 1));
            let other = Elements::new(&buffer, start..start + count, DataType::F32);
            if start != rank * count {
                let refused = ranks.world.all_gather(&ranks.queue, &other, &all);
                assert!(
                    matches!(refused, Err(Error::InvalidArgument { .. })),
                    "{refused:?}"
                );
            }
        }
    }
}

fn buffers_are_in_use_until_the_end(ranks: &Ranks) {
    let (buffer, sent) = (ranks.own_buffer(20_000), ranks.own_buffer(50));
    let mut commands = ranks.queue.command_buffer().unwrap();
    let sum = ranks
        .world
        .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 1)
        .unwrap();
    assert!(matches!(
        buffer.wait_read::<f32>(),
        Err(MetalError::InUse(_))
    ));
    let sending = ranks
        .world
        .encode_broadcast(&mut commands, 0, &floats(&sent))
        .unwrap();
    let is_root = ranks.rank() == 0;
    assert_eq!(sent.try_read::<f32>().is_ok(), is_root);
    assert!(matches!(sent.try_write::<f32>(), Err(MetalError::InUse(_))));
    // Nobody waits on the GPU. Handles go at once.
    let work = commands.commit().unwrap();
    drop((sum, sending));
    work.wait_timeout(LONG).unwrap();
    drop(work);
    all_are(&buffer, ranks.sum());
    all_are(&sent, 1.0);
    // A guard keeps operations out.
    let guard = buffer.wait_read::<f32>().unwrap();
    let refused = ranks
        .world
        .all_reduce(&ranks.queue, &floats(&buffer), Combine::Sum);
    assert!(
        matches!(refused, Err(Error::Metal(MetalError::InUse(_)))),
        "{refused:?}"
    );
    drop(guard);
}

fn dropped_command_buffers_are_cancelled(ranks: &Ranks) {
    let buffer = ranks.own_buffer(10_000);
    let mut commands = ranks.queue.command_buffer().unwrap();
    let exchange = ranks
        .world
        .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 3)
        .unwrap();
    exchange.encode_wait(&mut commands, 2).unwrap();
    drop(commands);
    assert!(buffer.try_write::<f32>().is_ok());
    let error = failed(|| exchange.wait_timeout(LONG));
    assert!(matches!(error, Error::Cancelled { .. }), "{error}");
    ranks.check_usable();
}

fn exceptions_in_commits_hang_nobody(ranks: &Ranks) {
    for raise in [Raise::BeforeCommit, Raise::AfterCommit] {
        let buffer = ranks.own_buffer(10_000);
        let mut commands = ranks.queue.command_buffer().unwrap();
        let exchange = ranks
            .world
            .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 1)
            .unwrap();
        exchange.encode_wait(&mut commands, 0).unwrap();
        let committed = raise_in_commits(raise, || commands.commit());
        assert!(
            matches!(committed, Err(MetalError::Internal(_))),
            "{committed:?}"
        );
        let result = exchange.wait_timeout(LONG);
        match raise {
            Raise::BeforeCommit => {
                assert!(matches!(result, Err(Error::Cancelled { .. })), "{result:?}")
            }
            Raise::AfterCommit => {
                result.unwrap();
                all_are(&buffer, ranks.sum());
            }
        }
        buffer.write_timeout::<f32>(LONG).unwrap();
    }
    ranks.check_usable();
}

fn waits_that_cannot_end_are_refused(ranks: &Ranks) {
    let buffer = ranks.own_buffer(100);
    let mut commands = ranks.queue.command_buffer().unwrap();
    let exchange = ranks
        .world
        .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 1)
        .unwrap();
    let error = failed(|| exchange.wait());
    assert!(matches!(error, Error::Deadlock { .. }), "{error}");
    let error = failed(|| exchange.wait_timeout(Duration::ZERO));
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    exchange.encode_wait(&mut commands, 0).unwrap();

    // A host function before it, which waits for it.
    let (sender, result) = std::sync::mpsc::channel();
    let (opener, gate) = std::sync::mpsc::channel();
    let function = move || {
        let exchange: metal_bridge_distributed::Exchange = gate.recv().unwrap();
        sender.send(exchange.wait().unwrap_err()).unwrap();
        drop(exchange);
    };
    let function = ranks.queue.call_host_function(function).unwrap();
    let work = commands.commit().unwrap();
    opener.send(exchange).unwrap();
    let error = result.recv_timeout(LONG).unwrap();
    assert!(
        matches!(error, Error::Metal(MetalError::Deadlock(_))),
        "{error}"
    );
    function.wait_timeout(LONG).unwrap();
    work.wait_timeout(LONG).unwrap();
    all_are(&buffer, ranks.sum());
}

fn exchanges_are_futures(ranks: &Ranks) {
    let buffer = ranks.own_buffer(100_000);
    block_on(
        ranks
            .world
            .all_reduce(&ranks.queue, &floats(&buffer), Combine::Sum)
            .unwrap(),
    )
    .unwrap();
    all_are(&buffer, ranks.sum());
}

fn later_buffers_may_be_committed_first(ranks: &Ranks) {
    let (one, two) = (ranks.own_buffer(100), ranks.own_buffer(200));
    let mut first = ranks.queue.command_buffer().unwrap();
    let mut second = ranks.queue.command_buffer().unwrap();
    let encode = |commands: &mut _, buffer| {
        let exchange = ranks
            .world
            .encode_all_reduce(commands, &floats(buffer), Combine::Sum, 1)
            .unwrap();
        exchange.encode_wait(commands, 0).unwrap();
        exchange
    };
    let exchanges = [encode(&mut first, &one), encode(&mut second, &two)];
    second.commit().unwrap();
    first.commit().unwrap();
    exchanges
        .iter()
        .for_each(|exchange| exchange.wait_timeout(LONG).unwrap());
    all_are(&one, ranks.sum());
    all_are(&two, ranks.sum());
}

/// Operations that are committed and that the GPU has not come to, at some of the ranks.
fn barriers_wait_for_no_queue(ranks: &Ranks) {
    let buffer = ranks.own_buffer(100);
    let event = ranks.device.new_shared_event().unwrap();
    let mut commands = ranks.queue.command_buffer().unwrap();
    commands.encode_wait_for_event(&event, 1).unwrap();
    commands.commit().unwrap();
    let sum = ranks
        .world
        .all_reduce(&ranks.queue, &floats(&buffer), Combine::Sum)
        .unwrap();
    ranks.world.barrier().unwrap();
    event.set_signaled_value(1).unwrap();
    sum.wait_timeout(LONG).unwrap();
    all_are(&buffer, ranks.sum());
}

fn arguments_are_checked(ranks: &Ranks) {
    let (world, queue, size) = (&ranks.world, &ranks.queue, ranks.size());
    let buffer = ranks.own_buffer(100);
    let some = |start, end, data_type| Elements::new(&buffer, start..end, data_type);
    let sum = |elements: &Elements<'_>| world.all_reduce(queue, elements, Combine::Sum);
    let bytes = some(0, 10, DataType::I32);
    let mut commands = queue.command_buffer().unwrap();
    let refused = [
        sum(&some(0, 101, DataType::F32)),
        sum(&some(2, 1, DataType::F32)),
        sum(&some(usize::MAX, usize::MAX, DataType::F16)),
        sum(&bytes),
        world.encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 0),
        world.encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 65),
        world.broadcast(queue, size, &bytes),
        world.send(queue, size, &bytes),
        world.send(queue, ranks.rank(), &bytes),
        world.receive(queue, ranks.rank(), &bytes),
        world.all_gather(
            queue,
            &some(0, 1, DataType::F16),
            &some(10, 20, DataType::F32),
        ),
        world.reduce_scatter(
            queue,
            &some(0, 10, DataType::F32),
            &some(9, 11, DataType::F32),
            Combine::Min,
        ),
    ];
    for result in refused {
        assert!(
            matches!(result, Err(Error::InvalidArgument { .. })),
            "{result:?}"
        );
    }
    let private = ranks
        .device
        .new_buffer(400, metal_bridge::StorageMode::Private)
        .unwrap();
    let refused = sum(&floats(&private));
    assert!(
        matches!(refused, Err(Error::Metal(MetalError::NotVisible(_)))),
        "{refused:?}"
    );
    ranks.check_usable();
}

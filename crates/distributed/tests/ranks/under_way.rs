//! Many operations at once, threads that call at once, and wakers that panic.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::{pin, thread};

use metal_bridge::devices::Combine;

use crate::ranks::{LONG, Ranks, floats};

pub fn all(ranks: &Ranks) {
    more_operations_than_tags_do_not_mix(ranks);
    threads_may_split_at_once(ranks);
    a_panic_of_a_waker_ends_with_it(ranks);
    ranks.check_usable();
}

/// Parts of more bytes than go along with a header.
fn more_operations_than_tags_do_not_mix(ranks: &Ranks) {
    const PARTS: usize = 64;
    const COUNT: usize = PARTS * 5000;
    for round in 0..3 {
        let buffers = [1.0, 100.0, 10_000.0].map(|factor| {
            let value = factor * (ranks.rank() + 1 + round) as f32;
            (factor, ranks.buffer(&vec![value; COUNT]))
        });
        let mut commands = ranks.queue.command_buffer().unwrap();
        let mut exchanges = Vec::new();
        for (_, buffer) in &buffers {
            let all = floats(buffer);
            let exchange = ranks
                .world
                .encode_all_reduce(&mut commands, &all, Combine::Sum, PARTS)
                .unwrap();
            exchanges.push(exchange);
        }
        for exchange in &exchanges {
            exchange.encode_wait(&mut commands, PARTS - 1).unwrap();
        }
        commands.commit().unwrap();
        for exchange in &exchanges {
            exchange.wait_timeout(LONG).unwrap();
        }
        let sum = ranks.sum() + (ranks.size() * round) as f32;
        for (factor, buffer) in &buffers {
            let found = buffer.wait_read::<f32>().unwrap();
            assert!(found.iter().all(|value| *value == sum * factor));
        }
    }
}

fn threads_may_split_at_once(ranks: &Ranks) {
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let group = ranks.world.split(Some(0), 0).unwrap().expect("a group");
                let queue = ranks.device.new_command_queue().unwrap();
                let buffer = ranks.own_buffer(10_000);
                let sum = group.all_reduce(&queue, &floats(&buffer), Combine::Sum);
                sum.unwrap().wait_timeout(LONG).unwrap();
                let found = buffer.wait_read::<f32>().unwrap();
                assert!(found.iter().all(|value| *value == ranks.sum()));
            });
        }
    });
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        // A panic that prints nothing.
        std::panic::resume_unwind(Box::new("a waker of the test"));
    }
}

fn a_panic_of_a_waker_ends_with_it(ranks: &Ranks) {
    let event = ranks.device.new_shared_event().unwrap();
    let mut commands = ranks.queue.command_buffer().unwrap();
    commands.encode_wait_for_event(&event, 1).unwrap();
    commands.commit().unwrap();
    let buffer = ranks.own_buffer(10_000);
    let sum = ranks
        .world
        .all_reduce(&ranks.queue, &floats(&buffer), Combine::Sum)
        .unwrap();
    let waker = Waker::from(Arc::new(Panics));
    let mut future = pin::pin!(IntoFuture::into_future(sum));
    let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(polled, Poll::Pending));
    event.set_signaled_value(1).unwrap();
    ranks.world.barrier().unwrap();
    let found = buffer.wait_read::<f32>().unwrap();
    assert!(found.iter().all(|value| *value == ranks.sum()));
}

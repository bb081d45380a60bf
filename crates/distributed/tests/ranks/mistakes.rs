//! Ranks that do not do the same: every rank gets an error that names both sides, and the communicator goes on.

use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge_distributed::{Elements, Error, Exchange, Result};

use crate::ranks::{LONG, Ranks};

pub fn all(ranks: &Ranks) {
    let buffer = ranks.own_buffer(60_000);
    let (world, queue) = (&ranks.world, &ranks.queue);
    let part = |end, data_type| Elements::new(&buffer, 0..end, data_type);
    let is_odd = ranks.rank() == ranks.size() - 1;
    let sum = |elements| world.all_reduce(queue, &elements, Combine::Sum);

    // Few elements, which go with the headers, and many.
    for count in [10, 50_000] {
        let ours = || sum(part(count, DataType::F32));
        disagree(
            ranks,
            is_odd,
            &ours,
            &|| sum(part(count + 1, DataType::F32)),
            &["all_reduce of", &format!("{} f32", count + 1)],
        );
        disagree(
            ranks,
            is_odd,
            &ours,
            &|| sum(part(count, DataType::F16)),
            &["f16", "f32"],
        );
        disagree(
            ranks,
            is_odd,
            &ours,
            &|| world.all_reduce(queue, &part(count, DataType::F32), Combine::Max),
            &["sum", "largest"],
        );
        disagree(
            ranks,
            is_odd,
            &ours,
            &|| world.broadcast(queue, 0, &part(count, DataType::F32)),
            &["all_reduce", "broadcast"],
        );
        let from = |root| move || world.broadcast(queue, root, &part(count, DataType::F32));
        disagree(
            ranks,
            is_odd,
            &from(0),
            &from(1),
            &["from rank 0", "from rank 1"],
        );
        // A part that is missing, and one too many.
        let own = Elements::new(&buffer, 55_000..55_010, DataType::F32);
        let less = Elements::new(&buffer, 55_000..55_009, DataType::F32);
        let all = part(10 * ranks.size(), DataType::F32);
        disagree(
            ranks,
            is_odd,
            &|| world.all_gather(queue, &own, &all),
            &|| world.all_gather(queue, &less, &all),
            &["parts of"],
        );
    }
    one_rank_skips_an_operation(ranks);
    pairs_disagree(ranks);
}

/// The last rank does another thing than the others.
fn disagree(
    ranks: &Ranks,
    is_odd: bool,
    ours: &dyn Fn() -> Result<Exchange>,
    theirs: &dyn Fn() -> Result<Exchange>,
    named: &[&str],
) {
    let exchange = if is_odd { theirs() } else { ours() };
    let error = exchange.unwrap().wait_timeout(LONG).expect_err("an error");
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    let text = error.to_string();
    assert!(
        named.iter().all(|name| text.contains(name)),
        "{text} should name {named:?}"
    );
    ranks.check_usable();
}

/// The others' next operation of the same kind is not taken for the one that is missing.
fn one_rank_skips_an_operation(ranks: &Ranks) {
    let buffer = ranks.own_buffer(10);
    if ranks.rank() == 0 {
        // Numbered, and never committed.
        let mut commands = ranks.queue.command_buffer().unwrap();
        let elements = Elements::new(&buffer, 0..10, DataType::F32);
        let skipped = ranks
            .world
            .encode_all_reduce(&mut commands, &elements, Combine::Sum, 1);
        drop(skipped.unwrap());
    }
    let error = ranks.add_up(&buffer).expect_err("an error");
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    // The numbers agree again when the others have skipped one, too.
    if ranks.rank() != 0 {
        let mut commands = ranks.queue.command_buffer().unwrap();
        let elements = Elements::new(&buffer, 0..10, DataType::F32);
        let skipped = ranks
            .world
            .encode_all_reduce(&mut commands, &elements, Combine::Sum, 1);
        drop(skipped.unwrap());
    }
    ranks.check_usable();
}

fn pairs_disagree(ranks: &Ranks) {
    if ranks.rank() > 1 {
        return;
    }
    let buffer = ranks.own_buffer(60_000);
    let (world, queue, other) = (&ranks.world, &ranks.queue, 1 - ranks.rank());
    let send = |count| {
        world.send(
            queue,
            other,
            &Elements::new(&buffer, 0..count, DataType::F32),
        )
    };
    let receive = |count| {
        world.receive(
            queue,
            other,
            &Elements::new(&buffer, 0..count, DataType::F32),
        )
    };
    for (first, second) in [(10, 11), (50_000, 10), (10, 50_000), (50_000, 50_001)] {
        let exchange = if other == 1 {
            send(first)
        } else {
            receive(second)
        };
        let error = exchange.unwrap().wait_timeout(LONG).expect_err("an error");
        assert!(
            matches!(error, Error::Mismatch { rank, .. } if rank == other),
            "{error}"
        );
    }
    for exchange in [send(10), receive(50_000)] {
        let error = exchange.unwrap().wait_timeout(LONG).expect_err("an error");
        assert!(
            matches!(error, Error::Mismatch { rank, .. } if rank == other),
            "{error}"
        );
    }
    let exchange = if other == 1 {
        send(50_000)
    } else {
        receive(50_000)
    };
    exchange.unwrap().wait_timeout(LONG).unwrap();
}

//! Ranks that are slow, leave, abort, or are killed.

use std::thread;
use std::time::{Duration, Instant};

use metal_bridge::command_buffer_error::OUT_OF_MEMORY;
use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;
use metal_bridge_distributed::{Elements, Error};
use metal_bridge_test_support::failures as injected;

use crate::ranks::{LONG, Ranks, SHORT, failed, floats};

pub fn slow_rank(ranks: &Ranks) {
    let buffer = ranks.own_buffer(100_000);
    for slow in 0..ranks.size() {
        if ranks.rank() == slow {
            thread::sleep(Duration::from_millis(300));
        }
        ranks.add_up(&buffer).unwrap();
        ranks.world.barrier().unwrap();
    }
}

/// A GPU that fails before an operation is named at all ranks, and the next operation works.
pub fn gpu(ranks: &Ranks) {
    let buffer = ranks.own_buffer(50_000);
    for victim in 0..ranks.size() {
        for count in [10, 50_000] {
            if ranks.rank() == victim {
                injected::fail_command_buffer(1, OUT_OF_MEMORY);
            }
            let elements = Elements::new(&buffer, 0..count, DataType::F32);
            let exchange = ranks
                .world
                .all_reduce(&ranks.queue, &elements, Combine::Sum)
                .unwrap();
            let error = failed(|| exchange.wait_timeout(LONG));
            assert!(
                matches!(error, Error::Failed { rank, .. } if rank == victim),
                "{error}"
            );
            injected::reset();
            buffer.write_timeout::<f32>(LONG).unwrap();
            ranks.check_usable();
        }
    }
}

pub fn abort(ranks: &Ranks) {
    let buffer = ranks.own_buffer(50_000);
    if ranks.rank() == 1 {
        ranks.world.abort("the model is another one");
    }
    let error = failed(|| ranks.add_up(&buffer));
    check_failed(&error, 1);
    assert!(
        error.to_string().contains("the model is another one"),
        "{error}"
    );
    // And later ones.
    check_failed(&failed(|| ranks.world.barrier()), 1);
    check_failed(&failed(|| ranks.add_up(&buffer)), 1);
    ranks.check_device(&buffer);
}

/// A rank that has dropped its communicators is missed at once.
pub fn leave(ranks: &Ranks) {
    let half = ranks.world.split(Some(0), 0).unwrap().expect("a color");
    if ranks.rank() == 1 {
        // This rank's `Ranks` keeps the world; it only ends when the process does. So the process ends here.
        ranks.passed();
        drop(half);
        leave_world();
    }
    let buffer = ranks.own_buffer(50_000);
    let start = Instant::now();
    let all = floats(&buffer);
    let exchange = half.all_reduce(&ranks.queue, &all, Combine::Sum).unwrap();
    let error = failed(|| exchange.wait_timeout(LONG));
    assert!(start.elapsed() < LONG / 4);
    match error {
        Error::Left { rank: 1, .. } | Error::Failed { rank: 1, .. } => {}
        other => panic!("{other}"),
    }
    ranks.check_device(&buffer);
}

/// Ends the process as a panic of its main thread does, by unwinding.
fn leave_world() -> ! {
    std::panic::resume_unwind(Box::new("the rank leaves"));
}

/// A rank that does not come is named by each of the others.
pub fn timeout(ranks: &Ranks) {
    ranks.world.set_timeout(Some(SHORT));
    let buffer = ranks.own_buffer(50_000);
    if ranks.rank() == 1 {
        thread::sleep(SHORT * 3);
        let error = failed(|| ranks.world.barrier());
        check_failed(&error, 1);
    } else {
        let error = failed(|| ranks.add_up(&buffer));
        check_named(&error, 1);
    }
    ranks.check_device(&buffer);
}

/// A rank that comes too late: the others have given up, and it does, too.
pub fn late(ranks: &Ranks) {
    ranks.world.set_timeout(Some(SHORT));
    let buffer = ranks.own_buffer(50_000);
    let mut commands = ranks.queue.command_buffer().unwrap();
    let exchange = ranks
        .world
        .encode_all_reduce(&mut commands, &floats(&buffer), Combine::Sum, 4)
        .unwrap();
    exchange.encode_wait(&mut commands, 3).unwrap();
    if ranks.rank() == 0 {
        thread::sleep(SHORT * 2);
    }
    let work = commands.commit().unwrap();
    check_named(&failed(|| exchange.wait_timeout(LONG)), 0);
    // The command buffer goes on.
    work.wait_timeout(LONG).unwrap();
    buffer.write_timeout::<f32>(LONG).unwrap();
}

pub fn killed_before(ranks: &Ranks) {
    ranks.world.set_timeout(Some(SHORT));
    let buffer = ranks.own_buffer(50_000);
    if ranks.rank() == 0 {
        kill();
    }
    check_named(&failed(|| ranks.add_up(&buffer)), 0);
    ranks.check_device(&buffer);
}

pub fn killed_while_it_waits(ranks: &Ranks) {
    ranks.world.set_timeout(Some(SHORT));
    let buffer = ranks.own_buffer(50_000);
    let last = ranks.size() - 1;
    if ranks.rank() == last {
        let _exchange = ranks
            .world
            .all_reduce(&ranks.queue, &floats(&buffer), Combine::Sum)
            .unwrap();
        thread::sleep(Duration::from_millis(100));
        kill();
    }
    thread::sleep(Duration::from_millis(500));
    // The header of the dead has come; its data may not. Later operations miss it.
    let errors = (0..3).find_map(|_| ranks.add_up(&buffer).err());
    check_named(&errors.expect("an error"), last);
    ranks.check_device(&buffer);
}

pub fn killed_in_a_transfer(ranks: &Ranks) {
    ranks.world.set_timeout(Some(SHORT));
    let count = 4 << 20;
    let (buffer, other) = (ranks.own_buffer(count), ranks.own_buffer(100));
    if ranks.rank() == 0 {
        thread::spawn(|| {
            thread::sleep(Duration::from_millis(120));
            kill();
        });
    }
    let error = loop {
        if let Err(error) = ranks.add_up(&buffer) {
            break error;
        }
    };
    check_named(&error, 0);
    // What MPI may still write is refused, not waited for.
    let start = Instant::now();
    match buffer.wait_write::<f32>() {
        Ok(_) | Err(metal_bridge::Error::InUse(_)) => {}
        Err(other) => panic!("{other}"),
    }
    assert!(start.elapsed() < LONG / 4);
    ranks.check_device(&other);
}

fn check_failed(error: &Error, victim: usize) {
    assert!(
        matches!(error, Error::Failed { rank, .. } if *rank == victim),
        "{error}"
    );
}

/// The error is that `victim` has not come, as this rank or another one has found out.
fn check_named(error: &Error, victim: usize) {
    match error {
        Error::Timeout { missing, .. } if missing.contains(&victim) => {}
        Error::Failed { rank, .. } | Error::Left { rank, .. } if *rank == victim => {}
        other => panic!("{other} should name rank {victim}"),
    }
    assert!(error.to_string().contains("all_reduce"), "{error}");
}

fn kill() {
    // SAFETY: a signal to this process itself.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    thread::sleep(LONG);
}

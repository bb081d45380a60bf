//! Buffers that a command buffer lends to code outside of Metal.

use std::cmp::Ordering;
use std::thread;

use metal_bridge::{Buffer, CommandBuffer, CommandQueue, Error, Loan, SharedEvent, StorageMode};
use metal_bridge_test_support::{LONG, SHORT, assert_error, device, in_time, queue};

fn fails<T>(result: metal_bridge::Result<T>, is: fn(&Error) -> bool) {
    assert_error(result, is, "");
}

fn buffer() -> Buffer {
    let zeroes = [0u32; 16];
    device()
        .new_buffer_with_data(&zeroes, StorageMode::Shared)
        .unwrap()
}

/// A command buffer that lends `buffer` and waits for the event.
fn waiting(queue: &CommandQueue, buffer: &Buffer) -> (CommandBuffer, Loan, SharedEvent) {
    let event = device().new_shared_event().unwrap();
    let mut commands = queue.command_buffer().unwrap();
    let loan = commands.lend_to_write(buffer).unwrap();
    commands.encode_wait_for_event(&event, 1).unwrap();
    (commands, loan, event)
}

#[test]
fn what_a_loan_writes_comes_before_what_waits_for_it() {
    let (queue, buffer, copy) = (queue(), buffer(), buffer());
    let (mut commands, loan, event) = waiting(&queue, &buffer);
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.copy(&buffer, 0, &copy, 0, 64).unwrap();
    blit.end_encoding().unwrap();
    let work = commands.commit().unwrap();
    assert!(loan.is_committed() && !loan.has_failed());
    thread::spawn(move || {
        // SAFETY: 16 words, which the command buffer reads after the signal.
        unsafe { loan.contents().cast::<u32>().as_ptr().write(7) };
        event.set_signaled_value(1).unwrap();
    });
    work.wait_timeout(LONG).unwrap();
    assert_eq!(copy.wait_read::<u32>().unwrap()[..2], [7, 0]);
}

#[test]
fn a_loan_outlasts_its_command_buffer() {
    let (queue, buffer) = (queue(), buffer());
    let (commands, loan, event) = waiting(&queue, &buffer);
    fails(buffer.wait_read::<u32>(), |e| matches!(e, Error::InUse(_)));
    event.set_signaled_value(1).unwrap();
    commands.commit().unwrap().wait_timeout(LONG).unwrap();
    fails(buffer.try_read::<u32>(), |e| matches!(e, Error::InUse(_)));
    fails(buffer.read_timeout::<u32>(SHORT), |e| {
        matches!(e, Error::Timeout(_))
    });
    // The GPU may use it: nobody but events orders the two.
    let mut commands = queue.command_buffer().unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.fill(&buffer, 0..64, 1).unwrap();
    blit.end_encoding().unwrap();
    commands.commit().unwrap().wait_timeout(LONG).unwrap();
    fails(buffer.try_write::<u32>(), |e| matches!(e, Error::InUse(_)));
    drop(loan);
    buffer.try_write::<u32>().unwrap();
}

#[test]
fn a_loan_that_ends_first_leaves_the_buffer_in_use() {
    let (queue, buffer) = (queue(), buffer());
    let (commands, loan, event) = waiting(&queue, &buffer);
    let work = commands.commit().unwrap();
    drop(loan);
    fails(buffer.try_read::<u32>(), |e| matches!(e, Error::InUse(_)));
    event.set_signaled_value(1).unwrap();
    work.wait_timeout(LONG).unwrap();
    buffer.try_write::<u32>().unwrap();
}

#[test]
fn a_dropped_command_buffer_ends_its_loans() {
    let (queue, buffer) = (queue(), buffer());
    let (commands, loan, _event) = waiting(&queue, &buffer);
    assert!(loan.is_recorded() && !loan.is_committed());
    drop(commands);
    assert!(!loan.is_recorded() && !loan.is_committed());
    buffer.try_write::<u32>().unwrap();
    drop(loan);
    buffer.try_write::<u32>().unwrap();
}

#[test]
fn an_overdue_loan_refuses_those_who_wait_already() {
    let (queue, buffer) = (queue(), buffer());
    let (commands, loan, event) = waiting(&queue, &buffer);
    event.set_signaled_value(1).unwrap();
    commands.commit().unwrap().wait_timeout(LONG).unwrap();
    thread::scope(|scope| {
        let waiter =
            scope.spawn(|| fails(buffer.wait_read::<u32>(), |e| matches!(e, Error::InUse(_))));
        thread::sleep(SHORT);
        loan.set_overdue();
        waiter.join().unwrap();
    });
    fails(buffer.wait_write::<u32>(), |e| matches!(e, Error::InUse(_)));
    fails(buffer.wait_until_idle(None), |e| {
        matches!(e, Error::InUse(_))
    });
    drop(loan);
    buffer.try_write::<u32>().unwrap();
    in_time(move || buffer.wait_until_idle(None).unwrap());
}

#[test]
fn readers_share_a_loan_to_read() {
    let (queue, buffer) = (queue(), buffer());
    let mut commands = queue.command_buffer().unwrap();
    let loan = commands.lend_to_read(&buffer).unwrap();
    drop(buffer.try_read::<u32>().unwrap());
    fails(buffer.try_write::<u32>(), |e| matches!(e, Error::InUse(_)));
    commands.commit().unwrap().wait_timeout(LONG).unwrap();
    drop(buffer.try_read::<u32>().unwrap());
    fails(buffer.try_write::<u32>(), |e| matches!(e, Error::InUse(_)));
    drop(loan);
    buffer.try_write::<u32>().unwrap();
}

#[test]
fn only_shared_memory_without_guards_is_lent() {
    let (queue, buffer) = (queue(), buffer());
    let mut commands = queue.command_buffer().unwrap();
    for mode in [StorageMode::Private, StorageMode::Managed] {
        let other = device().new_buffer(64, mode).unwrap();
        fails(commands.lend_to_write(&other), |e| {
            matches!(e, Error::NotVisible(_))
        });
    }
    let guard = buffer.try_read::<u32>().unwrap();
    fails(commands.lend_to_write(&buffer), |e| {
        matches!(e, Error::InUse(_))
    });
    commands.lend_to_read(&buffer).unwrap();
    drop(guard);
    commands.lend_to_write(&buffer).unwrap();
}

#[test]
fn loans_have_the_order_of_their_queue() {
    let (queue, other, buffer) = (queue(), queue(), buffer());
    let (first, a, _) = waiting(&queue, &buffer);
    let (second, b, _) = waiting(&queue, &buffer);
    let (third, c, _) = waiting(&other, &buffer);
    assert_eq!(a.order(&b), None);
    let signal = |commands: CommandBuffer| commands.commit();
    // Nobody can signal their events any more.
    fails(signal(second), |e| matches!(e, Error::Deadlock(_)));
    drop((first, third));
    let commit = |queue: &CommandQueue| {
        let mut commands = queue.command_buffer().unwrap();
        let loan = commands.lend_to_read(&buffer).unwrap();
        commands.commit().unwrap();
        loan
    };
    drop((a, b, c));
    let (a, b, c) = (commit(&queue), commit(&queue), commit(&other));
    assert_eq!(a.order(&b), Some(Ordering::Less));
    assert_eq!(b.order(&a), Some(Ordering::Greater));
    assert_eq!(a.order(&a), Some(Ordering::Equal));
    assert_eq!(a.order(&c), None);
}

#[test]
fn a_wait_for_a_loan_that_cannot_end_is_refused() {
    let (queue, buffer) = (queue(), buffer());
    let (commands, loan, event) = waiting(&queue, &buffer);
    loan.check_wait("test").unwrap();
    let (opener, gate) = std::sync::mpsc::channel::<Loan>();
    let function = move || {
        let loan = gate.recv().unwrap();
        assert!(matches!(loan.check_wait("test"), Err(Error::Deadlock(_))));
        event.set_signaled_value(1).unwrap();
    };
    queue.call_host_function(function).unwrap();
    let work = commands.commit().unwrap();
    opener.send(loan).unwrap();
    work.wait_timeout(LONG).unwrap();
}

//! Host functions: the CPU's position in a queue's order.

use std::sync::mpsc;
use std::thread;

use metal_bridge_test_support::block_on;

use crate::*;

#[test]
fn a_host_function_has_its_position() {
    let (transfers, target) = (transfers(), buffer(16, StorageMode::Private));
    let queue = transfers.command_queue();
    let (sender, receiver) = mpsc::channel();
    let gate = hold(queue);
    transfers.fill(target.range(0..16), 1u8).commit().unwrap();
    let (entered, leave) = (sender.clone(), device().new_shared_event().unwrap());
    let wait = leave.clone();
    let called = queue
        .call_host_function(move || {
            entered.send("called").unwrap();
            wait.wait_until_signaled_value(1, LONG).unwrap();
        })
        .unwrap();
    let after = transfers.fill(target.range(0..16), 2u8).commit().unwrap();
    assert!(receiver.recv_timeout(SHORT).is_err());
    gate.set_signaled_value(1).unwrap();
    assert_eq!(receiver.recv_timeout(LONG).unwrap(), "called");
    // It has not returned, so nothing later begins.
    assert_error(
        called.wait_timeout(SHORT),
        |e| matches!(e, Error::Timeout(_)),
        "",
    );
    assert!(!after.is_completed());
    leave.set_signaled_value(1).unwrap();
    called.wait().unwrap();
    block_on(after).unwrap();
    block_on(called).unwrap();
    assert_eq!(contents(&transfers, &target), [2; 16]);
}

#[test]
fn host_functions_keep_their_order() {
    let queue = queue();
    let (sender, receiver) = mpsc::channel();
    let mut last = None;
    for number in 0..200 {
        let sender = sender.clone();
        let function = move || sender.send(number).unwrap();
        last = Some(queue.call_host_function(function).unwrap());
    }
    last.unwrap().wait().unwrap();
    assert!(receiver.try_iter().eq(0..200));
}

#[test]
fn a_panic_of_a_host_function_is_its_own() {
    let queue = queue();
    let called = queue
        .call_host_function(|| panic!("expected: the test's host function panics"))
        .unwrap();
    called.wait().unwrap();
    complete_nothing(&queue);
}

#[test]
fn a_host_function_may_commit_work() {
    let (transfers, target) = (transfers(), buffer(16, StorageMode::Private));
    let (inner, to, (sender, receiver)) = (transfers.clone(), target.clone(), mpsc::channel());
    let function = move || {
        let filled = inner.fill(to.range(0..16), 5u8).commit().unwrap();
        sender.send(filled).unwrap();
    };
    transfers
        .command_queue()
        .call_host_function(function)
        .unwrap();
    receiver.recv_timeout(LONG).unwrap().wait().unwrap();
    assert_eq!(contents(&transfers, &target), [5; 16]);
}

#[test]
fn a_dropped_handle_does_not_cancel_its_function() {
    let (sender, receiver) = mpsc::channel();
    let queue = queue();
    let gate = hold(&queue);
    drop(queue.call_host_function(move || sender.send(thread::current().id()).unwrap()));
    drop(queue);
    gate.set_signaled_value(1).unwrap();
    assert_ne!(receiver.recv_timeout(LONG).unwrap(), thread::current().id());
}

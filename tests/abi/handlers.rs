//! Completion handlers over the C ABI: told once of a commit that succeeds, and given back by one that fails.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metal_bridge::sys::{self, CompletionHandler, check, create};
use metal_bridge_test_support::wait_for;

#[derive(Default)]
struct Told(AtomicUsize);

impl CompletionHandler for Told {
    unsafe fn complete(&self, completion: &sys::mtb_completion) {
        assert_eq!(completion.status, sys::MTB_COMMAND_BUFFER_COMPLETED);
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// How often the handler was told, once nobody else has it.
#[track_caller]
fn times_told(handler: &Arc<Told>) -> usize {
    wait_for("the handler's release", || Arc::strong_count(handler) == 1);
    handler.0.load(Ordering::Relaxed)
}

#[test]
fn a_handler_of_a_commit_that_fails_is_given_back() {
    let handler = Arc::new(Told::default());
    let mut error = ptr::null_mut();
    // SAFETY: NULL is refused, with an error or without a pointer to one.
    unsafe {
        let (nothing, nowhere) = (ptr::null_mut(), ptr::null_mut());
        assert!(sys::transfer_commit_with_handler(nothing, 0, &handler, nowhere).is_null());
        assert_eq!(Arc::strong_count(&handler), 1);
        assert!(sys::transfer_commit_with_handler(nothing, 0, &handler, &mut error).is_null());
        assert_eq!(
            sys::OwnedError::take(error).status,
            sys::MTB_INVALID_ARGUMENT
        );
        assert_eq!(Arc::strong_count(&handler), 1);
        let status = sys::commit_with_handler(ptr::null_mut(), &handler, ptr::null_mut());
        assert_eq!(status, sys::MTB_INVALID_ARGUMENT);
    }
    assert_eq!(Arc::strong_count(&handler), 1);
    assert_eq!(times_told(&handler), 0);
}

#[test]
fn a_handler_is_told_once_of_each_commit() -> Result<(), sys::OwnedError> {
    let handler = Arc::new(Told::default());
    // SAFETY: the objects are live, and this thread's; each call returns an owned object, or NULL and an owned error.
    unsafe {
        let device = create(|error| sys::mtb_device_create_default(error))?;
        let queue = create(|error| sys::mtb_command_queue_create(device.as_ptr(), 0, error))?;
        let memory = create(|error| sys::mtb_memory_create(device.as_ptr(), ptr::null(), error))?;
        let transfer =
            create(|error| sys::mtb_transfer_create(memory.as_ptr(), queue.as_ptr(), error))?;
        let sent = create(|error| {
            let timeout = sys::MTB_SLOT_TIMEOUT;
            sys::transfer_commit_with_handler(transfer.as_ptr(), timeout, &handler, error)
        })?;
        let commands = create(|error| {
            let references = sys::MTB_REFERENCES_RETAINED;
            sys::mtb_command_buffer_create(queue.as_ptr(), references, sys::MTB_FOREVER, error)
        })?;
        check(|error| sys::commit_with_handler(commands.as_ptr(), &handler, error))?;
        for committed in [sent, commands] {
            check(|error| sys::mtb_command_buffer_wait(committed.as_ptr(), error))?;
        }
    }
    assert_eq!(times_told(&handler), 2);
    Ok(())
}

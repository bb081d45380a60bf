//! Completion handlers as Rust values, for all who commit through the C ABI.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::callback::contain_panic;
use super::*;

/// What is told how a command buffer ended.
pub trait CompletionHandler: Send + Sync + 'static {
    /// Called once, on a thread of Metal's. A panic ends there.
    ///
    /// # Safety
    ///
    /// The error of `completion` is NULL or lives during the call.
    unsafe fn complete(&self, completion: &mtb_completion);
}

/// A reference to `handler`: a context for [`complete`] and [`release_handler`].
fn handler_context<H: CompletionHandler>(handler: &Arc<H>) -> *mut c_void {
    Arc::into_raw(handler.clone()).cast_mut().cast()
}

/// A completion callback.
///
/// # Safety
///
/// The completion is one that the bridge lends for the call; the context is the address of a live handler of this type.
pub unsafe extern "C" fn complete<H: CompletionHandler>(
    completion: *const mtb_completion,
    context: *mut c_void,
) {
    // SAFETY: as promised by the caller.
    let (handler, completion) = unsafe { (&*context.cast::<H>(), &*completion) };
    // SAFETY: as above.
    contain_panic(|| unsafe { handler.complete(completion) });
}

/// Releases the reference that a context is.
///
/// # Safety
///
/// The context is one of [`handler_context`] for the same type, and this is its only release.
unsafe extern "C" fn release_handler<H: CompletionHandler>(context: *mut c_void) {
    // SAFETY: as promised by the caller.
    let handler = unsafe { Arc::from_raw(context.cast_const().cast::<H>()) };
    contain_panic(|| drop(handler));
}

/// Commits a command buffer whose end `handler` is told of. If an exception left open whether the command buffer runs, the
/// call fails and `handler` may be told all the same.
///
/// # Safety
///
/// `commands` is live and belongs to this thread; `error` is a place for an error.
pub unsafe fn commit_with_handler<H: CompletionHandler>(
    commands: *mut mtb_command_buffer,
    handler: &Arc<H>,
    error: *mut *mut mtb_error,
) -> mtb_status {
    let context = handler_context(handler);
    let (callback, destructor) = (Some(complete::<H> as _), Some(release_handler::<H> as _));
    // SAFETY: the command buffer is live, and the context is one that both functions take.
    let added = unsafe {
        mtb_command_buffer_add_completed_callback(commands, callback, context, destructor, error)
    };
    if added != MTB_OK {
        // SAFETY: the call failed, so the context is still ours.
        unsafe { release_handler::<H>(context) };
        return added;
    }
    // SAFETY: the command buffer is live.
    unsafe { mtb_command_buffer_commit(commands, error) }
}

/// [`commit_with_handler`] for a transfer, which waits no longer than `timeout` nanoseconds for a slot in the queue.
///
/// # Safety
///
/// `transfer` is live and belongs to this thread; `error` is NULL or a place for an error.
pub unsafe fn transfer_commit_with_handler<H: CompletionHandler>(
    transfer: *mut mtb_transfer,
    timeout: u64,
    handler: &Arc<H>,
    error: *mut *mut mtb_error,
) -> *mut mtb_command_buffer {
    let context = handler_context(handler);
    let (callback, destructor) = (Some(complete::<H> as _), Some(release_handler::<H> as _));
    let mut failure = ptr::null_mut();
    let place = &raw mut failure;
    // SAFETY: the transfer is live, and the context is one that both functions take.
    let commands = unsafe {
        mtb_transfer_commit_timeout(transfer, timeout, callback, context, destructor, place)
    };
    // SAFETY: the error is NULL or live.
    if commands.is_null() && !unsafe { leaves_open(failure) } {
        // SAFETY: the call failed, so the context is still ours.
        unsafe { release_handler::<H>(context) };
    }
    if error.is_null() {
        // SAFETY: the error is NULL or ours.
        unsafe { mtb_error_release(failure) };
    } else {
        // SAFETY: the caller's promise.
        unsafe { *error = failure };
    }
    commands
}

/// Whether nobody knows after a failure whether the work runs: its handler stays then.
///
/// # Safety
///
/// `error` is NULL or a live error.
unsafe fn leaves_open(error: *const mtb_error) -> bool {
    // SAFETY: as promised by the caller.
    !error.is_null()
        && matches!(
            unsafe { mtb_error_status(error) },
            MTB_EXCEPTION | MTB_INTERNAL
        )
}

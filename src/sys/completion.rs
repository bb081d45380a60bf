//! Completion handlers as Rust values, for all who commit through the C ABI.

use std::ffi::c_void;
use std::sync::Arc;

use super::callback::contain_panic;
use super::*;

/// A value that is told how a command buffer ended.
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

/// Commits a command buffer and tells `handler` of its end. If an exception left open whether the command buffer runs,
/// the call fails and `handler` may be told all the same.
///
/// # Safety
///
/// `commands` is live and belongs to this thread; `error` is NULL or valid for a write.
pub unsafe fn commit_with_handler<H: CompletionHandler>(
    commands: *mut mtb_command_buffer,
    handler: &Arc<H>,
    error: *mut *mut mtb_error,
) -> mtb_status {
    // SAFETY: the command buffer is live, and the context, which the bridge takes over, is one that both functions take.
    let added = unsafe {
        mtb_command_buffer_add_completed_callback(
            commands,
            Some(complete::<H>),
            handler_context(handler),
            Some(release_handler::<H>),
            error,
        )
    };
    if added != MTB_OK {
        return added;
    }
    // SAFETY: the command buffer is live.
    unsafe { mtb_command_buffer_commit(commands, error) }
}

/// [`commit_with_handler`] for a transfer, which waits no longer than `timeout` nanoseconds for a slot in the queue.
///
/// # Safety
///
/// `transfer` is live and belongs to this thread; `error` is NULL or valid for a write.
pub unsafe fn transfer_commit_with_handler<H: CompletionHandler>(
    transfer: *mut mtb_transfer,
    timeout: u64,
    handler: &Arc<H>,
    error: *mut *mut mtb_error,
) -> *mut mtb_command_buffer {
    // SAFETY: the transfer is live, and the context, which the bridge takes over, is one that both functions take.
    unsafe {
        mtb_transfer_commit_timeout(
            transfer,
            timeout,
            Some(complete::<H>),
            handler_context(handler),
            Some(release_handler::<H>),
            error,
        )
    }
}

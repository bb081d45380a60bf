//! Host functions: the CPU's position in a queue's order.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::metal::completion::Completion;
use crate::metal::handle::create;
use crate::metal::process::check_process;
use crate::metal::queue::CommandQueue;
use crate::metal::recording::RunningUses;
use crate::metal::submission::Submission;
use crate::sys::{self, contain_panic};

impl CommandQueue {
    /// Calls `function`, on a thread of Metal's, after all that was committed to the queue before. What is committed later
    /// waits for its return. The calling thread does not wait.
    ///
    /// Work of the same queue waits for the function. So a wait inside the function for that work (for a [`Submission`] or a
    /// [`Download`](crate::memory::Download), in a synchronous transfer, for a buffer that is in use, for a slot in the queue) is
    /// [`Error::Deadlock`](crate::Error::Deadlock). The function may wait for other queues and for [`SharedEvent`](crate::SharedEvent)s if
    /// their work does not wait for this queue. Nothing checks that, so give such a wait a timeout. An executor on
    /// which the function blocks sees a future as pending.
    /// A panic of the function ends there. If the GPU fails just before the function would be called, the function is dropped uncalled.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory). If the queue has no free slot:
    /// [`Error::Timeout`](crate::Error::Timeout) after ten minutes, or [`Error::Deadlock`](crate::Error::Deadlock) inside
    /// another host function.
    pub fn call_host_function(
        &self,
        function: impl FnOnce() + Send + 'static,
    ) -> Result<Submission> {
        check_process("CommandQueue::call_host_function")?;
        let position = self.slots().draw_position();
        let uses = RunningUses::default();
        let completion = Arc::new(Completion::new(uses, Vec::new(), None));
        let call = Box::new(HostCall {
            function: Mutex::new(Some(Box::new(function))),
            completion: completion.clone(),
        });
        let context = Box::into_raw(call);
        // SAFETY: the queue is live, and the context, which the bridge takes over, is one that the three functions take.
        let handle = unsafe {
            create(|error| {
                sys::mtb_command_queue_call_host_function(
                    self.as_ptr(),
                    Some(call_function as _),
                    Some(complete_call as _),
                    context.cast(),
                    Some(release_call as _),
                    error,
                )
            })
        }?;
        Ok(Submission::new(handle, completion, self.clone(), position))
    }
}

/// The context of a host function: the function, taken by its call, and what its submission waits for.
struct HostCall {
    function: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    completion: Arc<Completion>,
}

unsafe extern "C" fn call_function(context: *mut c_void) {
    // SAFETY: the context is a host call, which lives until the destructor.
    let call = unsafe { &*context.cast::<HostCall>() };
    let function = call
        .function
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(function) = function {
        contain_panic(function);
    }
}

unsafe extern "C" fn complete_call(completion: *const sys::mtb_completion, context: *mut c_void) {
    // SAFETY: the context is a host call, which holds a reference to its completion; the bridge lends the other.
    unsafe {
        let call = &*context.cast::<HostCall>();
        sys::complete::<Completion>(completion, Arc::as_ptr(&call.completion).cast_mut().cast());
    }
}

unsafe extern "C" fn release_call(context: *mut c_void) {
    // SAFETY: the context is a boxed host call, which the bridge gives back once.
    let call = unsafe { Box::from_raw(context.cast::<HostCall>()) };
    contain_panic(|| drop(call));
}

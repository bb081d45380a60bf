//! Faults that the software Metal injects on request: counts start at 1 and from the call on.

unsafe extern "C" {
    fn smtl_inject_allocation_failure(nth: u64);
    fn smtl_inject_command_buffer_error(nth: u64, code: u64);
    fn smtl_inject_compile_failure(nth: u64);
    fn smtl_inject_device_loss(nth: u64);
    fn smtl_clear_injections();
}

/// The `nth` buffer allocation from now fails.
pub fn fail_allocation(nth: u64) {
    // SAFETY: takes a number and may be called from any thread.
    unsafe { smtl_inject_allocation_failure(nth) }
}

/// The `nth` committed command buffer from now ends with the `MTLCommandBufferError` of this code.
pub fn fail_command_buffer(nth: u64, code: u64) {
    // SAFETY: takes numbers and may be called from any thread.
    unsafe { smtl_inject_command_buffer_error(nth, code) }
}

/// The `nth` compilation of a library or a pipeline from now fails.
pub fn fail_compile(nth: u64) {
    // SAFETY: takes a number and may be called from any thread.
    unsafe { smtl_inject_compile_failure(nth) }
}

/// From the `nth` committed command buffer from now on every device is lost.
pub fn lose_device(nth: u64) {
    // SAFETY: takes a number and may be called from any thread.
    unsafe { smtl_inject_device_loss(nth) }
}

/// Turns every fault off and brings lost devices back.
pub fn reset() {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { smtl_clear_injections() }
}

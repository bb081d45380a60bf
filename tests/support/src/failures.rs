//! Failures that the software Metal injects on request: counts start at 1 and from the call on. And exceptions, which replaced
//! methods raise.

unsafe extern "C" {
    fn smtl_inject_allocation_failure(nth: u64);
    fn smtl_inject_command_buffer_error(nth: u64, code: u64);
    fn smtl_inject_compile_failure(nth: u64);
    fn smtl_inject_device_loss(nth: u64);
    fn smtl_clear_injections();
    fn mbts_raise_in_commits(takes_work: bool);
    fn mbts_end_raising();
}

/// The `nth` buffer allocation from now fails.
pub fn fail_allocation(nth: u64) {
    // SAFETY: takes a number and may be called from any thread.
    unsafe { smtl_inject_allocation_failure(nth) }
}

/// The `nth` committed command buffer from now ends with this error of `command_buffer_error`.
pub fn fail_command_buffer(nth: u64, code: i64) {
    let code = code.try_into().expect("no code is negative");
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

/// Injects no more failures and brings lost devices back.
pub fn reset() {
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { smtl_clear_injections() }
}

/// When Metal raises an exception in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raise {
    /// Before it takes the work, which never runs.
    BeforeCommit,
    /// After it has taken the work, which runs.
    AfterCommit,
}

/// Calls `call` while Metal raises an Objective-C exception in each commit of this process.
pub fn raise_in_commits<T>(raise: Raise, call: impl FnOnce() -> T) -> T {
    // SAFETY: replaces a method by another one with its parameters; nothing else of the process replaces methods.
    unsafe { mbts_raise_in_commits(raise == Raise::AfterCommit) };
    let result = call();
    // SAFETY: puts the method back that the call above has replaced.
    unsafe { mbts_end_raising() };
    result
}

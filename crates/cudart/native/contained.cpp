// Host functions of streams are the program's own, and may be C++ that throws. Nothing above them could catch that: not
// Rust, which ends the process at exceptions of others, nor the threads of Metal that call.
#include <exception>

extern "C" void metal_cudart_call_contained(void (*function)(void *), void *context);

extern "C" void metal_cudart_call_contained(void (*function)(void *), void *context) {
    try {
        function(context);
    } catch (...) {
        // What is no exception of C++'s is not for C++ to end: a panic of Rust's, or the cancellation of a thread.
        if (!std::current_exception()) throw;
    }
}

// Host functions of streams are the program's own, and may be C++ that throws. Nothing above them could catch that:
// Rust ends the process if a foreign exception reaches it, and the threads of Metal that make the calls catch none.
#include <exception>

extern "C" void metal_cudart_call_contained(void (*function)(void *), void *context);

extern "C" void metal_cudart_call_contained(void (*function)(void *), void *context) {
    try {
        function(context);
    } catch (...) {
        // Only C++ exceptions end here: a panic of Rust and the cancellation of a thread go on.
        if (!std::current_exception()) throw;
    }
}

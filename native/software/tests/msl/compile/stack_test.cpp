// Threads with small stacks compile: what the library needs of a stack is little, and a stack that is too small ends
// the process at its guard page, so that no other thread's memory changes.
#include <algorithm>
#include <alloca.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "msl/msl.h"

namespace {

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::size_t stack_pages = 128;  // frames are larger
#else
constexpr std::size_t stack_pages = 16;
#endif
const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), below_bytes = 64 * page,
                  stack_bytes = stack_pages * page;

// The memory below a stack belongs to others, as where the system places one thread's stack below another's.
struct Memory {
    unsigned char *below;
    unsigned char *guard() const { return below + below_bytes; }
    unsigned char *stack() const { return guard() + page; }
    bool is_untouched() const {
        return std::all_of(below, guard(), [](unsigned char byte) { return byte == 0x5a; });
    }
};

// Shared, so that the process that made it sees what another one did to it.
Memory make_memory() {
    void *all =
        mmap(nullptr, below_bytes + page + stack_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    const Memory memory{static_cast<unsigned char *>(all)};
    std::memset(memory.below, 0x5a, below_bytes);
    if (mprotect(memory.guard(), page, PROT_NONE) != 0) std::abort();
    return memory;
}

// A source that this process has not compiled before. Whether it compiled.
void *compile(void *used) {
    char text[96];
    std::snprintf(text, sizeof text, "kernel void k(device int *a) { a[0] = %d; }\n", static_cast<int>(getpid()));
    auto *in_use = static_cast<volatile char *>(alloca(*static_cast<std::size_t *>(used)));
    in_use[0] = 0;
    smtl_library *library = smtl_library_compile(text, std::strlen(text), nullptr, nullptr);
    char *path = library ? smtl_library_specialize(library, "k", nullptr, 0, nullptr, nullptr) : nullptr;
    const bool made = path != nullptr;
    std::free(path);
    smtl_library_release(library);
    return made ? used : nullptr;
}

// How a process ends that compiles on a thread with that stack, of which so much is in use.
int compile_in_process(const Memory &memory, std::size_t used) {
    const pid_t process = fork();
    if (process == 0) {
        const rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGBUS, SIG_DFL);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        if (pthread_attr_setstack(&attributes, memory.stack(), stack_bytes) != 0) _exit(3);
        pthread_t thread;
        if (pthread_create(&thread, &attributes, compile, &used) != 0) _exit(3);
        void *made = nullptr;
        pthread_join(thread, &made);
        std::_Exit(made ? 0 : 2);
    }
    int status = -1;
    CHECK(process > 0 && waitpid(process, &status, 0) == process);
    return status;
}

void test_small_stacks() {
    const Memory memory = make_memory();
    CHECK(compile_in_process(memory, 1) == 0);
    CHECK(memory.is_untouched());
    munmap(memory.below, below_bytes + page + stack_bytes);
}

void test_stacks_end_at_their_guard() {
    const Memory memory = make_memory();
    bool ended = false;
    for (const std::size_t left : {2, 3, 4, 6, 8, 12}) {
        const int status = compile_in_process(memory, stack_bytes - left * page);
        ended = ended || (WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS));
        CHECK(memory.is_untouched());
    }
    CHECK(ended);
    munmap(memory.below, below_bytes + page + stack_bytes);
}

}  // namespace

int main() {
    test_small_stacks();
    test_stacks_end_at_their_guard();
    return check::report("msl/compile/stack_test");
}

/* A core executes threadgroups, one at a time, on the host thread that owns it at the moment. Its scheduler has a stack
 * of its own; each fiber of the kernel has another.
 *
 * A kernel whose threads never block runs a threadgroup as a plain loop on one fiber. Otherwise each thread needs a
 * fiber. It takes that of the thread before it if that thread has ended, and a new one if that thread waits in a
 * barrier or an exchange of its simdgroup. Each simdgroup has a bit mask of the lanes that can run. A kernel whose
 * threads may wait for atomics begins a threadgroup as a plain loop; its threads part when one has waited in vain. */
#ifndef SMTL_CORE_STATE_H
#define SMTL_CORE_STATE_H

#include <cstdint>
#include <string>

#include "engine.h"
#include "launch.h"
#include "stacks.h"

namespace smtl {

/* The address of a fault that the processor does not tell. */
inline const void *unknown_address() { return reinterpret_cast<const void *>(~uintptr_t(0)); }

constexpr uint32_t simd_width = SMTL_SIMD_WIDTH;
constexpr uint32_t max_threads_per_threadgroup = SMTL_MAX_THREADS_PER_THREADGROUP;
constexpr uint32_t max_simdgroups = max_threads_per_threadgroup / simd_width;
constexpr size_t threadgroup_memory_alignment = 128;

/* Lanes that diverge meet in several exchanges at once, at most one for each lane. One more holds the results of the
 * last exchange that completed. An exchange completes only when no lane of its simdgroup can run, so all results of the
 * exchange before it have been read by then. */
constexpr uint32_t exchanges_per_simdgroup = simd_width + 1;

/* How often lanes of a simdgroup may meet while other lanes of it wait in a threadgroup barrier. No correct kernel
 * needs as many meetings: lanes that meet more often never come to the barrier. */
constexpr uint32_t most_meetings = 1 << 22;

struct open_exchange : smtl_exchange {
    uint32_t site;
    uint32_t depth; /* of the regions that its lanes are in */
};

struct alignas(128) simdgroup {
    uint32_t ready; /* lanes that can run */
    uint32_t unstarted; /* those of them that have not started */
    uint32_t at_barrier; /* lanes that wait in a threadgroup barrier */
    uint32_t polling; /* lanes that have waited for an atomic to change since they could run, and others that cannot */
    uint32_t open_count; /* exchanges in which lanes wait */
    uint32_t meetings; /* exchanges that completed while other lanes waited in the present threadgroup barrier */
    uint32_t completed; /* index of the exchange that completed last */
    uint64_t free; /* exchanges that are neither open nor `completed` */
    uint8_t open[simd_width];
};

class resident_set;

struct core : smtl_core {
    core();

    /* Runs threadgroups of the launch until none is left or the launch has failed. Returns how many it ran. The watch
     * may be NULL. */
    uint64_t run_launch(smtl::launch &launch, progress_watch *watch);
    /* For a core that executes threadgroups in turns with `first`, on the same thread of the host: begins with another
     * threadgroup. NULL if none is left. */
    const smtl_context *start_beside(const core &first);
    /* The threads go on that wait for atomics to change. */
    const smtl_context *resume();
    /* Their `threadgroup` variables leave the place where the kernel looks for them, and come back. */
    void park_static_memory();
    void restore_static_memory();
    /* What all threads of the threadgroup have come to: their stacks, and what they have read of atomics. */
    uint64_t digest_threads() const;
    /* The threadgroup, and where a thread of it waits for an atomic to change. */
    std::string describe_poll() const;
    const smtl_context *native_context();
    /* Ends the kernel, so that the launch fails, and returns the context to continue instead. The fault handler calls
     * this, so it takes no lock and allocates nothing. */
    const smtl_context *abandon_kernel(int signal_number, const void *address);
    /* The same from kernel code, for an error that no signal reports. Does not return. */
    [[noreturn]] void abandon_kernel();
    /* Called by kernel code; does not return if the request is wrong. */
    void encode(smtl_command_request &request);
    /* Called by kernel code; does not return. */
    void refuse(const smtl_function_request &request);
    /* Whether the address lies in the core's arena. */
    bool owns(const void *address) const;
    /* Whether the instruction is the running kernel's own, and not one of the scheduler or a library. */
    bool is_kernel_code(const void *instruction) const { return current->kernel->contains(instruction); }

    /* The running thread's calls, executed on the scheduler's stack. Each returns the context to continue. Threads of
     * the threadgroup that have returned count as arrived at barriers, and as absent from exchanges. */
    const smtl_context *barrier(uint32_t site, uint32_t memory);
    const smtl_context *meet(uint32_t site, const void *value, uint32_t size);
    const smtl_context *finished();
    const smtl_context *poll(uint32_t site, const void *caller);

    stack_set stacks;
    core *next_resident; /* a circle: those of the launch that are on this thread of the host */
    uint64_t threadgroups_run;
    const void *poll_caller; /* the code of the last thread that waited for an atomic to change */

private:
    void bind_launch(smtl::launch &launch);
    bool next_chunk();
    bool next_threadgroup();
    /* Sets the position and size of the next threadgroup, and how many after it in x run with it. */
    void set_threadgroups(uint64_t linear);
    void poison_threadgroup_memory();
    void reset_threads();
    smtl_failure fault_kind() const;
    std::string describe_fault() const;
    void fail_encoding(char *problem);
    std::string describe_call(const smtl_function_request &request) const;
    void fail_call(const smtl_function_request &request);
    std::string describe_threadgroup() const;
    std::string describe_waiting() const;
    /* Lanes of the simdgroup have met `most_meetings` times while others waited in a barrier. */
    [[noreturn]] __attribute__((noinline)) void fail_deadlock(const simdgroup &group);

    bool prepare_checks(std::string &problem);
    void release_barrier();
    simdgroup &simdgroup_of(uint32_t thread_index) { return simdgroups[thread_index / simd_width]; }
    uint32_t region_depth() const;
    open_exchange &find_exchange(simdgroup &group, uint32_t site);
    void complete_exchange(simdgroup &group);
    bool complete_syncs();
    void part_threads();
    void tell_meeting(const simdgroup &group, const open_exchange &meeting);

    uint32_t pick();
    uint32_t pick_farther() const;
    uint32_t pick_shuffled();
    void block(simdgroup &group);
    bool successor_takes_over(const simdgroup &group) const;
    const smtl_context *pass_on(simdgroup &group);
    __attribute__((noinline)) const smtl_context *barrier_in_general(uint32_t site, uint32_t memory);
    void join(open_exchange &meeting, const void *value, uint32_t size);
    __attribute__((noinline)) const smtl_context *meet_in_general(uint32_t site, const void *value, uint32_t size);
    bool goes_before(const simdgroup &group, const open_exchange &one, const open_exchange &other) const;
    const smtl_context *proceed_from(uint32_t first);
    const smtl_context *schedule();
    const smtl_context *continue_thread();
    const smtl_context *next_in_turn();
    uint32_t count_ready() const;
    const smtl_context *start_context();

    uint32_t thread_count, alive, waiting_at_barrier;
    uint32_t barrier_site; /* the site of the last thread that came to a barrier */
    uint32_t poll_site; /* the site of the last thread that waited for an atomic to change */
    uint32_t polls_left; /* before another threadgroup has its turn: one for each thread that can run */
    uint32_t simdgroup_count;
    uint32_t running_stack; /* the stack of a thread that starts or has ended; `stack_of` has the others */
    bool blocks, shuffle;
    bool takes_turns; /* lanes run in order, and no checks have to hear of each switch */
    uint64_t random_state;
    smtl_context other_context; /* the context of a new fiber or of native code, not of a thread */

    smtl::launch *current;
    progress_watch *watch;
    resident_set *residents;
    uint64_t chunk_next, chunk_end;
    size_t dynamic_memory;
    void *native_stack;

    int fault_signal; /* 0: the kernel has not faulted */
    const void *fault_address; /* or unknown_address() */

    uint16_t stack_of[max_threads_per_threadgroup];
    simdgroup simdgroups[max_simdgroups];
    unsigned char parked_memory[SMTL_MAX_THREADGROUP_MEMORY];
    alignas(threadgroup_memory_alignment) unsigned char memory[SMTL_MAX_THREADGROUP_MEMORY +
                                                               SMTL_BUFFER_SLOTS * threadgroup_memory_alignment];
    open_exchange exchanges[max_simdgroups][exchanges_per_simdgroup];
};

/* The threadgroups of a launch that one thread of the host executes, each on a core of its own. They take turns: if all
 * threads of one wait in loops for atomics to change, another goes on or starts. */
class resident_set {
public:
    resident_set(core &first, smtl::launch &launch);
    ~resident_set();
    resident_set(const resident_set &) = delete;
    resident_set &operator=(const resident_set &) = delete;

    /* All threads of `waiting` that can run have polled in vain. The context to continue. */
    const smtl_context *next(core &waiting);
    /* The core has no threadgroup left. The context to continue. */
    const smtl_context *retire(core &done);
    core &running() const { return *running_; }
    uint64_t threadgroups_run() const;

private:
    const smtl_context *start_another(core &waiting);
    core *spare_core();
    core &pick(core &waiting);
    const smtl_context *go_on_with(core &next);
    template <class Visit> void visit_residents(Visit visit) const;
    bool waits_in_vain();
    void fail_deadlock(const core &waiting);

    smtl::launch &launch_;
    core &first_;
    core *running_;
    core *retired_ = nullptr; /* a list: their threadgroups have ended, and there were no others */
    uint64_t retired_run_ = 0;
    uint64_t random_state_;
    /* Of waiting in vain. */
    uint64_t turns_ = 0, digest_ = 0, vain_round_ = 0;
};

}  // namespace smtl

#endif

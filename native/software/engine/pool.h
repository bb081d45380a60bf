/* The threads that execute dispatches. Any number of dispatches run at once: each caller works on its own, and idle
 * threads of the pool join whatever has work left. */
#ifndef SMTL_POOL_H
#define SMTL_POOL_H

#include <cstdint>

namespace smtl {

struct core;
struct launch;
struct job_slot;

/* The calling thread's core: one that an ended thread has left, or a new one. NULL where there is no memory for it. */
core *core_of_thread();

/* A launch as the pool sees it, owned by the thread that dispatches. */
class shared_work {
  public:
    explicit shared_work(launch &work) : work_(work) {}
    /* Waits until no other thread touches the launch. */
    ~shared_work();
    shared_work(const shared_work &) = delete;
    shared_work &operator=(const shared_work &) = delete;

    /* From now on threads of the pool may join. */
    void offer();
    bool offered() const { return slot_ != nullptr; }

  private:
    launch &work_;
    job_slot *slot_ = nullptr;
};

} // namespace smtl

#endif

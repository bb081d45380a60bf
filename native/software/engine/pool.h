/* The threads that execute launches and large blits. Any number of them run at once: each caller works on its own,
 * and idle threads of the pool join whatever has work left. */
#ifndef SMTL_POOL_H
#define SMTL_POOL_H

#include <cstdint>

namespace smtl {

struct core;
struct job_slot;

/* The calling thread's core. NULL if there is no memory for it. */
core *core_of_thread();
/* A core that nobody uses, or a new one, until it is given back. NULL if there is no memory for it. */
core *take_core();
void give_core_back(core &taken);
/* The same for a core that one launch needed beside others: the system gets it if there are many already. */
void give_extra_core_back(core &taken);

/* Work that comes in parts, which any thread may take. */
class divisible_work {
public:
    /* Whether a thread that joins now finds a part. */
    virtual bool has_parts() const = 0;
    /* Takes parts until there are none. False if the thread cannot take any. */
    virtual bool join(core &own) = 0;
    /* How many parts there were at first. */
    virtual uint64_t part_count() const = 0;

protected:
    ~divisible_work() = default;
};

/* Work as the pool sees it, owned by the thread that does it. */
class shared_work {
public:
    explicit shared_work(divisible_work &work) : work_(work) {}
    /* Waits until no other thread touches the work. */
    ~shared_work();
    shared_work(const shared_work &) = delete;
    shared_work &operator=(const shared_work &) = delete;

    /* From now on threads of the pool may join. */
    void offer();
    bool offered() const { return slot_ != nullptr; }

private:
    divisible_work &work_;
    job_slot *slot_ = nullptr;
};

}  // namespace smtl

#endif

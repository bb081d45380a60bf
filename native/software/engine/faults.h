/* Turns traps and memory faults of kernel code into failed launches. */
#ifndef SMTL_FAULTS_H
#define SMTL_FAULTS_H

namespace smtl {

struct core;

/* Installs handlers for the signals of faults, once for the process. They pass on signals that no kernel caused. */
void install_fault_handlers();

/* The calling thread goes on on the stacks of another core of the same launch. */
void set_running_core(core &running);

/* While it lives, faults of the calling thread on `core`'s stacks end the kernel. */
class fault_scope {
public:
    explicit fault_scope(core &running);
    ~fault_scope();
    fault_scope(const fault_scope &) = delete;
    fault_scope &operator=(const fault_scope &) = delete;

private:
    core *outer_;
};

}  // namespace smtl

#endif

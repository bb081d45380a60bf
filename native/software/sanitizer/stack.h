/* The objects on the stacks of instrumented kernels: what clang's instrumentation notes about them. */
#ifndef SMTL_SANITIZER_STACK_H
#define SMTL_SANITIZER_STACK_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace smtl::sanitize {

/* Maps memory for the state of all stacks in the arena. Called by one thread at a time. False if that part of the
 * address space is taken. */
bool prepare_stacks(const void *arena, size_t size);
/* Notes that all of the stack can be used, whatever an earlier thread left on it. */
void clean_stack(const void *bottom, size_t size);
/* The first byte of the access that belongs to no object; NULL if all do. */
const unsigned char *first_bad_byte(const void *address, size_t size);

struct stack_object {
    std::string name; /* empty: unknown */
    size_t length;
    int64_t offset; /* of the address from its start */
};
/* The object that lies nearest to an address between objects. */
stack_object describe_stack_object(const unsigned char *address, const void *bottom);

}  // namespace smtl::sanitize

#endif

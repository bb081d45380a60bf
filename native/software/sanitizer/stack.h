/* The objects on the stacks of instrumented kernels: what clang's instrumentation notes about them. */
#ifndef SMTL_SANITIZER_STACK_H
#define SMTL_SANITIZER_STACK_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace smtl::sanitize {

/* Makes the state of all stacks in the arena writable; by one thread at a time. False if that part of the address
 * space is taken. */
bool prepare_stacks(const void *arena, size_t size);
/* All of the stack can be used again, whatever was left on it. */
void clean_stack(const void *bottom, size_t size);
/* The first byte of the access that belongs to no object; NULL if all do. */
const unsigned char *first_bad_byte(const void *address, size_t size);

struct stack_object {
    std::string name; /* empty: unknown */
    size_t length;
    int64_t offset; /* of the address from its start */
};
/* The object that an address between objects most likely means. */
stack_object describe_stack_object(const unsigned char *address, const void *bottom);

} // namespace smtl::sanitize

#endif

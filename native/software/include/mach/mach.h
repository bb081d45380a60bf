/* Mach's memory allocation, which Metal programs use for buffers without a copy, over Linux's; and the names that
 * Metal's headers mention. The only task is the process itself. */
#ifndef SMTL_MACH_H
#define SMTL_MACH_H

#include <stdint.h>
#include <sys/mman.h>

typedef int kern_return_t;
typedef uint32_t mach_port_t;
typedef mach_port_t task_t;
typedef mach_port_t vm_map_t;
typedef mach_port_t task_id_token_t;
typedef uintptr_t vm_address_t;
typedef uintptr_t vm_offset_t;
typedef uintptr_t vm_size_t;

#define KERN_SUCCESS 0
#define KERN_INVALID_ADDRESS 1
#define KERN_NO_SPACE 3
#define KERN_INVALID_ARGUMENT 4

#define VM_FLAGS_FIXED 0x0000
#define VM_FLAGS_ANYWHERE 0x0001

static inline task_t mach_task_self(void) { return 1; }

static inline kern_return_t vm_allocate(vm_map_t task, vm_address_t *address, vm_size_t size, int flags) {
    if (task != mach_task_self()) return KERN_INVALID_ARGUMENT;
    if (size == 0) {
        *address = 0;
        return KERN_SUCCESS;
    }
    int placement = flags & VM_FLAGS_ANYWHERE ? 0 : MAP_FIXED_NOREPLACE;
    void *wanted = placement == 0 ? 0 : (void *)*address;
    void *memory = mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | placement, -1, 0);
    if (memory == MAP_FAILED) return KERN_NO_SPACE;
    *address = (vm_address_t)memory;
    return KERN_SUCCESS;
}

static inline kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t size) {
    if (task != mach_task_self()) return KERN_INVALID_ARGUMENT;
    return size == 0 || munmap((void *)address, size) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

#endif
